import importlib
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).parents[2]
PROFILE = PROJECT / "profiles" / "sge"
SITE = tomllib.loads((PROFILE / "site.toml").read_text())

QSTAT_XML = """<?xml version='1.0'?>
<job_info>
  <queue_info>
    <job_list state="running"><JB_job_number>12</JB_job_number><state>r</state></job_list>
  </queue_info>
  <job_info>
    <job_list state="pending"><JB_job_number>123</JB_job_number><state>qw</state></job_list>
    <job_list state="pending"><JB_job_number>124</JB_job_number><state>Eqw</state></job_list>
  </job_info>
</job_info>
"""

WORKFLOW = """
rule all:
    input: "good.txt", "long.txt"
rule good:
    output: "good.txt"
    threads: 2
    resources: mem_mb=3001, runtime="20m"
    shell: "echo made > {output}"
rule long:
    output: "long.txt"
    shell: "sleep 2; echo made > {output}"
rule bad:
    output: "bad.txt"
    shell: "echo half > {output}; exit 99"
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


def test_a_state_is_that_of_the_job_with_exactly_this_number(jobs):
    assert jobs.state_in(QSTAT_XML, "12") == "r"
    assert jobs.state_in(QSTAT_XML, "123") == "qw"
    assert jobs.state_in(QSTAT_XML, "124") == "Eqw"
    assert jobs.state_in(QSTAT_XML, "2") is None


@pytest.mark.parametrize(
    ("code", "state", "silent_for", "word"),
    [
        (0, None, 0, "success"),
        (1, None, 0, "failed"),
        (0, "r", 0, "success"),  # the note decides; qstat may be some seconds old
        (None, "qw", 0, "running"),
        (None, "hqw", 9999, "running"),
        (None, "r", 0, "running"),
        (None, "Rr", 0, "running"),
        (None, "T", 0, "running"),
        (None, "dr", 0, "running"),
        (None, "Eqw", 0, "failed"),
        (None, None, 5, "running"),  # not listed yet, or no longer
        (None, None, 61, "failed"),
    ],
)
def test_a_job_is_judged_by_its_note_then_by_its_state_then_by_its_silence(status, code, state, silent_for, word):
    assert status.judge(code, state, silent_for=silent_for)[0] == word


def test_a_failure_comes_with_its_reason(status):
    assert "error state Eqw" in status.judge(None, "Eqw", silent_for=0)[1]
    assert "left the queue without an exit code" in status.judge(None, None, silent_for=100)[1]


def test_memory_is_divided_among_the_slots_and_rounded_up(submit):
    properties = {"rule": "train", "threads": 8, "resources": {"mem_mb": 16_001, "runtime": 60}}
    assert submit.qsub_options(properties, SITE) == ["-pe", "smp", "8", "-l", "h_rt=3600,s_rt=3300,h_vmem=2001M"]


def test_a_short_job_with_one_thread_asks_for_no_slots_and_gets_no_warning(submit):
    properties = {"rule": "noise_table", "threads": 1, "resources": {"mem_mb": 1000, "runtime": 10}}
    assert submit.qsub_options(properties, SITE) == ["-l", "h_rt=600,h_vmem=1000M"]


def test_gpus_are_divided_among_the_slots_only_where_the_cluster_counts_them_so(submit):
    properties = {"rule": "train", "threads": 4, "resources": {"gpu": 4}}
    assert submit.qsub_options(properties, SITE)[-1] == "gpu=4"
    assert submit.qsub_options(properties, {**SITE, "gpu_per_slot": True})[-1] == "gpu=1"
    with pytest.raises(ValueError, match="1 GPUs do not divide among 4 slots"):
        submit.qsub_options({**properties, "resources": {"gpu": 1}}, {**SITE, "gpu_per_slot": True})


def test_a_queue_and_further_options_come_from_the_site(submit):
    site = {**SITE, "memory": "", "queue": "long.q", "options": ["-P", "zoo"]}
    assert submit.qsub_options({"threads": 1, "resources": {"mem_mb": 1}}, site) == ["-q", "long.q", "-P", "zoo"]


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
    run = subprocess.run(["bash"], input=submit.wrapped("kill -USR1 $$; kill -USR2 $$; exit 3", "abc"), text=True)
    assert run.returncode == 3


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(snakemake_command(*arguments), cwd=folder, capture_output=True, text=True, timeout=120)


def snakemake_command(*arguments: str) -> list[str]:
    quick = ["--latency-wait", "2", "--seconds-between-status-checks", "1", "--retries", "0"]
    return [sys.executable, "-m", "snakemake", *arguments, "--profile", str(PROFILE), *quick]


def test_jobs_go_through_the_queue_and_come_back(grid_engine, tmp_path):
    (tmp_path / "Snakefile").write_text(WORKFLOW)
    run = snakemake(tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert (tmp_path / "good.txt").read_text() == (tmp_path / "long.txt").read_text() == "made\n"
    options = [(grid_engine / f"{job}.options").read_text() for job in (101, 102)]
    good = next(line for line in options if "-N good" in line)
    assert "-pe smp 2 -l h_rt=1200,s_rt=900,h_vmem=1501M" in good
    assert "-w e" in good
    assert "-r n" in good


def test_a_job_that_exits_with_99_has_failed_and_leaves_no_half_output(grid_engine, tmp_path):
    (tmp_path / "Snakefile").write_text(WORKFLOW)
    run = snakemake(tmp_path, "bad.txt")
    assert run.returncode != 0
    assert "ended with exit code 1" in run.stderr
    assert not (tmp_path / "bad.txt").exists()


def test_a_job_that_outlived_its_snakemake_is_taken_over_instead_of_submitted_twice(grid_engine, tmp_path):
    (tmp_path / "Snakefile").write_text(WORKFLOW.replace("sleep 2", "sleep 12"))
    first = subprocess.Popen(
        snakemake_command("long.txt"), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_until(lambda: list((tmp_path / ".snakemake" / "sge").glob("*.claim")))
    first.kill()
    first.wait()
    snakemake(tmp_path, "--unlock", "long.txt")
    run = snakemake(tmp_path, "long.txt")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "101" in (grid_engine / "last").read_text(), "a second job was submitted"
    assert (tmp_path / "long.txt").read_text() == "made\n"


def wait_until(happened, seconds: float = 60) -> None:
    for _ in range(int(seconds * 10)):
        if happened():
            return
        time.sleep(0.1)
    raise AssertionError(f"nothing happened within {seconds} s")
