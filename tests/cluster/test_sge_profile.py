import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
PROFILE = PROJECT / "profiles" / "sge"
SITE = yaml.safe_load((PROFILE / "config.yaml").read_text())["__variables__"]

QSTAT_XML = """<?xml version='1.0'?>
<job_info>
  <queue_info>
    <Queue-List>
      <name>all.q@one</name>
      <job_list state="running"><JB_job_number>12</JB_job_number><state>r</state></job_list>
    </Queue-List>
    <Queue-List>
      <name>all.q@two</name>
      <state>au</state>
      <job_list state="running"><JB_job_number>13</JB_job_number><state>dr</state></job_list>
    </Queue-List>
  </queue_info>
  <job_info>
    <job_list state="pending"><JB_job_number>123</JB_job_number><state>qw</state></job_list>
    <job_list state="pending"><JB_job_number>124</JB_job_number><state>Eqw</state></job_list>
  </job_info>
</job_info>
"""


# Waits for a warning, if it can still come.
WARNED = """
import signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
if time.time() < float(sys.argv[1]):
    signal.sigwait([signal.SIGUSR1])
    print("warned")
else:
    print("late")
"""


@pytest.fixture
def profile(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Makes the profile's modules importable and returns a way to import them."""
    monkeypatch.syspath_prepend(PROFILE)
    return importlib


@pytest.fixture
def jobs(profile):
    return profile.import_module("jobs")


@pytest.fixture
def submit(profile):
    return profile.import_module("submit")


@pytest.fixture
def status(profile):
    return profile.import_module("status")


def test_a_state_is_that_of_the_job_with_exactly_this_number_and_of_its_queue(jobs):
    assert jobs.listed(QSTAT_XML, "12") == jobs.Listed("r")
    assert jobs.listed(QSTAT_XML, "13") == jobs.Listed("dr", "au")
    assert jobs.listed(QSTAT_XML, "123") == jobs.Listed("qw")
    assert jobs.listed(QSTAT_XML, "124") == jobs.Listed("Eqw")
    assert jobs.listed(QSTAT_XML, "2") is None


@pytest.mark.parametrize(
    ("code", "state", "queue_state", "silent_for", "word"),
    [
        (0, None, "", 0, "success"),
        (1, None, "", 0, "failed"),
        (None, "qw", "", 0, "running"),
        (None, "hqw", "", 9999, "running"),
        (None, "r", "", 0, "running"),
        (None, "Rr", "", 0, "running"),
        (None, "T", "", 0, "running"),
        (None, "dr", "", 0, "running"),
        (None, "Eqw", "", 0, "failed"),
        (None, "r", "au", SITE["patience"] - 1, "running"),  # the daemon may only be starting anew
        (None, "r", "au", SITE["patience"], "failed"),
        (None, "r", "a", 9999, "running"),  # overloaded
        (None, None, "", SITE["grace"] - 1, "running"),  # not listed yet, or no longer
        (None, None, "", SITE["grace"], "failed"),
    ],
)
def test_a_job_is_judged_by_its_note_then_by_its_state_then_by_its_silence(
    jobs, status, code, state, queue_state, silent_for, word
):
    found = jobs.Listed(state, queue_state) if state else None
    assert status.judge(code, found, silent_for=silent_for, names=SITE)[0] == word


def test_silence_is_counted_by_a_clock_that_nobody_sets(status, tmp_path, monkeypatch):
    mark, clock = tmp_path / "12.silent", [1000.0]
    monkeypatch.setattr(status.time, "monotonic", lambda: clock[0])
    assert status.silence(mark, is_well=False) == 0
    clock[0] += 59
    assert status.silence(mark, is_well=False) == 59
    clock[0] = 5.0  # the machine was started again
    assert status.silence(mark, is_well=False) == 0
    assert status.silence(mark, is_well=True) == 0
    assert not mark.exists()


def test_an_answer_of_qstat_from_the_future_is_not_used_again(jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs.FOLDER.mkdir(parents=True)
    (tmp_path / "qstat").write_text("#!/bin/sh\necho '<job_info></job_info>'\n")
    (tmp_path / "qstat").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (jobs.FOLDER / "qstat.xml").write_text("old")
    assert jobs.qstat() == "old"
    os.utime(jobs.FOLDER / "qstat.xml", (time.time() + 3600,) * 2)
    assert jobs.qstat() == "<job_info></job_info>\n"


def test_memory_is_divided_among_the_slots_and_rounded_up(submit):
    properties = {"rule": "train", "threads": 8, "resources": {"mem_mb": 16_001, "runtime": 60}}
    assert submit.qsub_options(properties, SITE) == ["-pe", "smp", "8", "-l", "h_rt=3600,h_vmem=2001M"]


def test_several_processes_may_be_on_several_hosts(submit):
    properties = {"rule": "train", "threads": 8, "resources": {"mpi": "mpirun", "tasks": 2}}
    assert submit.qsub_options(properties, SITE) == ["-pe", "mpi", "8"]
    assert submit.qsub_options({**properties, "threads": 1}, SITE) == ["-pe", "mpi", "2"]
    older = {name: value for name, value in SITE.items() if name != "mpi_environment"}
    assert submit.qsub_options(properties, older) == ["-pe", "smp", "8"]
    assert submit.qsub_options({**properties, "resources": {"mpi": "", "tasks": 1}}, SITE) == ["-pe", "smp", "8"]


def test_a_job_with_one_thread_asks_for_no_slots(submit):
    properties = {"rule": "noise_table", "threads": 1, "resources": {"mem_mb": 1000, "runtime": 10}}
    assert submit.qsub_options(properties, SITE) == ["-l", "h_rt=600,h_vmem=1000M"]


def test_gpus_are_divided_among_the_slots_only_where_the_cluster_counts_them_so(submit):
    properties = {"rule": "train", "threads": 4, "resources": {"gpu": 4}}
    assert submit.qsub_options(properties, SITE)[-1] == "gpu=4"
    assert submit.qsub_options(properties, {**SITE, "gpu_per": "slot"})[-1] == "gpu=1"
    with pytest.raises(ValueError, match="1 GPUs do not divide among 4 slots"):
        submit.qsub_options({**properties, "resources": {"gpu": 1}}, {**SITE, "gpu_per": "slot"})


def test_further_options_come_from_the_top_of_the_profile(submit):
    site = {**SITE, "memory": "", "options": ["-P", "zoo", "-q", "long.q"]}
    assert submit.qsub_options({"threads": 1, "resources": {"mem_mb": 1}}, site) == ["-P", "zoo", "-q", "long.q"]


def test_a_job_inherits_the_way_to_programs_and_no_secrets(submit, jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs.FOLDER.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"/usr/bin:/bin:{tmp_path}/it's $HOME")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    monkeypatch.setenv("HF_TOKEN", "secret")
    script = submit.wrapped('echo "$PATH|$TF_CPP_MIN_LOG_LEVEL|${HF_TOKEN-none}"', "abc")
    assert "secret" not in script
    run = subprocess.run(["/bin/bash"], input=script, text=True, capture_output=True, env={})
    assert run.stdout == f"/usr/bin:/bin:{tmp_path}/it's $HOME|2|none\n"


def test_the_scheduler_s_log_lies_beside_the_rule_s_own(submit):
    properties = {"rule": "train", "log": ["results/runs/ga/pong/large/1/train.log"]}
    assert submit.log_of(properties) == "results/runs/ga/pong/large/1/train.sge-$JOB_ID.log"
    properties = {"groupid": "tables", "output": ["results/tables/scores.csv"]}
    assert submit.log_of(properties) == "results/tables/tables.sge-$JOB_ID.log"


@pytest.mark.parametrize(("code", "seen"), [(0, 0), (1, 1), (7, 7), (99, 1), (100, 1)])
def test_exit_codes_that_mean_something_to_grid_engine_become_1_outside_and_stay_on_record(
    submit, jobs, tmp_path, monkeypatch, code, seen
):
    monkeypatch.chdir(tmp_path)
    jobs.FOLDER.mkdir(parents=True)
    run = subprocess.run(["bash"], input=submit.wrapped(f"exit {code}", "abc"), text=True)
    assert run.returncode == seen
    assert jobs.exit_code("abc") == code


def test_the_warning_signal_passes_by_the_shell_around_the_program(submit, jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs.FOLDER.mkdir(parents=True)
    script = submit.wrapped("kill -USR1 $$; kill -USR2 $$; kill -XCPU $$; exit 3", "abc")
    run = subprocess.run(["bash"], input=script, text=True)
    assert run.returncode == 3


def test_a_program_that_asks_for_it_is_started_again_and_leaves_no_note(submit, jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs.FOLDER.mkdir(parents=True)
    script = submit.wrapped('[ -e second ] && exit 0; touch second; echo again > "$NEUROZOO_AGAIN"; exit 1', "abc")
    assert subprocess.run(["bash"], input=script, text=True).returncode == 99
    assert jobs.exit_code("abc") is None
    assert subprocess.run(["bash"], input=script, text=True).returncode == 0
    assert jobs.exit_code("abc") == 0


def run_alone(script):
    """Runs a script in a session of its own, as Grid Engine does; the limit ends what hangs."""
    return subprocess.run(["bash", "-c", script], text=True, capture_output=True, start_new_session=True, timeout=600)


def test_a_job_is_warned_before_its_time_is_up_and_nothing_is_left_of_the_clock(submit, jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs.FOLDER.mkdir(parents=True)
    (tmp_path / "program.py").write_text(WARNED)
    for seconds in (1, 4, 16, 64):  # a busy machine may need longer to start the program
        script = submit.wrapped(f"{sys.executable} program.py {time.time() + seconds}", "abc", warn_after=seconds)
        run = run_alone(script)
        if run.stdout != "late\n":
            break
    assert (run.returncode, run.stdout) == (0, "warned\n")
    script = submit.wrapped("exit 0", "abc", warn_after=5000)
    run = run_alone(script)
    assert (run.returncode, run.stdout) == (0, "")  # with the output closed, which the clock would have kept open


def test_ctrl_c_during_a_submission_leaves_no_job_in_the_queue(tmp_path, wait_until):
    commands = {"qsub": "touch begun; read end < may_end; echo 77", "qdel": 'echo "$@" > deleted', "qstat": "exit 1"}
    for name, words in commands.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{words}\n")
        (tmp_path / name).chmod(0o755)
    os.mkfifo(tmp_path / "may_end")
    (tmp_path / "job.sh").write_text('# properties = {"rule": "train", "output": ["x/y"], "jobid": 1, "threads": 1}\n')
    process = subprocess.Popen(
        [sys.executable, PROFILE / "submit.py", "job.sh"],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    wait_until((tmp_path / "begun").exists)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    assert process.wait() == -signal.SIGINT
    (tmp_path / "may_end").write_text("\n")
    wait_until(lambda: (tmp_path / "deleted").exists() and (tmp_path / "deleted").read_text() == "77\n")
    assert process.stdout.read() == b""
