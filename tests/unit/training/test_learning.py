"""Whole runs of learners: killed, stopped, continued, and the same in the end."""

import functools
import json
import os
import signal

import numpy as np
import pytest
from neurozoo.agents.checkpoint import read_checkpoint
from neurozoo.agents.freeze import freeze_run
from neurozoo.agents.frozen import open_frozen
from neurozoo.algorithms.dqn import learner
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.compute.interruption import Interrupted
from neurozoo.rollouts.rollout import record_rollout
from neurozoo.training import make_context, train
from neurozoo.training.watch import TrainingWatch
from training_processes import PATIENCE, assert_same_results, reports

DQN = {"algo": "dqn", "game": "breakout", "model": "small"}
OVERRIDES = {
    "frames": 700,  # three epochs
    "learning_starts": 32,
    "epoch_steps": 64,
    "num_test_episodes": 1,
    "test_cutoff": 10,
    "num_envs": 4,
    "train_frequency": 8,
    "batch_size": 4,
    "replay_size": 400,
    "double": True,
}
# In two shards, which two threads compute side by side.
IMPALA = {"frames": 1200, "epoch_steps": 100, "test_cutoff": 10, "snapshot_frames": 600, "shards": 2}
# What a run is, and with what another one continues it.
LEARNERS = {
    "dqn": (DQN, OVERRIDES, {"threads": 2}),
    "impala": (DQN | {"algo": "impala", "model": "impala_shallow_lstm"}, IMPALA, {"threads": 2, "core": None}),
}


@pytest.fixture(scope="module")
def through(runner, tmp_path_factory):
    """Trains a learner without interruption, once: `through(name)` returns its folder, and arguments for another."""

    @functools.cache
    def run(name):
        arguments, overrides, _ = LEARNERS[name]
        settings = vars(resolve_settings(arguments["algo"], preset="demo", overrides=overrides))
        run_dir = tmp_path_factory.mktemp(name) / "run"
        runner.finish(run_dir, whole_settings=settings, **arguments)
        return run_dir, arguments | {"whole_settings": settings}

    return run


@pytest.fixture
def settings(through):
    return through("dqn")[1]["whole_settings"]


def test_a_run_of_deep_q_learning_leaves_the_files_of_every_algorithm(through):
    run_dir, _ = through("dqn")
    names = {path.name for path in run_dir.iterdir()}
    assert names == {"config.yaml", "train.log", "log.jsonl", "checkpoint.npz", "result.json", "state"}
    records = reports(run_dir)
    assert [record["Iteration"] for record in records] == [1, 2, 3]
    assert {"frames", "score", "test_score", "score_episodes", "test_episodes"} <= set(records[0])
    assert records[-1]["frames"] == 4 * (32 + 3 * 64)
    assert records[-1]["train_weight_updates"] == 3 * 8
    facts = json.loads((run_dir / "result.json").read_text())
    assert (facts["kind"], facts["test_score"]) == ("network", records[-1]["test_score"])
    assert list(facts["files"]) == ["checkpoint.npz"]
    checkpoint = read_checkpoint(run_dir / "checkpoint.npz")
    assert (checkpoint.algo, checkpoint.protocol.name, checkpoint.num_actions) == ("dqn", "machado2018", 4)
    assert np.isfinite(checkpoint.theta).all()
    assert checkpoint.theta.std() > 0


def test_a_run_of_impala_leaves_them_too_and_its_policy_is_frozen_and_plays(through, tmp_path):
    run_dir, _ = through("impala")
    names = {path.name for path in run_dir.iterdir()}
    assert {"config.yaml", "train.log", "log.jsonl", "checkpoint.npz", "result.json", "snapshots", "state"} <= names
    records = reports(run_dir)
    # Epochs of 100 steps end with a rollout of 4 environments and 10 steps: 120, 200 and 320 steps.
    assert [record["frames"] for record in records] == [480, 800, 1280]
    assert [record["update"] for record in records] == [3, 5, 8]
    assert [record["lag_max"] for record in records] == [1, 1, 1]
    assert records[0]["test_score"] is None
    facts = json.loads((run_dir / "result.json").read_text())
    assert (facts["kind"], facts["test_score"]) == ("network", records[-1]["test_score"])
    checkpoint = read_checkpoint(run_dir / "checkpoint.npz")
    assert (checkpoint.algo, checkpoint.action_rule, checkpoint.num_actions) == ("impala", "sampled", 4)
    assert np.isfinite(checkpoint.theta).all()
    assert freeze_run(run_dir)["ties"] == 0
    frozen = open_frozen(run_dir / "frozen")
    assert (frozen.algo, frozen.action_rule, frozen.state_shapes) == ("impala", "sampled", ((256,), (256,)))
    rollout = record_rollout(run_dir / "frozen", tmp_path / "rollout.npz", max_steps=20, terminal="lines")
    assert rollout.steps == 20


