"""Two trainings of one run at once: one that starts while another goes on, and one that was believed to be lost."""

import json
import os
import signal
import time

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.training import ownership
from neurozoo.training.heartbeat import Heartbeat, process_started
from neurozoo.training.ownership import wait_for_earlier_training
from training_processes import assert_same_results


def nothing():
    pass


def change_sign(state, **changes):
    facts = json.loads((state / "process.json").read_text())
    (state / "process.json").write_text(json.dumps(facts | changes))


def let_another_process_train(state):
    """Leaves the sign of a process of this host that lives on."""
    change_sign(state, process=os.getppid(), process_started=process_started(os.getppid()))


def wait_for_journal(run_dir):
    deadline = time.monotonic() + 60
    while not (run_dir / "state" / "journal.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.005)


@pytest.fixture
def seconds(monkeypatch):
    """Shortens how long others are waited for, and notes how long that was."""
    monkeypatch.setattr(ownership, "PATIENCE", 0.8)
    monkeypatch.setattr(ownership, "SILENCE", 0.4)
    monkeypatch.setattr(ownership, "POLL", 0.05)
    begin = time.monotonic()
    return lambda: time.monotonic() - begin


def test_a_run_that_nobody_trains_may_begin_at_once(tmp_path, seconds):
    wait_for_earlier_training(tmp_path, check=nothing)
    (tmp_path / "process.json").write_text("{damaged")
    wait_for_earlier_training(tmp_path, check=nothing)
    (tmp_path / "process.json").unlink()
    with Heartbeat(tmp_path, frames=0):
        pass
    wait_for_earlier_training(tmp_path, check=nothing)
    assert seconds() < 0.4


def test_a_run_that_a_living_process_trains_is_refused_with_who_and_what_to_do(tmp_path, seconds, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    with Heartbeat(tmp_path, frames=0):
        let_another_process_train(tmp_path)
        with pytest.raises(NeurozooError) as refusal:
            wait_for_earlier_training(tmp_path, check=nothing)
    assert f"is being trained by process {os.getppid()} on " in str(refusal.value)
    assert "(job 77)" in str(refusal.value)
    assert "wait until it has ended, or end it" in str(refusal.value)
    assert seconds() > 0.8


def test_an_earlier_training_of_the_same_process_has_ended_whatever_its_sign_says(tmp_path, seconds):
    with Heartbeat(tmp_path, frames=0):  # as left by one that met a full disk
        wait_for_earlier_training(tmp_path, check=nothing)
    assert seconds() < 0.4


def test_an_earlier_training_that_ends_meanwhile_is_waited_for(tmp_path, seconds):
    def check():
        if seconds() > 0.3:
            change_sign(tmp_path, ended="stopped")

    with Heartbeat(tmp_path, frames=0):
        let_another_process_train(tmp_path)
        wait_for_earlier_training(tmp_path, check=check)
        assert 0.3 < seconds() < 0.8


def test_a_training_on_another_host_counts_as_gone_when_it_is_silent(tmp_path, seconds):
    with Heartbeat(tmp_path, frames=0):
        change_sign(tmp_path, host="elsewhere")
        wait_for_earlier_training(tmp_path, check=nothing)
        assert 0.4 < seconds() < 0.8


def test_an_old_sign_of_another_host_is_not_waited_for(tmp_path, seconds):
    with Heartbeat(tmp_path, frames=0):
        change_sign(tmp_path, host="elsewhere")
        os.utime(tmp_path / "process.json", (time.time() - 121, time.time() - 121))
        wait_for_earlier_training(tmp_path, check=nothing)
        assert seconds() < 0.4


def test_a_training_on_another_host_that_gives_signs_is_not_disturbed(tmp_path, seconds):
    def give_a_sign():
        change_sign(tmp_path, host="elsewhere", process=5, frames=int(100 * seconds()))

    with Heartbeat(tmp_path, frames=0):
        give_a_sign()
        with pytest.raises(NeurozooError, match="trained by process 5 on elsewhere"):
            wait_for_earlier_training(tmp_path, check=give_a_sign)


def test_a_signal_ends_the_wait(tmp_path):
    def check():
        raise InterruptedError

    with Heartbeat(tmp_path, frames=0):
        let_another_process_train(tmp_path)
        with pytest.raises(InterruptedError):
            wait_for_earlier_training(tmp_path, check=check)


def test_a_process_that_is_dead_but_whose_parent_has_not_noticed_does_not_train(tmp_path, seconds, runner):
    process = runner.start(tmp_path, settings={"frames": 400_000})
    wait_for_journal(tmp_path)
    with pytest.raises(NeurozooError, match=f"trained by process {process.pid} on "):
        wait_for_earlier_training(tmp_path / "state", check=nothing)
    os.kill(process.pid, signal.SIGKILL)
    start = seconds()
    wait_for_earlier_training(tmp_path / "state", check=nothing)
    assert seconds() - start < 0.4
    process.join()


def test_who_was_taken_over_stops_and_leaves_the_new_owner_s_sign(tmp_path):
    with Heartbeat(tmp_path, frames=0) as first:
        first.check_owner()
        with Heartbeat(tmp_path, frames=7) as second:
            second.check_owner()
            with pytest.raises(NeurozooError, match=f"taken over by process {os.getpid()} on "):
                first.check_owner()
    sign = json.loads((tmp_path / "process.json").read_text())
    assert (sign["frames"], sign["ended"]) == (7, "finished")


def test_a_training_that_was_cut_off_and_comes_back_disturbs_nothing(runner, tmp_path):
    longer = {"frames": 40_000}
    undisturbed, run_dir = tmp_path / "undisturbed", tmp_path / "run"
    runner.finish(undisturbed, settings=longer)
    cut_off = runner.start(run_dir, settings=longer)
    wait_for_journal(run_dir)
    os.kill(cut_off.pid, signal.SIGSTOP)
    assert not (run_dir / "checkpoint.npz").exists(), "the training is too short for this test"
    change_sign(run_dir / "state", host="elsewhere")  # as of a node without a network
    os.utime(run_dir / "state" / "process.json", (0, 0))
    runner.finish(run_dir, settings=longer)
    assert_same_results(run_dir, undisturbed)
    os.kill(cut_off.pid, signal.SIGCONT)
    cut_off.join(timeout=60)
    assert cut_off.exitcode == 1
    assert_same_results(run_dir, undisturbed)
    runner.finish(run_dir, settings=longer)  # its state is as good
    assert_same_results(run_dir, undisturbed)
