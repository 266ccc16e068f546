"""Heartbeats, also of real trainings."""

import contextlib
import json
import os
import signal
import socket
import time
from types import SimpleNamespace

import pytest
from neurozoo.compute.interruption import Interrupted
from neurozoo.errors import NeurozooError
from neurozoo.training.heartbeat import PERIOD, Heartbeat, correct_end, job_of_scheduler, process_started


def sign_of(state):
    return json.loads((state / "process.json").read_text())


def beat(heartbeat, **changes):
    arguments = {"progress": 0, "has_news": False, "phase": "population", "done": 0, "total": 6}
    heartbeat.beat(**arguments | changes)


def test_a_heartbeat_says_which_process_trains_and_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setenv("JOB_ID", "77")
    before = time.time()
    with Heartbeat(tmp_path) as heartbeat:
        heartbeat.continue_from(1000)
        assert sign_of(tmp_path)["progress"] == 1000
        beat(heartbeat, progress=500, has_news=True, done=2)
        sign = sign_of(tmp_path)
        assert sign["progress"] == 1500
        assert sign["progress_per_second"] > 0
        assert (sign["host"], sign["process"], sign["job"]) == (socket.gethostname(), os.getpid(), "77")
        assert sign["process_started"] == process_started(os.getpid())
        assert (sign["phase"], sign["episodes_done"], sign["episodes"]) == ("population", 2, 6)
        assert sign["ended"] is None
        assert before <= sign["last_news"] <= time.time()
    assert sign_of(tmp_path)["ended"] == "finished"


def test_heartbeats_are_written_now_and_then_and_count_everything_in_between(tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("neurozoo.training.heartbeat.time.monotonic", lambda: clock[0])
    with Heartbeat(tmp_path) as heartbeat:
        beat(heartbeat, progress=10)
        clock[0] += PERIOD - 0.1
        beat(heartbeat, progress=10)
        assert sign_of(tmp_path)["progress"] == 10
        clock[0] += 0.2
        beat(heartbeat, progress=10)
        assert sign_of(tmp_path)["progress"] == 30
        assert sign_of(tmp_path)["progress_per_second"] == pytest.approx(30 / (PERIOD + 0.1))


def test_the_last_news_follow_a_clock_that_is_set_meanwhile(tmp_path, monkeypatch):
    with Heartbeat(tmp_path) as heartbeat:
        beat(heartbeat, has_news=True)
        now = time.time() + 86400
        monkeypatch.setattr("neurozoo.training.heartbeat.time.time", lambda: now)
        heartbeat.continue_from(1)
        assert now - 60 < sign_of(tmp_path)["last_news"] <= now


def test_a_slow_start_writes_heartbeats_until_the_first_beat(tmp_path, monkeypatch, wait_until):
    monkeypatch.setattr("neurozoo.training.heartbeat.PERIOD", 0.02)
    path = tmp_path / "process.json"
    with Heartbeat(tmp_path) as heartbeat:
        for _ in range(2):
            os.utime(path, (1, 1))
            wait_until(lambda: path.stat().st_mtime > 2, what="no sign")
        beat(heartbeat)
        os.utime(path, (1, 1))
        time.sleep(0.2)
        assert path.stat().st_mtime == 1  # from here on a heartbeat means that the training goes on


def test_a_slow_start_leaves_a_run_to_the_training_that_took_it_over(tmp_path, monkeypatch):
    path = tmp_path / "process.json"
    with Heartbeat(tmp_path) as heartbeat:
        path.write_text(json.dumps(sign_of(tmp_path) | {"host": "elsewhere"}))
        taken = path.read_text()
        waits = iter([False, False, True])
        with monkeypatch.context() as patch:  # its thread waits for ten seconds, so this one does what it would do
            patch.setattr(heartbeat, "_has_begun", SimpleNamespace(wait=lambda _: next(waits)))
            heartbeat._beat_while_starting()
        assert path.read_text() == taken
        with pytest.raises(NeurozooError, match="taken over"):
            beat(heartbeat)


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (Interrupted("Stopped by SIGTERM.", is_end_of_slice=False), "stopped"),
        (Interrupted("Stopped by SIGUSR1.", is_end_of_slice=True), "slice"),
        (NeurozooError("The disk is full."), "failed"),
    ],
)
def test_the_last_heartbeat_says_how_the_training_ended(tmp_path, error, ended):
    with pytest.raises(NeurozooError), Heartbeat(tmp_path):
        raise error
    assert (sign_of(tmp_path)["ended"], sign_of(tmp_path)["error"]) == (ended, str(error))


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (Interrupted("Stopped by SIGUSR1.", is_end_of_slice=True), "stopped"),
        (NeurozooError("The disk is full."), "failed"),
    ],
)
def test_a_stop_that_was_passed_on_is_called_after_its_cause(tmp_path, error, ended):
    with contextlib.suppress(NeurozooError), Heartbeat(tmp_path) as heartbeat:
        heartbeat.continue_from(7)
        raise error
    correct_end(tmp_path, Interrupted("Stopped by SIGHUP."))
    assert (sign_of(tmp_path)["ended"], sign_of(tmp_path)["progress"]) == (ended, 7)


def test_a_folder_that_cannot_be_written_to_does_not_end_a_training(tmp_path):
    (tmp_path / "state").write_text("a file in the place of the folder")
    with Heartbeat(tmp_path / "state") as heartbeat:
        beat(heartbeat)


def test_a_job_of_an_array_is_named_with_its_task(monkeypatch):
    for name in ("SLURM_JOB_ID", "JOB_ID", "SGE_TASK_ID"):
        monkeypatch.delenv(name, raising=False)
    assert job_of_scheduler() is None
    monkeypatch.setenv("JOB_ID", "5")
    monkeypatch.setenv("SGE_TASK_ID", "undefined")  # what Grid Engine sets outside of arrays
    assert job_of_scheduler() == "5"
    monkeypatch.setenv("SGE_TASK_ID", "3")
    assert job_of_scheduler() == "5.3"
    monkeypatch.setenv("SLURM_JOB_ID", "9")
    assert job_of_scheduler() == "9"


def test_a_training_writes_heartbeats_until_it_is_killed(runner, tmp_path, wait_until):
    process = runner.start(tmp_path)
    state = tmp_path / "state"
    wait_until((state / "journal.jsonl").exists, what="no journal")
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert (sign_of(state)["process"], sign_of(state)["ended"]) == (process.pid, None)
    runner.finish(tmp_path)
    assert sign_of(state)["process"] != process.pid
    assert sign_of(state)["ended"] == "finished"
