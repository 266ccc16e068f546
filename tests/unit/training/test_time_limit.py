"""A training that real signals cut into slices, and that is started again as a job script would do it."""

import json
import os
import pty
import random
import signal
import subprocess
import sys
import time

import pytest
from neurozoo.signals import FOR_GOOD, OF_SCHEDULERS
from training_processes import ENDLESS, PATIENCE, assert_same_results, wait_for_news


@pytest.fixture
def again(tmp_path):
    return tmp_path / "job" / "again"


@pytest.mark.parametrize("number", [signal.SIGUSR1, pytest.param(signal.SIGUSR2, marks=pytest.mark.long(seconds=13))])
def test_a_run_goes_on_slice_after_slice_and_ends_the_same(runner, uninterrupted, tmp_path, again, number):
    run_dir, dice, slices = tmp_path / "run", random.Random(1), 0
    while True:
        settings = ENDLESS if slices < 2 else {}
        process = runner.start_script(run_dir, settings=settings, variables={"NEUROZOO_AGAIN": str(again)})
        wait_for_news(run_dir, process)
        time.sleep(dice.uniform(0, 0.1))
        if process.is_alive():
            os.kill(process.pid, number)
        process.join(timeout=PATIENCE)
        if process.exitcode == 0:
            break
        assert process.exitcode == 1, runner.said()  # not killed by the signal: its work is saved
        assert again.read_text() == "again\n"
        assert f"Stopped by {number.name}; the state is saved" in runner.said()
        slices += 1
        assert slices < 200, "the run makes no progress"
    assert not again.exists()
    assert_same_results(run_dir, uninterrupted)


@pytest.mark.parametrize("number", OF_SCHEDULERS)
def test_a_training_that_has_just_finished_does_not_fail_when_its_time_is_up(number):
    lines = [
        "import os",
        "from neurozoo.compute.interruption import Interruption",
        "from neurozoo.compute.time_limit import time_slice",
        "with time_slice():",
        "    with Interruption():",
        "        pass",
        f"    os.kill(os.getpid(), {number})",
        f"os.kill(os.getpid(), {number})",
    ]
    assert subprocess.run([sys.executable, "-c", "\n".join(lines)]).returncode == 0


@pytest.mark.long(seconds=6)
@pytest.mark.parametrize("numbers", [*([number] for number in FOR_GOOD), [signal.SIGUSR1, signal.SIGTERM]], ids=str)
def test_a_run_that_is_stopped_for_good_is_not_started_again(runner, uninterrupted, tmp_path, again, numbers):
    again.parent.mkdir()
    again.write_text("again\n")  # left by an earlier slice
    process = runner.start_script(tmp_path / "run", settings=ENDLESS, variables={"NEUROZOO_AGAIN": str(again)})
    wait_for_news(tmp_path / "run", process)
    for number in numbers:
        os.kill(process.pid, number)
    process.join(timeout=PATIENCE)
    assert process.exitcode == 1
    assert f"Stopped by {numbers[-1].name}; the state is saved" in runner.said()
    assert not again.exists()
    runner.finish(tmp_path / "run")
    assert_same_results(tmp_path / "run", uninterrupted)


def test_a_run_whose_terminal_is_lost_is_saved(runner, tmp_path):
    terminal, end = pty.openpty()
    process = runner.start_on_terminal(tmp_path / "run", os.ttyname(end), settings=ENDLESS)
    os.close(end)
    wait_for_news(tmp_path / "run", process)
    os.close(terminal)
    process.join(timeout=PATIENCE)
    assert process.exitcode == 1
    assert "Stopped by SIGHUP; the state is saved." in (tmp_path / "run" / "train.log").read_text()
    assert json.loads((tmp_path / "run" / "state" / "process.json").read_text())["ended"] == "stopped"


def test_a_run_that_fails_is_not_started_again(runner, tmp_path, again):
    process = runner.start_script(tmp_path / "run", game="pnog", variables={"NEUROZOO_AGAIN": str(again)})
    process.join(timeout=PATIENCE)
    assert process.exitcode == 1
    assert "did you mean 'pong'" in runner.said()
    assert not again.exists()


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_job_of_slurm_puts_itself_back_into_the_queue_or_says_why_not(runner, tmp_path, is_refused):
    (tmp_path / "bin").mkdir()
    answer = "echo 'slurm_requeue error: Requeue is disabled' >&2; exit 1" if is_refused else ""
    (tmp_path / "bin" / "scontrol").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n{answer}\n')
    (tmp_path / "bin" / "scontrol").chmod(0o755)
    variables = {"SLURM_JOB_ID": "123", "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    process = runner.start_script(tmp_path / "run", settings=ENDLESS, variables=variables)
    wait_for_news(tmp_path / "run", process)
    os.kill(process.pid, signal.SIGUSR1)
    process.join(timeout=PATIENCE)
    assert process.exitcode == 1, runner.said()
    assert (tmp_path / "asked").read_text() == "requeue 123\n"
    assert "the state is saved" in runner.said()
    complaint = "The scheduler could not be told to do so: slurm_requeue error: Requeue is disabled"
    assert (complaint in runner.said()) == is_refused
