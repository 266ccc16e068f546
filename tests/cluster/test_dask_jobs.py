"""Trainings whose Dask workers are jobs of a real Grid Engine or Slurm, some of them deleted while they play."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import PATIENCE, PROJECT, USER, Machine, wait_until
from neurozoo.training import make_context, train
from slurm_cluster import Slurm
from test_dask import results

SETTINGS = {
    "population_size": 24,
    "selection_threshold": 4,
    "validation_threshold": 2,
    "num_validation_episodes": 2,
    "num_test_episodes": 2,
    "mutation_power": 0.02,
    "episode_cutoff_mode": 200,
    "test_cutoff": 200,
    "frames": 60_000,
}
RUN = {"algo": "ga", "game": "assault", "model": "small"}


@pytest.fixture
def cell(grid_engine) -> Machine:
    """The Grid Engine."""
    return grid_engine


@pytest.fixture
def partition(started_slurms, cluster_folder) -> Machine:
    """The Slurm, without accounting."""
    if reason := Slurm.what_is_missing():
        pytest.skip(f"no Slurm here: {reason}")
    if (False, False) not in started_slurms:
        started_slurms[False, False] = Slurm(cluster_folder / "slurm-for-dask")
    return started_slurms[False, False]


@pytest.fixture
def folder(cluster_folder, small_noise_table) -> Iterator[Path]:
    """A folder of the submitting user with a noise table."""
    folder = Path(tempfile.mkdtemp(prefix="dask-", dir=cluster_folder))
    for file in small_noise_table.parent.glob(f"{small_noise_table.stem}*"):
        shutil.copy(file, folder / file.name)
    for path in [folder, *folder.iterdir()]:
        shutil.chown(path, USER, USER)
    return folder


@pytest.fixture(scope="module")
def alone(core, small_noise_table, tmp_path_factory) -> Path:
    """Folder of a training without a cluster."""
    run_dir = tmp_path_factory.mktemp("alone")
    train(make_context(**RUN, run=1, settings=SETTINGS, core=core, noise=small_noise_table, run_dir=run_dir, threads=2))
    return run_dir


def start(cluster: Machine, folder: Path, core: Path, *words: str, what=RUN, how=SETTINGS):
    settings = [word for key, value in how.items() for word in ("-s", f"{key}={value}")]
    given = {"--core": core, "--noise": folder / "small.f32", "--run-dir": folder / "run"}
    given |= {f"--{key}": value for key, value in what.items()}
    options = [str(word) for pair in given.items() for word in pair]
    command = ["env", f"PYTHONPATH={PROJECT / 'workflow' / 'lib'}", sys.executable, "-m", "neurozoo", "train"]
    return cluster.start(*command, *options, *settings, "--distributed", *words, log=folder / "out", cwd=folder)


schedulers = pytest.mark.parametrize(
    ("fixture", "kind", "delete", "ask"),
    [
        ("partition", "slurm", ("scancel",), ("squeue", "-h", "-t", "R,PD", "-o", "%i")),
        ("cell", "sge", ("qdel", "-f"), ("qstat", "-u", "*")),
    ],
)


def jobs_of(cluster: Machine, ask: tuple[str, ...]) -> list[str]:
    """Returns the numbers of the jobs that wait or run."""
    lines = cluster.run(*ask, check=False).stdout.splitlines()
    return [line.split()[0] for line in lines if line.split() and line.split()[0].isdecimal()]


@pytest.mark.long
@schedulers
def test_a_deleted_worker_job_is_replaced_and_results_are_those_of_one_process(
    request, fixture, kind, delete, ask, folder, core, alone
):
    cluster = request.getfixturevalue(fixture)

    words = (kind, "workers=2", "least_workers=2", "memory=500MB", "interface=lo")
    process = start(cluster, folder, core, *words)
    journal = folder / "run" / "state" / "journal.jsonl"
    wait_until(lambda: journal.exists() and "[" in journal.read_text(), what="no episode was played")
    first = jobs_of(cluster, ask)
    assert first
    cluster.run(*delete, first[0])
    process.wait(timeout=PATIENCE)
    assert process.returncode == 0, (folder / "out").read_text()
    assert len(list((folder / "run" / "dask" / "logs").iterdir())) >= 2
    assert results(folder / "run") == results(alone)
    wait_until(lambda: not jobs_of(cluster, ask), what="jobs of workers stayed")
    assert [path.name for path in (folder / "run" / "dask").iterdir()] == ["logs"]


@pytest.mark.long
@schedulers
def test_an_archive_is_that_of_one_process_although_a_worker_job_is_deleted(
    request, fixture, kind, delete, ask, folder, core, tmp_path
):
    pytest.importorskip("ribs")
    what = {"algo": "map_elites", "game": "maze", "model": "plain"}
    how = {"evaluations": 1500, "batch_size": 50, "num_episodes": 50}
    train(make_context(**what, run=1, settings=how, run_dir=tmp_path))
    cluster = request.getfixturevalue(fixture)
    words = (kind, "workers=2", "least_workers=2", "memory=500MB", "interface=lo")
    process = start(cluster, folder, core, *words, what=what, how=how)
    log = folder / "run" / "state" / "log.jsonl"
    wait_until(lambda: log.exists() and log.stat().st_size, what="no iteration was finished")
    cluster.run(*delete, jobs_of(cluster, ask)[0])
    process.wait(timeout=PATIENCE)
    assert process.returncode == 0, (folder / "out").read_text()
    for name in ("archive.npz", "levels.parquet"):
        assert (folder / "run" / name).read_bytes() == (tmp_path / name).read_bytes(), name
