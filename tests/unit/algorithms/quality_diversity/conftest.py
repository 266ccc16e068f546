"""The tiny runs are a module beside this file, as processes import it by its name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
