"""The preset `demo` of IMPALA, from training to the frozen model: killed, stopped, continued; the end is the same."""

import json
import os
import signal

import numpy as np
import pytest
from neurozoo.agents.checkpoint import read_checkpoint
from neurozoo.agents.freeze import freeze_run
from neurozoo.agents.frozen import open_frozen
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.rollouts.rollout import record_rollout
from training_processes import PATIENCE, assert_same_results, reports

ARGUMENTS = {"algo": "impala", "game": "breakout", "model": "impala_shallow_lstm"}
# In two shards, which two threads compute side by side.
OVERRIDES = {"frames": 1200, "epoch_steps": 100, "test_cutoff": 10, "snapshot_frames": 600, "shards": 2}


@pytest.fixture(scope="module")
def settings():
    return vars(resolve_settings("impala", preset="demo", overrides=OVERRIDES))


@pytest.fixture(scope="module")
def uninterrupted(runner, settings, tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("impala") / "run"
    runner.finish(run_dir, whole_settings=settings, **ARGUMENTS)
    return run_dir


def test_a_run_leaves_the_files_of_every_algorithm(uninterrupted):
    names = {path.name for path in uninterrupted.iterdir()}
    assert names == {"config.yaml", "train.log", "log.jsonl", "checkpoint.npz", "result.json", "snapshots", "state"}
    records = reports(uninterrupted)
    # Epochs of 100 steps end with a rollout of 4 environments and 10 steps: 120, 200 and 320 steps.
    assert [record["frames"] for record in records] == [480, 800, 1280]
    assert [record["update"] for record in records] == [3, 5, 8]
    assert [record["lag_max"] for record in records] == [1, 1, 1]
    assert records[0]["test_score"] is None
    facts = json.loads((uninterrupted / "result.json").read_text())
    assert (facts["kind"], facts["test_score"]) == ("network", records[-1]["test_score"])
    checkpoint = read_checkpoint(uninterrupted / "checkpoint.npz")
    assert (checkpoint.algo, checkpoint.action_rule, checkpoint.num_actions) == ("impala", "sampled", 4)
    assert np.isfinite(checkpoint.theta).all()


@pytest.mark.parametrize(
    "crash",
    [
        pytest.param("after a report and before the state", marks=pytest.mark.long(seconds=19)),
        "while the state is written",
    ],
)
def test_a_learner_that_is_killed_ends_the_same_with_two_threads_and_without_the_core(
    runner, settings, uninterrupted, tmp_path, crash
):
    process = runner.start(tmp_path, whole_settings=settings, crash=crash, **ARGUMENTS)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(tmp_path, whole_settings=settings, threads=2, core=None, **ARGUMENTS)
    assert_same_results(tmp_path, uninterrupted)


@pytest.mark.long(seconds=12)
def test_a_learner_that_is_stopped_within_a_rollout_ends_the_same(
    runner, settings, uninterrupted, tmp_path, wait_until
):
    process = runner.start(tmp_path, whole_settings=settings, threads=2, **ARGUMENTS)
    state = tmp_path / "state" / "state.json"
    wait_until(lambda: state.exists() and json.loads(state.read_text())["algorithm"], what="no state")
    os.kill(process.pid, signal.SIGTERM)
    process.join(timeout=PATIENCE)
    assert process.exitcode in (0, 1), runner.said()  # 0 if it was done before the signal came
    runner.finish(tmp_path, whole_settings=settings, **ARGUMENTS)
    assert_same_results(tmp_path, uninterrupted)


def test_the_trained_policy_is_frozen_and_plays(uninterrupted, tmp_path):
    assert freeze_run(uninterrupted)["ties"] == 0
    frozen = open_frozen(uninterrupted / "frozen")
    assert (frozen.algo, frozen.action_rule, frozen.state_shapes) == ("impala", "sampled", ((256,), (256,)))
    rollout = record_rollout(uninterrupted / "frozen", tmp_path / "rollout.npz", max_steps=20, terminal="lines")
    assert rollout.steps == 20
