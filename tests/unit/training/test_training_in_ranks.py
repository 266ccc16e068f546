"""Runs of several processes: killed or stopped anywhere, they end with the same bytes."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import psutil
import pytest
from neurozoo.agents.checkpoint import read_checkpoint
from neurozoo.training.ranks import threads_of_rank
from training_processes import PATIENCE, assert_same_results, reports

TWO = {"learners": 2, "actors": 0}
FOUR = {"learners": 2, "actors": 2}
PPO = {"objective": "ppo", "epochs": 2}
OVERRIDES = {"frames": 4800, "learning_rate_frames": 4800, "epoch_steps": 600, "test_cutoff": 10}
ENDLESS = {"frames": 10**9}  # of runs that are killed; those that have spent too much until then start anew


def command(folder, team):
    settings = [f"--set={name}={value}" for name, value in (OVERRIDES | team).items()]
    run = ["--algo", "impala", "--game", "breakout", "--model", "impala_shallow_lstm", "--run-dir", str(folder)]
    return [sys.executable, "-m", "neurozoo", "train", "--preset", "demo", *run, *settings]


def start(folder, team):
    return subprocess.Popen(command(folder, team | ENDLESS), stderr=subprocess.PIPE, text=True)


def finish(folder, team):
    done = subprocess.run(command(folder, team), stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return folder


def ranks_of(process):
    """Returns the processes of the ranks, by their numbers."""
    found = {}
    for child in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since it was listed
            if "neurozoo.training.rank_process" in child.cmdline() and "OMPI_COMM_WORLD_RANK" in child.environ():
                found[int(child.environ()["OMPI_COMM_WORLD_RANK"])] = child
    return found


def assert_ended(ranks):
    """Asserts that no rank goes on; one that has ended may not have been collected by its parent's heirs."""
    _, alive = psutil.wait_procs(list(ranks.values()), timeout=PATIENCE)
    for rank in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            assert rank.status() == psutil.STATUS_ZOMBIE, rank


def wait_for_state(folder, process, wait_until):
    state = folder / "state" / "state.json"
    wait_until(
        lambda: process.poll() is not None or (state.exists() and json.loads(state.read_text())["algorithm"]),
        what="no state",
    )
    assert process.poll() is None, process.stderr.read()


@pytest.mark.parametrize(
    ("environment", "threads"), [({}, 4), ({"SLURM_JOB_ID": "7"}, 8), ({"SLURM_JOB_ID": "7", "SLURM_NTASKS": "1"}, 4)]
)
def test_processes_share_threads_unless_slurm_counts_them_for_each(environment, threads):
    assert threads_of_rank(8, 2, environment) == threads
    assert threads_of_rank(1, 2, {}) == 1


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return finish(tmp_path_factory.mktemp("two") / "run", TWO)


def test_both_learners_count(two):
    records = reports(two)
    # 8 environments, rollouts of 10 steps.
    assert [record["steps"] for record in records] == [640, 1200]
    assert [(record["learners"], record["actors"], record["lag_max"]) for record in records] == [(2, 2, 1)] * 2
    assert records[-1]["update"] == 1200 // 80
    assert "TimeElapsedTotal" in (two / "log.jsonl").read_text()
    assert "ProcessorTimeTotal" not in (two / "log.jsonl").read_text()  # the first learner sees its own only


def test_a_learner_that_is_killed_is_named_and_the_run_ends_the_same(two, tmp_path, wait_until):
    process = start(tmp_path, TWO)
    wait_for_state(tmp_path, process, wait_until)
    ranks = ranks_of(process)
    ranks[1].kill()
    error = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 1
    assert re.search(r"^neurozoo: Rank 1 on \S+ was lost \(SIGKILL\), so the run ends\.", error, re.MULTILINE), error
    assert "Traceback" not in error
    assert_ended(ranks)
    finish(tmp_path, TWO)
    assert_same_results(tmp_path, two)


@pytest.mark.long(seconds=60)
def test_a_signal_saves_the_state_of_all_ranks(two, tmp_path, wait_until):
    process = start(tmp_path, TWO)
    wait_for_state(tmp_path, process, wait_until)
    process.send_signal(signal.SIGTERM)
    error = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 1
    assert "neurozoo: Stopped by SIGTERM; the state is saved." in error
    end = json.loads((tmp_path / "state" / "process.json").read_text())
    assert (end["ended"], end["error"].split(";")[0]) == ("stopped", "Stopped by SIGTERM")
    finish(tmp_path, TWO)
    assert_same_results(tmp_path, two)


@pytest.mark.long(seconds=60)
def test_nothing_trains_on_if_the_job_itself_is_killed(two, tmp_path, wait_until):
    process = start(tmp_path, TWO)
    wait_for_state(tmp_path, process, wait_until)
    ranks = ranks_of(process)
    os.kill(process.pid, signal.SIGKILL)
    assert_ended(ranks)
    finish(tmp_path, TWO)
    assert_same_results(tmp_path, two)


@pytest.mark.long(seconds=60)
def test_one_actor_sends_all_that_the_learner_would_have_played(tmp_path):
    """PPO learns from everything in a rollout, from the values of the actor and the one after the last step, too."""
    alone, acted_for = (finish(tmp_path / str(actors), PPO | {"actors": actors}) for actors in (0, 1))
    weights = [read_checkpoint(folder / "checkpoint.npz").theta for folder in (alone, acted_for)]
    np.testing.assert_array_equal(*weights)


@pytest.mark.long(seconds=150)
@pytest.mark.parametrize(("lost", "changes"), [(0, {}), (2, PPO | {"proximal_policy": "learning"})])
def test_two_learners_and_two_actors_end_the_same(tmp_path, wait_until, lost, changes):
    team = changes | FOUR
    whole = finish(tmp_path / "whole", team)
    assert reports(whole)[-1]["actors"] == 2
    process = start(tmp_path / "killed", team)
    wait_for_state(tmp_path / "killed", process, wait_until)
    ranks_of(process)[lost].kill()
    error = process.communicate(timeout=PATIENCE)[1]
    assert f"neurozoo: Rank {lost} on" in error
    finish(tmp_path / "killed", team)
    assert_same_results(tmp_path / "killed", whole)
