import sys
from pathlib import Path

import pytest

# Processes that train import `training_processes` by its name.
sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("training_processes")

import training_processes  # noqa: E402


@pytest.fixture(scope="session")
def runner(core, small_noise_table, tmp_path_factory):
    return training_processes.Runner(core, small_noise_table, tmp_path_factory.mktemp("training"))


@pytest.fixture(scope="session")
def uninterrupted(runner, tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("uninterrupted") / "run"
    runner.finish(run_dir)
    return run_dir
