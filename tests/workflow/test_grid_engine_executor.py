import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from snakemake_executor_plugin_grid_engine import ExecutorSettings, commands, judge
from snakemake_executor_plugin_grid_engine.commands import GridEngineError, Listed
from snakemake_executor_plugin_grid_engine.records import FOLDER, Record, newest_job
from snakemake_executor_plugin_grid_engine.submission import Job, Submission, submissions
from snakemake_interface_common.exceptions import WorkflowError

SITE = ExecutorSettings()

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
      <job_list state="running"><JB_job_number>13</JB_job_number><state>dr</state><tasks>2</tasks></job_list>
    </Queue-List>
  </queue_info>
  <job_info>
    <job_list state="pending"><JB_job_number>123</JB_job_number><state>qw</state></job_list>
    <job_list state="pending"><JB_job_number>124</JB_job_number><state>Eqw</state></job_list>
    <job_list state="pending"><JB_job_number>13</JB_job_number><state>qw</state><tasks>3-5:2,7,8</tasks></job_list>
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
def workdir(tmp_path, monkeypatch) -> Path:
    """A working directory in which jobs have been submitted."""
    monkeypatch.chdir(tmp_path)
    FOLDER.mkdir(parents=True)
    return tmp_path


def job(command="", **properties):
    return Job({"rule": "train", "output": ["x/y"]} | properties, command)


def run_of(number, *, game="pong", rule="train", **properties):
    """A job of one run of an experiment, as Snakemake describes it."""
    folder = f"results/runs/ga/{game}/large/{number}"
    return job(
        rule=rule,
        wildcards={"algo": "ga", "game": game, "model": "large", "run": str(number)},
        log=[f"{folder}/{rule}.log"],
        output=[f"{folder}/checkpoint.npz"],
        **properties,
    )


def execute(script, *, task="undefined", **options):
    """Runs a job script in a session of its own, as Grid Engine does; the limit ends what hangs."""
    return subprocess.run(
        ["env", f"SGE_TASK_ID={task}", "bash", "-c", script],
        text=True,
        capture_output=True,
        start_new_session=True,
        timeout=600,
        **options,
    )


def test_jobs_and_tasks_are_listed_with_their_states_and_those_of_their_queues():
    assert commands.listed(QSTAT_XML) == {
        "12": Listed("r"),
        "13.2": Listed("dr", "au"),
        "123": Listed("qw"),
        "124": Listed("Eqw"),
        **{f"13.{task}": Listed("qw") for task in (3, 5, 7, 8)},
    }


@pytest.mark.parametrize(
    ("code", "state", "queue_state", "silent_for", "fate"),
    [
        (0, None, "", 0, "success"),
        (0, "r", "", 0, "success"),
        (1, None, "", 0, "failed"),
        (None, "qw", "", 0, "running"),
        (None, "hqw", "", 9999, "running"),
        (None, "r", "", 0, "running"),
        (None, "Rr", "", 0, "running"),
        (None, "T", "", 0, "running"),
        (None, "dr", "", 0, "running"),
        (None, "Eqw", "", 0, "failed"),
        (None, "r", "au", SITE.patience - 1, "running"),  # the daemon may only be starting anew
        (None, "r", "au", SITE.patience, "failed"),
        (None, "r", "a", 9999, "running"),  # overloaded
        (None, None, "", SITE.grace - 1, "running"),  # not listed yet, or no longer
        (None, None, "", SITE.grace, "failed"),
    ],
)
def test_a_job_is_judged_by_its_note_then_by_its_state_then_by_its_silence(code, state, queue_state, silent_for, fate):
    found = Listed(state, queue_state) if state else None
    reason = judge(code, found, silent_for=silent_for, settings=SITE)
    assert {None: "running", "": "success"}.get(reason, "failed") == fate


@pytest.mark.parametrize("answer", ["exit 1", "echo '<job_info>'", "kill -INT $$"])
def test_a_master_that_does_not_answer_lists_nothing_for_sure(tmp_path, monkeypatch, answer):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert commands.qstat() is None  # there is no qstat
    (tmp_path / "qstat").write_text(f"#!/bin/sh\n{answer}\n")
    (tmp_path / "qstat").chmod(0o755)
    assert commands.qstat() is None
    (tmp_path / "qstat").write_text("#!/bin/sh\necho '<job_info></job_info>'\n")
    assert commands.qstat() == {}


def test_memory_is_divided_among_the_slots_and_rounded_up():
    options = job(threads=8, resources={"mem_mb": 16_001, "runtime": 60}).options(SITE)
    assert options == ("-pe", "smp", "8", "-l", "h_rt=3600,h_vmem=2001M")


def test_several_processes_may_be_on_several_hosts():
    resources = {"mpi": "mpirun", "tasks": 2}
    assert job(threads=8, resources=resources).options(SITE) == ("-pe", "mpi", "8")
    assert job(threads=1, resources=resources).options(SITE) == ("-pe", "mpi", "2")
    assert job(threads=8, resources={"mpi": "", "tasks": 1}).options(SITE) == ("-pe", "smp", "8")


