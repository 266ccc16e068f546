"""Reads files that a real Snakemake has written."""

import json
import os
import subprocess
import sys
import time

import pytest
from neurozoo.plan.snakemake_records import record_path
from neurozoo.status.workflow_files import WorkflowFiles

GOOD, BAD = (f"results/runs/ga/pong/small/{run}/checkpoint.npz" for run in (1, 2))
SNAKEFILE = """
rule train:
    output: "{folder}/runs/ga/pong/small/{run}/checkpoint.npz", "{folder}/runs/ga/pong/small/{run}/genome.json"
    log: "{folder}/runs/ga/pong/small/{run}/train.log"
    shell: "test {wildcards.run} != 2 && touch {output}"
"""


@pytest.fixture
def start(tmp_path, snakemake_environment):
    """A function that starts Snakemake: `start(*arguments)`."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)

    def run(*arguments):
        command = [sys.executable, "-m", "snakemake", *arguments]
        path = f"{tmp_path}:{snakemake_environment.get('PATH', os.environ['PATH'])}"
        environment = {**snakemake_environment, "HOME": str(tmp_path), "PATH": path}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(command, cwd=tmp_path, env=environment, text=True, **streams)

    return run


@pytest.fixture
def workflow(tmp_path):
    """Reads the files anew for each question."""

    class Anew:
        def __getattr__(self, name):
            return getattr(WorkflowFiles(tmp_path, rule="train"), name)

    return Anew()


def test_where_no_snakemake_has_been_nothing_is_known(workflow):
    assert (workflow.under_way(GOOD), workflow.submitted(GOOD), workflow.failed(GOOD)) == (None, None, None)
    assert list(workflow.logs(("ga", "pong", "small", "1"))) == []


def test_a_failed_job_is_told_from_one_that_went_well(start, workflow):
    before = time.time()
    process = start("--executor", "local", "--cores", "1", "--keep-going", GOOD, BAD)
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 1, said
    assert workflow.failed(GOOD) is None
    failed = workflow.failed(BAD)
    assert before - 1 <= failed.time <= time.time() + 1
    assert failed.number is None
    assert workflow.under_way(GOOD) is None
    assert workflow.under_way(BAD) is None


LONG = "".join(map(str, range(80)))  # Snakemake splits names of markers that are too long


@pytest.mark.parametrize("folder", ["results", LONG])
def test_a_submitted_job_is_found_by_the_mark_of_its_output_even_after_snakemake_was_killed(
    tmp_path, start, workflow, wait_until, folder
):
    (tmp_path / "qsub").write_text("#!/bin/sh\necho 4711\n")
    (tmp_path / "qsub").chmod(0o755)
    output = GOOD.replace("results", folder)
    before = time.time()
    process = start("--executor", "grid-engine", "--jobs", "1", output)
    wait_until(lambda: (job := workflow.under_way(output)) and job.number, what="no mark")
    process.kill()
    process.communicate()
    job = workflow.under_way(output)
    assert job is not None
    assert job.number == "4711.1"  # of an array job
    assert before - 1 <= job.time <= time.time() + 1
    assert workflow.under_way(BAD) is None


def record(folder, number, **facts):
    (folder / ".snakemake" / "sge").mkdir(parents=True, exist_ok=True)
    facts = {"token": f"t{number}", "time": float(number), "log": "x.log", "output": [GOOD]} | facts
    (folder / ".snakemake" / "sge" / f"{number}.json").write_text(json.dumps(facts))


def test_the_newest_job_of_grid_engine_counts_unless_it_has_ended(tmp_path, workflow):
    record(tmp_path, 9)
    record(tmp_path, 10)
    record(tmp_path, 11, output=[BAD])
    assert (workflow.submitted(GOOD).number, workflow.submitted(GOOD).time) == ("10", 10.0)
    (tmp_path / ".snakemake" / "sge" / "t10.exit").write_text("0\n")
    assert workflow.submitted(GOOD) is None
    assert workflow.submitted(BAD).number == "11"


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"time": 1}', '{"time": "now", "token": "t", "output": []}', "\xff"])
def test_damaged_records_count_as_missing(tmp_path, workflow, text):
    record(tmp_path, 9)
    (tmp_path / ".snakemake" / "sge" / "12.json").write_bytes(text.encode("latin-1"))
    assert workflow.submitted(GOOD).number == "9"
    marker = record_path(tmp_path / ".snakemake" / "incomplete", GOOD)
    marker.parent.mkdir(parents=True)
    marker.write_bytes(text.encode("latin-1"))
    assert workflow.under_way(GOOD) is None


def test_only_the_last_snakemake_is_believed(tmp_path, workflow):
    logs = tmp_path / ".snakemake" / "log"
    logs.mkdir(parents=True)
    error = f"[Sat Nov  1 14:00:00 2025]\nError in rule train:\n    jobid: 1\n    output: {BAD}, other\n"
    (logs / "1.snakemake.log").write_text(error + "    external_jobid: 12\n\nShutting down\n")
    os.utime(logs / "1.snakemake.log", (1, 1))
    assert workflow.failed(BAD).number == "12"
    assert workflow.failed("other").number == "12"
    (logs / "2.snakemake.log").write_text("Building DAG of jobs...\n" + error.replace("rule train", "rule rollout"))
    assert workflow.failed(BAD) is None


def test_thousands_of_jobs_are_read_once_for_all_runs(tmp_path, monkeypatch):
    for number in range(1, 40):
        record(tmp_path, number, output=[f"{number}.npz"])
    files = WorkflowFiles(tmp_path, rule="train")
    scans, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: scans.append(path) or scandir(path))
    assert [files.submitted(f"{number}.npz").number for number in range(1, 40)] == [str(n) for n in range(1, 40)]
    assert len(scans) == 1


@pytest.mark.parametrize("folder", [".snakemake/slurm_logs", "results/logs/slurm"])
def test_logs_of_slurm_are_found_by_rule_and_wildcards(tmp_path, workflow, folder):
    log = tmp_path / folder / "rule_train" / "ga_pong_small_1" / "77.log"
    log.parent.mkdir(parents=True)
    log.touch()
    assert list(workflow.logs(("ga", "pong", "small", "1"))) == [log]
    assert list(workflow.logs(("ga", "pong", "small", "2"))) == []
