"""Results of version 0.1 are read, and an update trains no finished run again.

`tests/data/results_of_before` holds what that version made from its `config.yaml`: the files of two runs without their
states, and Snakemake's metadata of them. The weights of the DQN run are set to zero, which keeps them small.
"""

import json
import os
import re
import shutil

import pytest
from neurozoo.agents.agent import read_agent
from neurozoo.agents.checkpoint import read_checkpoint
from neurozoo.records.run_config import read_run_settings
from neurozoo.records.run_log import read_log

RUNS = ("ga/hard_maze/simple/1", "dqn/breakout/small/1")
BUILT = (
    *("native/ale-py-0.12.1.tar.gz", "native/libneurozoo_ops.so", "native/build.json"),
    *("old/noise/table.f32", "old/noise/table.json"),
)


@pytest.fixture
def updated(project, data_dir):
    """A project of today in which the version before has worked."""
    before = data_dir / "results_of_before"
    shutil.copytree(before / "metadata", project / ".snakemake" / "metadata")
    shutil.copytree(before / "runs", project / "results" / "old" / "runs")
    shutil.copy(before / "config.yaml", project / "config" / "old.yaml")
    for name in BUILT:
        (project / "results" / name).parent.mkdir(parents=True, exist_ok=True)
        (project / "results" / name).touch()
        os.utime(project / "results" / name, (1_000, 1_000))
    for path in (project / "results" / "old" / "runs").rglob("*.*"):
        time = 3_000 if path.name == "metrics.csv" else 2_000
        os.utime(path, (time, time))
    return project


@pytest.mark.parametrize("profile", [("--profile", "profiles/local"), ()], ids=["local", "without a profile"])
def test_a_dry_run_plans_no_training(updated, snakemake, profile):
    answer = snakemake("-n", *profile, "--configfile", "config/old.yaml").stdout
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", answer, re.MULTILINE))
    assert jobs["describe_result"] == "2", answer[-3000:]
    assert not {"train", "noise_table", "parse_log"} & set(jobs)


@pytest.mark.long(seconds=7)
def test_changed_settings_still_train_again(updated, snakemake):
    config = updated / "config" / "old.yaml"
    config.write_text(config.read_text().replace("batch_size: 4", "batch_size: 5"))
    answer = snakemake("-n", "--profile", "profiles/local", "--configfile", "config/old.yaml").stdout
    assert dict(re.findall(r"^(\w+) +(\d+)$", answer, re.MULTILINE))["train"] == "1"


def test_results_are_described_from_the_old_files(updated, snakemake):
    targets = [f"results/old/runs/{run}/result.json" for run in RUNS]
    before = {run: (updated / "results/old/runs" / run / "checkpoint.npz").read_bytes() for run in RUNS}
    answer = snakemake("--profile", "profiles/local", "--configfile", "config/old.yaml", "--", *targets)
    assert answer.returncode == 0, answer.stdout[-3000:]
    for run in RUNS:
        folder = updated / "results/old/runs" / run
        facts = json.loads((folder / "result.json").read_text())
        old = json.loads((folder / "genome.json").read_text())
        assert facts["kind"] == "network"
        assert set(facts["files"]) == {"checkpoint.npz", "genome.json"}
        assert {name: facts[name] for name in ("test_score", "iteration", "frames")} == {
            name: old[name] for name in ("test_score", "iteration", "frames")
        }
        assert (folder / "checkpoint.npz").read_bytes() == before[run]


@pytest.mark.parametrize("run", RUNS)
def test_files_of_before_are_read(data_dir, run):
    folder = data_dir / "results_of_before" / "runs" / run
    algo, game, model, _ = run.split("/")
    assert read_run_settings(folder / "config.yaml")["algo"] == algo
    assert read_log(folder / "log.jsonl")[-1]["frames"] > 0
    checkpoint, agent = read_checkpoint(folder / "checkpoint.npz"), read_agent(folder)
    assert (checkpoint.game, checkpoint.model) == (agent.game, agent.model) == (game, model)