def test_a_job_with_one_thread_asks_for_no_slots():
    options = job(threads=1, resources={"mem_mb": 1000, "runtime": 10}).options(SITE)
    assert options == ("-l", "h_rt=600,h_vmem=1000M")


def test_gpus_are_divided_among_the_slots_only_where_the_cluster_counts_them_so():
    per_slot = replace(SITE, gpu_per="slot")
    assert job(threads=4, resources={"gpu": 4}).options(SITE)[-1] == "gpu=4"
    assert job(threads=4, resources={"gpu": 4}).options(per_slot)[-1] == "gpu=1"
    with pytest.raises(GridEngineError, match="1 GPUs do not divide among 4 slots"):
        job(threads=4, resources={"gpu": 1}).options(per_slot)
    with pytest.raises(WorkflowError, match="grid-engine-gpu-per is 'node', but a resource counts per slot or per job"):
        replace(SITE, gpu_per="node")


def test_further_options_come_from_the_profile():
    site = replace(SITE, memory="none", options="-P zoo -q 'long q'")
    assert job(threads=1, resources={"mem_mb": 1}).options(site) == ("-P", "zoo", "-q", "long q")


def test_runs_of_one_experiment_are_consecutive_tasks_of_array_jobs_with_the_numbers_of_the_runs():
    runs = [run_of(number) for number in (3, 1, 2, 7)]
    other = [run_of(1, game="venture"), run_of(2, threads=2), run_of(1, rule="freeze")]
    table = job(rule="merge_metrics", output=["results/tables/metrics.csv"], wildcards={})
    group = job(rule=None, groupid="tables")
    made = submissions([*runs, *other, table, group], SITE)
    expected = [[runs[1], runs[2], runs[0]], [runs[3]], *([one] for one in (*other, table, group))]
    assert sorted(one.jobs[0].name + str(len(one.jobs)) for one in made) == sorted(
        one[0].name + str(len(one)) for one in expected
    )
    (array,) = [one for one in made if runs[0] in one.jobs]
    assert array.jobs == [runs[1], runs[2], runs[0]]
    words = array.command(SITE)
    assert words[words.index("-t") + 1] == "1-3"
    assert words[words.index("-N") + 1] == "train.ga.pong.large"
    assert words[words.index("-o") + 1] == "results/runs/ga/pong/large/$TASK_ID/train.sge-$JOB_ID.log"
    (plain,) = [one for one in made if table in one.jobs]
    assert "-t" not in plain.command(SITE)


@pytest.mark.parametrize("run", ["best", "0", "01", "pong"])
def test_what_is_no_number_of_a_run_is_no_task(run):
    assert job(wildcards={"run": run}, log=[f"results/{run}/train.log"]).run is None


def test_a_number_that_names_two_folders_is_no_task():
    assert job(wildcards={"run": "2"}, log=["results/2/runs/2/train.log"]).run is None


def test_each_task_executes_its_own_command_and_has_a_note_of_its_own(workdir):
    tasks = [replace(run_of(3), command="echo three; exit 3"), replace(run_of(4), command="echo four")]
    script = Submission(tasks, is_array=True).script("abc", warning=0)
    assert [execute(script, task=task).stdout for task in (3, 4)] == ["three\n", "four\n"]
    assert [record(token=f"abc-{task}").exit_code for task in (3, 4)] == [3, 0]


def record(**facts):
    usual = {"job": "7", "token": "abc-undefined", "time": 1.0, "name": "train", "log": "x.log", "output": ["x/y"]}
    return Record(**usual | {"recipe": "0", "folder": os.getcwd()} | facts)


def test_the_newest_job_that_was_submitted_for_some_files_is_found(workdir):
    assert newest_job(["x/y"]) is None
    first, second = record(), record(job="8.2", output=["x/y"])
    first.save()
    record(job="9", output=["x/z"]).save()
    assert newest_job(["x/y"]) == first
    second.save()
    assert newest_job(["x/y"]) == second
    (FOLDER / "8.2.json").write_text("{")
    assert newest_job(["x/y"]) is None


def test_a_copied_folder_has_no_jobs(workdir, tmp_path_factory, monkeypatch):
    record().save()
    copy = tmp_path_factory.mktemp("copies") / "copy"
    shutil.copytree(workdir, copy)
    assert newest_job(["x/y"]) is not None
    monkeypatch.chdir(copy)
    assert newest_job(["x/y"]) is None


def test_a_job_inherits_the_way_to_programs_and_no_secrets(workdir, monkeypatch):
    monkeypatch.setenv("PATH", f"/usr/bin:/bin:{workdir}/it's $HOME")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    monkeypatch.setenv("HF_TOKEN", "secret")
    command = 'echo "$PATH|$TF_CPP_MIN_LOG_LEVEL|${HF_TOKEN-none}"'
    script = Submission([job(command)]).script("abc", warning=0)
    assert "secret" not in script
    monkeypatch.delenv("HF_TOKEN")
    assert execute(script).stdout == f"/usr/bin:/bin:{workdir}/it's $HOME|2|none\n"


