"""A run of two learners through real schedulers: MPI starts them inside of the job, and the end is the same."""

import subprocess
import sys

import pytest
import yaml
from experiment import copy_project

CHECKPOINT = "results/hurt/runs/impala/breakout/impala_shallow/1/checkpoint.npz"
TWO = {
    "algo": "impala",
    "preset": "demo",
    "games": ["breakout"],
    "models": ["impala_shallow"],
    "runs": 1,
    "overrides": {"learners": 2, "frames": 4800, "epoch_steps": 600, "test_cutoff": 10},
}


def ask_for_two(folder):
    path = folder / "hurt.yaml"
    config = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(config | {"experiments": {"two": TWO}}))


def job_logs(folder):
    logs = [*folder.glob("results/logs/**/*.log"), *folder.glob("results/hurt/runs/**/*.log")]
    return "".join(f"\n{log}\n{log.read_text()}" for log in logs)


@pytest.fixture(scope="module")
def here(core, tmp_path_factory):
    """The run on this machine, without any scheduler."""
    folder = tmp_path_factory.mktemp("two")
    copy_project(folder, frames=1)
    ask_for_two(folder)
    command = [sys.executable, "-m", "snakemake", CHECKPOINT, "--cores", "2", "--configfile", "hurt.yaml"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return (folder / CHECKPOINT).read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("scheduler", ["slurm", "sge"])
def test_two_learners_come_out_as_on_this_machine(scheduler, request, here):
    experiment = request.getfixturevalue(scheduler)()
    ask_for_two(experiment.folder)
    if scheduler == "sge":
        experiment.change(**{"grid-engine-mpi-environment": "smp"})  # the only one of this cell
    experiment.change(retries=0)
    experiment.start(CHECKPOINT)
    assert experiment.wait() == 0, experiment.said + job_logs(experiment.folder)
    assert (experiment.folder / CHECKPOINT).read_bytes() == here
    assert (experiment.folder / CHECKPOINT).parent.joinpath("log.jsonl").read_text().count('"learners": 2') == 2
