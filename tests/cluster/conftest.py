"""Real schedulers on this machine, an experiment to run on them, and what it should come to."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# The clusters are modules beside this file.
sys.path.insert(0, str(Path(__file__).parent))

from experiment import CHECKPOINTS, RESULTS, Experiment, copy_project
from grid_engine import GridEngine
from slurm_cluster import Slurm


@pytest.fixture(scope="session")
def undisturbed(core, tmp_path_factory) -> Callable[[int], dict[str, bytes]]:
    """Returns what the experiment with some frames comes to on this machine, without any cluster."""
    made: dict[int, dict[str, bytes]] = {}

    def results(frames: int) -> dict[str, bytes]:
        if frames not in made:
            folder = tmp_path_factory.mktemp("undisturbed")
            copy_project(folder, frames=frames)
            answer = subprocess.run(
                [sys.executable, "-m", "snakemake", *CHECKPOINTS, "--cores", "2", "--configfile", "hurt.yaml"],
                cwd=folder,
                capture_output=True,
                text=True,
            )
            assert answer.returncode == 0, answer.stderr
            made[frames] = {name: (folder / name).read_bytes() for name in RESULTS}
        return made[frames]

    return results


@pytest.fixture(scope="session")
def noise_folder(tmp_path_factory) -> Path:
    """The noise table of the experiment."""
    folder = tmp_path_factory.mktemp("noise")
    copy_project(folder, frames=1)
    command = [sys.executable, "-m", "snakemake", "results/hurt/noise/table.f32", "--cores", "1"]
    subprocess.run([*command, "--configfile", "hurt.yaml"], cwd=folder, check=True, capture_output=True)
    return folder / "results" / "hurt" / "noise"


@pytest.fixture(scope="session")
def cluster_folder() -> Iterator[Path]:
    """A folder that all users may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="neurozoo-", dir="/var/tmp") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.fixture(scope="session")
def started_grid_engine(cluster_folder) -> Iterator[GridEngine]:
    """A cell with one node; starting it takes some seconds."""
    if reason := GridEngine.what_is_missing():
        pytest.skip(f"no Grid Engine here: {reason}")
    cell = GridEngine(cluster_folder / "sge")
    yield cell
    cell.stop()


@pytest.fixture
def grid_engine(started_grid_engine) -> Iterator[GridEngine]:
    """The cell, with a healthy node; what a test leaves in the queue is deleted."""
    yield started_grid_engine
    tidy(started_grid_engine)


@pytest.fixture
def experiment_on(core, cluster_folder, noise_folder) -> Iterator[Callable[..., Experiment]]:
    """Makes an experiment on a cluster, `experiment_on(cluster, profile)`; nothing of it goes on when a test ends."""
    made: list[Experiment] = []

    def make(cluster: GridEngine | Slurm, profile: str, **options: int) -> Experiment:
        folder = Path(tempfile.mkdtemp(prefix="project {a} [1]%d-", dir=cluster_folder))
        made.append(Experiment(cluster, profile, folder, noise=noise_folder, **options))
        return made[-1]

    yield make
    for experiment in made:
        if experiment.process and experiment.is_running:
            experiment.signal(signal.SIGKILL)
            experiment.wait()
        tidy(experiment.cluster)


def tidy(cluster: GridEngine | Slurm) -> None:
    """Leaves a cluster as the next test expects it."""
    if not cluster.node_answers():
        cluster.start_node()
    cluster.delete_all_jobs()


@pytest.fixture
def sge(grid_engine, experiment_on) -> Callable[..., Experiment]:
    """Makes an experiment that runs through `--profile sge`."""

    def make(**options: int) -> Experiment:
        experiment = experiment_on(grid_engine, "sge", **options)
        experiment.change(**{"grid-engine-grace": 5, "grid-engine-patience": 10})
        return experiment

    return make


@pytest.fixture(scope="session")
def started_slurms(cluster_folder) -> Iterator[dict[tuple, Slurm]]:
    """Clusters by what they have, as tests ask for them."""
    started: dict[tuple, Slurm] = {}
    yield started
    for cluster in started.values():
        cluster.stop()


@pytest.fixture
def slurm(started_slurms, cluster_folder, experiment_on) -> Callable[..., Experiment]:
    """Makes an experiment that runs through `--profile slurm`, on a cluster with or without `accounting` and `cgroups`.

    Starting a cluster takes a second, or ten with accounting.
    """

    def make(*, accounting: bool = False, cgroups: bool = False, **options: int) -> Experiment:
        key = (accounting, cgroups)
        if reason := Slurm.what_is_missing(accounting=accounting):
            pytest.skip(f"no Slurm here: {reason}")
        if key not in started_slurms:
            folder = cluster_folder / f"slurm-{len(started_slurms)}"
            started_slurms[key] = Slurm(folder, accounting=accounting, cgroups=cgroups)
        experiment = experiment_on(started_slurms[key], "slurm", **options)
        experiment.change(**{"slurm-init-seconds-before-status-checks": 2})
        return experiment

    return make