def test_the_scheduler_s_log_lies_beside_the_rule_s_own():
    assert run_of(1).log == "results/runs/ga/pong/large/1/train.sge-$JOB_ID.log"
    assert job(rule=None, groupid="tables", output=["results/tables/scores.csv"]).log == (
        "results/tables/tables.sge-$JOB_ID.log"
    )


@pytest.mark.parametrize(("code", "seen"), [(0, 0), (1, 1), (7, 7), (99, 1), (100, 1)])
def test_exit_codes_that_mean_something_to_grid_engine_become_1_outside_and_stay_on_record(workdir, code, seen):
    run = execute(Submission([job(f"exit {code}")]).script("abc", warning=0))
    assert run.returncode == seen
    assert record().exit_code == code


def test_the_warning_signal_passes_by_the_shell_around_the_program(workdir):
    command = "kill -USR1 $$; kill -USR2 $$; kill -XCPU $$; exit 3"
    assert execute(Submission([job(command)]).script("abc", warning=0)).returncode == 3


def test_a_program_that_asks_for_it_is_started_again_and_leaves_no_note(workdir):
    command = '[ -e second ] && exit 0; touch second; echo again > "$NEUROZOO_AGAIN"; exit 1'
    script = Submission([job(command)]).script("abc", warning=0)
    assert execute(script).returncode == 99
    assert record().exit_code is None
    assert execute(script).returncode == 0
    assert record().exit_code == 0


def test_a_job_is_warned_before_its_time_is_up_and_nothing_is_left_of_the_clock(workdir):
    (workdir / "program.py").write_text(WARNED)
    for seconds in (2, 4, 16, 64):  # a busy machine may need longer to start the program
        command = f"{sys.executable} program.py {time.time() + seconds}"
        limited = job(command, resources={"runtime": (seconds + 1.5) / 60})
        run = execute(Submission([limited]).script("abc", warning=1))
        if run.stdout != "late\n":
            break
    assert (run.returncode, run.stdout) == (0, "warned\n")
    script = Submission([job("exit 0", resources={"runtime": 100})]).script("abc", warning=1)
    assert "read -rt 5999" in script
    run = execute(script)
    assert (run.returncode, run.stdout) == (0, "")  # with the output closed, which the clock would have kept open


SNAKEFILE = """
rule train:
    output: "{name}.txt"
    shell: "touch {output}"
"""


def test_ctrl_c_during_a_submission_leaves_no_job_in_the_queue(tmp_path, snakemake_environment, wait_until):
    programs = {"qsub": "echo >> begun; read end < may_end; echo 77", "qdel": 'echo "$@" > part; mv part deleted'}
    for name, words in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{words}\n")
        (tmp_path / name).chmod(0o755)
    os.mkfifo(tmp_path / "may_end")
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--executor", "grid-engine", "--jobs", "2", "a.txt", "b.txt"],
        cwd=tmp_path,
        env={**snakemake_environment, "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until((tmp_path / "begun").exists)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    (tmp_path / "may_end").write_text("\n")
    wait_until((tmp_path / "deleted").exists)
    assert (tmp_path / "deleted").read_text() == "77\n"
    assert process.wait() != 0
    assert (tmp_path / "begun").read_text() == "\n"  # the second job was not submitted


@pytest.mark.parametrize("answer", ["Unable to run job: no suitable queues.", "error: commlib error: got select error"])
def test_what_grid_engine_says_is_in_the_error(tmp_path, monkeypatch, answer):
    (tmp_path / "qsub").write_text(f"#!/bin/sh\necho '{answer}'; exit 1\n")
    (tmp_path / "qsub").chmod(0o755)
    monkeypatch.setattr(commands, "_PAUSE", 0)
    with pytest.raises(GridEngineError, match=f"Grid Engine refused the job: {answer}"):
        commands.qsub([str(tmp_path / "qsub")], "script", patience=-1, is_cancelled=Event(), notify=print)


def test_a_master_that_is_restarted_is_waited_for(tmp_path, monkeypatch):
    (tmp_path / "qsub").write_text(
        "#!/bin/sh\n[ -e came ] && echo 7 && exit\ntouch came; echo 'unable to contact qmaster'; exit 1\n"
    )
    (tmp_path / "qsub").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(commands, "_PAUSE", 0)
    said = []
    assert (
        commands.qsub([str(tmp_path / "qsub")], "script", patience=60, is_cancelled=Event(), notify=said.append) == "7"
    )
    assert said == ["Grid Engine does not answer; trying again: unable to contact qmaster"]


def test_a_master_is_not_waited_for_when_snakemake_is_stopped(tmp_path):
    (tmp_path / "qsub").write_text("#!/bin/sh\necho 'unable to contact qmaster'; exit 1\n")
    (tmp_path / "qsub").chmod(0o755)
    is_cancelled = Event()
    with pytest.raises(GridEngineError, match="unable to contact qmaster"):
        commands.qsub(
            [str(tmp_path / "qsub")],
            "script",
            patience=3600,
            is_cancelled=is_cancelled,
            notify=lambda _: is_cancelled.set(),
        )
