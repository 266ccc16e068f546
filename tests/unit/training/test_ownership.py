"""Two trainings of one run at once: a double start, and a node that was believed to be lost."""

import json
import os
import signal
import time
from types import SimpleNamespace

import psutil
import pytest
import training_processes
from neurozoo.errors import NeurozooError
from neurozoo.training import heartbeat
from neurozoo.training.heartbeat import (
    PATIENCE,
    POLL,
    SILENCE,
    Heartbeat,
    process_started,
    read_heartbeat,
    wait_for_earlier_training,
)
from training_processes import ENDLESS, assert_same_results


def nothing():
    pass


def change_heartbeat(state, **changes):
    facts = json.loads((state / "process.json").read_text())
    (state / "process.json").write_text(json.dumps(facts | changes))


def let_another_process_train(state):
    """Leaves the heartbeat of a living process of this host."""
    change_heartbeat(state, process=os.getppid(), process_started=process_started(os.getppid()))


@pytest.fixture
def seconds(monkeypatch):
    """Puts a clock in place that goes on only while somebody waits, and returns how long that was."""
    clock = [0.0]

    def sleep(duration):
        clock[0] += duration

    monkeypatch.setattr(heartbeat, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep, time=time.time))
    return lambda: clock[0]


def test_a_run_that_no_process_trains_may_begin_at_once(tmp_path, seconds):
    wait_for_earlier_training(tmp_path, check=nothing)
    (tmp_path / "process.json").write_text("{damaged")
    wait_for_earlier_training(tmp_path, check=nothing)
    (tmp_path / "process.json").unlink()
    with Heartbeat(tmp_path):
        pass
    wait_for_earlier_training(tmp_path, check=nothing)
    assert seconds() == 0