@pytest.mark.parametrize(
    "crash",
    [
        pytest.param("after a report and before the state", marks=pytest.mark.long(seconds=15)),
        "while the state is written",
    ],
)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_that_is_killed_ends_the_same(runner, through, tmp_path, name, crash):
    run_dir, arguments = through(name)
    process = runner.start(tmp_path, crash=crash, **arguments)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(tmp_path, **arguments, **LEARNERS[name][2])
    assert_same_results(tmp_path, run_dir)


@pytest.mark.long(seconds=10)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_that_is_stopped_within_an_epoch_ends_the_same(runner, through, tmp_path, wait_until, name):
    run_dir, arguments = through(name)
    process = runner.start(tmp_path, **arguments)
    state = tmp_path / "state" / "state.json"
    wait_until(lambda: state.exists() and json.loads(state.read_text())["algorithm"], what="no state")
    os.kill(process.pid, signal.SIGTERM)
    process.join(timeout=PATIENCE)
    assert process.exitcode in (0, 1), runner.said()  # 0 if it was done before the signal came
    runner.finish(tmp_path, **arguments)
    assert_same_results(tmp_path, run_dir)


@pytest.mark.long(seconds=25)
def test_in_keras_a_learner_ends_the_same_without_the_op(runner, settings, tmp_path):
    arguments = {**DQN, "whole_settings": settings | {"engine": "keras"}}
    runner.finish(tmp_path / "with", **arguments)
    process = runner.start(tmp_path / "without", crash="after a report and before the state", **arguments)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(tmp_path / "without", threads=2, core=None, **arguments)
    assert_same_results(tmp_path / "without", tmp_path / "with")


@pytest.mark.parametrize(("name", "frames", "reported"), [("dqn", 32 + 2 * 64, [96, 160]), ("impala", 200, [120, 200])])
@pytest.mark.long(seconds=20)
def test_a_learner_of_the_river_crossing_task_that_is_killed_ends_the_same(
    runner, through, tmp_path, name, frames, reported
):
    arguments = through(name)[1] | {"game": "river_crossing"}
    river = {"protocol": "river_split", "action_set": None, "frames": frames}
    arguments |= {"whole_settings": arguments["whole_settings"] | river}
    runner.finish(tmp_path / "through", **arguments)
    checkpoint = read_checkpoint(tmp_path / "through" / "checkpoint.npz")
    assert (checkpoint.protocol.name, checkpoint.num_actions) == ("river_split", 18)
    assert [record["frames"] for record in reports(tmp_path / "through")] == reported  # a frame is a step
    process = runner.start(tmp_path / "killed", crash="after a report and before the state", **arguments)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(tmp_path / "killed", threads=2, **arguments)
    assert_same_results(tmp_path / "killed", tmp_path / "through")


@pytest.mark.long(seconds=10)
def test_a_missing_replay_file_stops_the_run_before_anything_is_lost(runner, settings, tmp_path):
    runner.finish(tmp_path, whole_settings=settings | {"frames": 300}, **DQN)
    before = (tmp_path / "state" / "state.json").read_bytes()
    (tmp_path / "state" / "replay" / "screens.npy").unlink()
    process = runner.start(tmp_path, whole_settings=settings, **DQN)
    process.join(timeout=PATIENCE)
    assert process.exitcode == 1
    assert "screens.npy, which the saved state needs" in runner.said()
    assert "set keep_replay to false" in runner.said()
    assert (tmp_path / "state" / "state.json").read_bytes() == before
    runner.finish(tmp_path, whole_settings=settings | {"keep_replay": False}, **DQN)
    assert len(reports(tmp_path)) == 3


@pytest.mark.long(seconds=12)
def test_a_moment_that_was_passed_before_a_stop_within_an_epoch_is_still_kept(tmp_path, monkeypatch):
    settings = OVERRIDES | {"learning_starts": 0, "frames": 300, "snapshot_frames": 160}
    context = make_context(**DQN, run=1, settings=settings, run_dir=tmp_path)
    monkeypatch.setattr(learner, "SAVE_STEPS", 8)
    advanced = TrainingWatch.advanced

    def stopping(watch, amount, **told):
        advanced(watch, amount, **told)
        if told["done"] >= 50:  # of 64 steps: 200 frames
            raise Interrupted("Stopped.")

    with monkeypatch.context() as patch:
        patch.setattr(TrainingWatch, "advanced", stopping)
        with pytest.raises(Interrupted):
            train(context, terminal="lines")
    assert not (tmp_path / "snapshots").exists()
    train(context, terminal="lines")
    assert {path.name for path in (tmp_path / "snapshots").iterdir()} == {"160.npz", "480.npz"}
