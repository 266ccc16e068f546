import functools
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# The golden runs are a module beside this file.
sys.path.insert(0, str(Path(__file__).parent))

PROJECT = Path(__file__).parents[2]
PARTS = (
    "config.yaml",
    "config",
    "workflow",
    "profiles",
    "local",
    "debug",
    "sge",
    "slurm",
    "aws",
    "kubernetes",
    "envs",
    "native",
)


def copied_project(folder: Path) -> Path:
    for part in PARTS:
        source, target = PROJECT / part, folder / part
        if source.is_symlink() or source.is_file():
            shutil.copy2(source, target, follow_symlinks=False)
        else:
            shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="session")
def copy_project() -> Callable[[Path], Path]:
    """Copies the project into a folder."""
    return copied_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The copied project."""
    return copied_project(tmp_path)


@pytest.fixture(scope="session")
def run_snakemake(snakemake_environment) -> Callable[..., subprocess.CompletedProcess]:
    """Runs Snakemake in a folder: `run_snakemake(folder, *arguments)`; `stdout` of its answer has both streams."""

    def run(project: Path, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=project,
            env={**snakemake_environment, "HOME": str(project)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1800,  # ends what hangs; the chain takes five minutes on a busy machine
        )

    return run


@pytest.fixture
def snakemake(project: Path, run_snakemake) -> Callable[..., subprocess.CompletedProcess]:
    """Runs Snakemake in the copy: `snakemake(*arguments)`."""
    return functools.partial(run_snakemake, project)
