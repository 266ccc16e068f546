import sys
from pathlib import Path

# Processes that train import `training_processes` by its name.
sys.path.insert(0, str(Path(__file__).parent))
