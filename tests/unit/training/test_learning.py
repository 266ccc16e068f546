"""Whole runs of deep Q-learning: killed, stopped, continued, and the same in the end."""

import json
import os
import signal

import numpy as np
import pytest
from neurozoo.agents.checkpoint import read_checkpoint
from neurozoo.algorithms.dqn import learner
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.compute.interruption import Interrupted
from neurozoo.training import make_context, train
from neurozoo.training.watch import TrainingWatch
from training_processes import PATIENCE, assert_same_results, reports

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
ARGUMENTS = {"algo": "dqn", "game": "breakout", "model": "small"}


@pytest.fixture(scope="module")
def settings():
    return vars(resolve_settings("dqn", preset="demo", overrides=OVERRIDES))


@pytest.fixture(scope="module")
def uninterrupted_learner(runner, settings, tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("learner") / "run"
    runner.finish(run_dir, whole_settings=settings, **ARGUMENTS)
    return run_dir


def test_a_run_leaves_the_files_of_every_algorithm(uninterrupted_learner):
    names = {path.name for path in uninterrupted_learner.iterdir()}
    assert names == {"config.yaml", "train.log", "log.jsonl", "checkpoint.npz", "result.json", "state"}
    records = reports(uninterrupted_learner)
    assert [record["Iteration"] for record in records] == [1, 2, 3]
    assert {"frames", "score", "test_score", "score_episodes", "test_episodes"} <= set(records[0])
    assert records[-1]["frames"] == 4 * (32 + 3 * 64)
    assert records[-1]["train_weight_updates"] == 3 * 8
    facts = json.loads((uninterrupted_learner / "result.json").read_text())
    assert (facts["kind"], facts["test_score"]) == ("network", records[-1]["test_score"])
    assert list(facts["files"]) == ["checkpoint.npz"]
    checkpoint = read_checkpoint(uninterrupted_learner / "checkpoint.npz")
    assert (checkpoint.algo, checkpoint.protocol.name, checkpoint.num_actions) == ("dqn", "machado2018", 4)
    assert np.isfinite(checkpoint.theta).all()
    assert checkpoint.theta.std() > 0


@pytest.mark.parametrize(
    "crash",
    [
        pytest.param("after a report and before the state", marks=pytest.mark.long(seconds=12)),
        "while the state is written",
    ],
)
def test_a_learner_that_is_killed_ends_the_same(runner, settings, uninterrupted_learner, tmp_path, crash):
    process = runner.start(tmp_path, whole_settings=settings, crash=crash, **ARGUMENTS)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(tmp_path, whole_settings=settings, threads=2, **ARGUMENTS)
    assert_same_results(tmp_path, uninterrupted_learner)


@pytest.mark.long(seconds=25)
def test_in_keras_a_learner_ends_the_same_without_the_op(runner, settings, tmp_path):
    arguments = {**ARGUMENTS, "whole_settings": settings | {"engine": "keras"}}
    runner.finish(tmp_path / "with", **arguments)
    process = runner.start(tmp_path / "without", crash="after a report and before the state", **arguments)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(tmp_path / "without", threads=2, core=None, **arguments)
    assert_same_results(tmp_path / "without", tmp_path / "with")


@pytest.mark.long(seconds=8)
def test_a_learner_that_is_stopped_within_an_epoch_ends_the_same(
    runner, settings, uninterrupted_learner, tmp_path, wait_until
):
    process = runner.start(tmp_path, whole_settings=settings, **ARGUMENTS)
    state = tmp_path / "state" / "state.json"
    wait_until(lambda: state.exists() and json.loads(state.read_text())["algorithm"], what="no state")
    os.kill(process.pid, signal.SIGTERM)
    process.join(timeout=PATIENCE)
    assert process.exitcode in (0, 1), runner.said()  # 0 if it was done before the signal came
    runner.finish(tmp_path, whole_settings=settings, **ARGUMENTS)
    assert_same_results(tmp_path, uninterrupted_learner)


@pytest.mark.long(seconds=10)
def test_a_learner_of_the_river_crossing_task_that_is_killed_ends_the_same(runner, settings, tmp_path):
    river = settings | {"protocol": "river_split", "action_set": None, "frames": 32 + 2 * 64}
    arguments = {**ARGUMENTS, "game": "river_crossing", "whole_settings": river}
    runner.finish(tmp_path / "through", **arguments)
    checkpoint = read_checkpoint(tmp_path / "through" / "checkpoint.npz")
    assert (checkpoint.protocol.name, checkpoint.num_actions) == ("river_split", 18)
    assert [record["frames"] for record in reports(tmp_path / "through")] == [96, 160]  # a frame is a step
    process = runner.start(tmp_path / "killed", crash="after a report and before the state", **arguments)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(tmp_path / "killed", threads=2, **arguments)
    assert_same_results(tmp_path / "killed", tmp_path / "through")


@pytest.mark.long(seconds=10)
def test_a_missing_replay_file_stops_the_run_before_anything_is_lost(runner, settings, tmp_path):
    runner.finish(tmp_path, whole_settings=settings | {"frames": 300}, **ARGUMENTS)
    before = (tmp_path / "state" / "state.json").read_bytes()
    (tmp_path / "state" / "replay" / "screens.npy").unlink()
    process = runner.start(tmp_path, whole_settings=settings, **ARGUMENTS)
    process.join(timeout=PATIENCE)
    assert process.exitcode == 1
    assert "screens.npy, which the saved state needs" in runner.said()
    assert "set keep_replay to false" in runner.said()
    assert (tmp_path / "state" / "state.json").read_bytes() == before
    runner.finish(tmp_path, whole_settings=settings | {"keep_replay": False}, **ARGUMENTS)
    assert len(reports(tmp_path)) == 3


@pytest.mark.long(seconds=12)
def test_a_moment_that_was_passed_before_a_stop_within_an_epoch_is_still_kept(tmp_path, monkeypatch):
    settings = OVERRIDES | {"learning_starts": 0, "frames": 300, "snapshot_frames": 160}
    context = make_context(**ARGUMENTS, run=1, settings=settings, run_dir=tmp_path)
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