def test_a_run_that_a_living_process_trains_is_refused_with_its_name_and_what_to_do(tmp_path, seconds, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    with Heartbeat(tmp_path):
        let_another_process_train(tmp_path)
        with pytest.raises(NeurozooError) as refusal:
            wait_for_earlier_training(tmp_path, check=nothing)
    assert f"is being trained by process {os.getppid()} on " in str(refusal.value)
    assert "(job 77)" in str(refusal.value)
    assert "wait until it has ended, or end it" in str(refusal.value)
    assert seconds() == pytest.approx(PATIENCE, abs=2 * POLL)


def test_an_earlier_training_of_the_same_process_has_ended_whatever_its_heartbeat_says(tmp_path, seconds):
    with Heartbeat(tmp_path):  # as after a full disk
        wait_for_earlier_training(tmp_path, check=nothing)
    assert seconds() == 0


def test_a_training_waits_for_an_earlier_one_that_ends_meanwhile(tmp_path, seconds):
    def check():
        if seconds() > 30:
            change_heartbeat(tmp_path, ended="stopped")

    with Heartbeat(tmp_path):
        let_another_process_train(tmp_path)
        wait_for_earlier_training(tmp_path, check=check)
        assert seconds() == pytest.approx(30, abs=2 * POLL)


def test_a_training_on_another_host_counts_as_gone_when_it_is_silent(tmp_path, seconds):
    with Heartbeat(tmp_path):
        change_heartbeat(tmp_path, host="elsewhere")
        wait_for_earlier_training(tmp_path, check=nothing)
        assert seconds() == pytest.approx(SILENCE, abs=2 * POLL)


def test_a_training_does_not_wait_for_an_old_heartbeat_of_another_host(tmp_path, seconds):
    with Heartbeat(tmp_path):
        change_heartbeat(tmp_path, host="elsewhere")
        os.utime(tmp_path / "process.json", (time.time() - 121, time.time() - 121))
        wait_for_earlier_training(tmp_path, check=nothing)
        assert seconds() == 0


def test_clocks_of_hosts_do_not_count_but_that_of_the_files(tmp_path, seconds, monkeypatch):
    with Heartbeat(tmp_path):
        change_heartbeat(tmp_path, host="elsewhere")
        slow = time.time() + 1000
        monkeypatch.setattr(heartbeat.time, "time", lambda: slow, raising=False)
        wait_for_earlier_training(tmp_path, check=nothing)
        assert seconds() == pytest.approx(SILENCE, abs=2 * POLL)


def test_a_process_of_another_container_of_this_name_may_be_alive(tmp_path, seconds):
    with Heartbeat(tmp_path):
        change_heartbeat(tmp_path, processes="another", process=2**22 + 1)
        assert read_heartbeat(tmp_path).is_alive is None
        wait_for_earlier_training(tmp_path, check=nothing)
        assert seconds() == pytest.approx(SILENCE, abs=2 * POLL)


def test_a_training_on_another_host_that_gives_heartbeats_keeps_its_run(tmp_path, seconds):
    def give_heartbeat():
        change_heartbeat(tmp_path, host="elsewhere", process=5, progress=int(100 * seconds()))

    with Heartbeat(tmp_path):
        give_heartbeat()
        with pytest.raises(NeurozooError, match="trained by process 5 on elsewhere"):
            wait_for_earlier_training(tmp_path, check=give_heartbeat)


def test_a_signal_ends_the_wait(tmp_path):
    def check():
        raise InterruptedError

    with Heartbeat(tmp_path):
        let_another_process_train(tmp_path)
        with pytest.raises(InterruptedError):
            wait_for_earlier_training(tmp_path, check=check)


def test_a_dead_process_that_its_parent_has_not_reaped_does_not_train(tmp_path, seconds, runner, wait_until):
    process = runner.start(tmp_path, settings=ENDLESS)
    wait_until((tmp_path / "state" / "journal.jsonl").exists, what="no journal")
    with pytest.raises(NeurozooError, match=f"trained by process {process.pid} on "):
        wait_for_earlier_training(tmp_path / "state", check=nothing)
    os.kill(process.pid, signal.SIGKILL)

    def is_dead():
        try:
            return psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:  # its parent was quick
            return True

    wait_until(is_dead, what="it lives on")
    start = seconds()
    wait_for_earlier_training(tmp_path / "state", check=nothing)
    assert seconds() == start
    process.join()


def test_a_training_that_lost_its_run_stops_and_leaves_the_heartbeat_of_the_new_owner(tmp_path):
    with Heartbeat(tmp_path) as first:
        first.check_owner()
        with Heartbeat(tmp_path) as second:
            second.continue_from(7)
            second.check_owner()
            with pytest.raises(NeurozooError, match=f"taken over by process {os.getpid()} on "):
                first.check_owner()
    sign = json.loads((tmp_path / "process.json").read_text())
    assert (sign["progress"], sign["ended"]) == (7, "finished")


@pytest.mark.long(seconds=25)
def test_a_training_that_was_cut_off_and_comes_back_changes_nothing(runner, tmp_path, wait_until):
    longer = {"frames": 40_000}
    uninterrupted, run_dir = tmp_path / "uninterrupted", tmp_path / "run"
    runner.finish(uninterrupted, settings=longer)
    cut_off = runner.start(run_dir, settings=ENDLESS)
    wait_until((run_dir / "state" / "journal.jsonl").exists, what="no journal")
    os.kill(cut_off.pid, signal.SIGSTOP)
    change_heartbeat(run_dir / "state", host="elsewhere")  # as of a node without a network
    os.utime(run_dir / "state" / "process.json", (0, 0))
    runner.finish(run_dir, settings=longer)
    assert_same_results(run_dir, uninterrupted)
    os.kill(cut_off.pid, signal.SIGCONT)
    cut_off.join(timeout=training_processes.PATIENCE)
    assert cut_off.exitcode == 1
    assert_same_results(run_dir, uninterrupted)
    runner.finish(run_dir, settings=longer)  # its state is as good as the other's
    assert_same_results(run_dir, uninterrupted)


@pytest.mark.long(seconds=10)
def test_two_trainings_that_start_together_do_not_both_write(runner, tmp_path, wait_until):
    """Each reads the state only when its heartbeat is there, so that the other one stops before it writes a report."""
    run_dir, longer = tmp_path / "run", {"frames": 40_000}
    both = [runner.start(run_dir, settings=longer) for _ in range(2)]
    for process in both:
        process.join(timeout=training_processes.PATIENCE)
    assert sorted(process.exitcode for process in both) in ([0, 0], [0, 1])  # the later one may come when all is done
    iterations = [json.loads(line)["Iteration"] for line in (run_dir / "log.jsonl").read_text().splitlines()]
    assert iterations == list(range(1, len(iterations) + 1))
