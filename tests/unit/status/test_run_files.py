import json
import os
import socket

import pytest
from neurozoo.plan.planned_runs import PlannedRun
from neurozoo.status.run_files import last_lines, read_run_files
from neurozoo.status.workflow_files import WorkflowFiles
from neurozoo.training.heartbeat import Heartbeat

RUN = PlannedRun("ga", "pong", "small", 1)


@pytest.fixture
def run_dir(tmp_path):
    folder = tmp_path / "results" / "runs" / "ga" / "pong" / "small" / "1"
    (folder / "state").mkdir(parents=True)
    return folder


def look(folder):
    return read_run_files(RUN, results="results", workdir=folder, workflow=WorkflowFiles(folder, rule="train"))


def log(run_dir, *records, end=""):
    text = "".join(json.dumps(record) + "\n" for record in records) + end
    (run_dir / "state" / "log.jsonl").write_text(text)


def report(iteration, **more):
    record = {"frames": 100 * iteration, "score": 1.5, "test_score": None, "TimeElapsedTotal": 2.0}
    return {"Iteration": iteration} | record | more


def read(iteration):
    """What status keeps of `report(iteration)`."""
    record = report(iteration)
    return {"unit": "frames", "progress": record.pop("frames")} | record


def test_a_folder_that_is_not_there_is_no_evidence(tmp_path):
    evidence = look(tmp_path)
    assert (evidence.has_results, evidence.record, evidence.heartbeat, evidence.log) == (False, None, None, None)


def test_results_count_only_together(tmp_path, run_dir):
    for name in ("config.yaml", "checkpoint.npz", "log.jsonl"):
        assert not look(tmp_path).has_results
        (run_dir / name).touch()
    assert look(tmp_path).has_results


def test_the_last_whole_report_counts(tmp_path, run_dir):
    log(run_dir, report(1), report(2), end='{"Iteration": 3, "fra')
    assert look(tmp_path).record == read(2)
    log(run_dir, end='{"Iteration": 3, "fra')
    assert look(tmp_path).record is None


@pytest.mark.parametrize("length", [10, 65_000, 65_530, 200_000])
def test_reports_may_be_longer_than_what_is_read_at_once(tmp_path, run_dir, length):
    log(run_dir, report(1, genome="x" * length), report(2, genome="y" * length))
    assert look(tmp_path).record == read(2)
    log(run_dir, report(1, genome="x" * length))
    assert look(tmp_path).record == read(1)


def test_the_last_test_counts_where_not_every_report_has_one(tmp_path, run_dir):
    log(run_dir, report(1, test_score=3.0), report(2, test_score=5.0), *(report(each) for each in range(3, 7)))
    assert look(tmp_path).record == read(6) | {"test_score": 5.0}


def test_the_process_of_this_host_is_looked_at(tmp_path, run_dir):
    with Heartbeat(run_dir / "state") as own:
        own.continue_from(5)
        assert look(tmp_path).heartbeat.is_alive is True
        heartbeat = json.loads((run_dir / "state" / "process.json").read_text())
        for changes, is_alive in [
            ({"process_started": "1"}, False),  # another process has got the number since
            ({"process": 2**22 + 1}, False),
            ({"host": "not-" + socket.gethostname()}, None),
            ({"process_started": None}, None),  # where there is no /proc
        ]:
            (run_dir / "state" / "process.json").write_text(json.dumps(heartbeat | changes))
            assert look(tmp_path).heartbeat.is_alive is is_alive, changes


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"process": "x", "host": "a"}'])
def test_a_damaged_sign_counts_as_missing(tmp_path, run_dir, text):
    (run_dir / "state" / "process.json").write_text(text)
    assert look(tmp_path).heartbeat is None


def test_the_sentence_at_the_end_of_the_log_is_the_complaint(tmp_path, run_dir):
    (run_dir / "train.log").write_text("begin\nneurozoo: old\nmore\nneurozoo: config has 2 problems:\n  one\n  two\n")
    assert look(tmp_path).complaint[1] == "config has 2 problems:\n  one\n  two"
    (run_dir / "train.log").write_text("neurozoo: old\n" + "a line of a run that goes on\n" * 30)
    assert look(tmp_path).complaint is None


def test_the_log_with_the_complaint_is_shown_or_else_the_newest(tmp_path, run_dir):
    (run_dir / "state" / "train.log").write_text("kept\n")
    assert look(tmp_path).log == run_dir / "state" / "train.log"
    (run_dir / "train.log").write_text("training\n")
    (run_dir / "train.sge-12.log").write_text("Killed\n")
    os.utime(run_dir / "train.log", (100, 100))
    assert look(tmp_path).log == run_dir / "train.sge-12.log"
    (run_dir / "train.log").write_text("neurozoo: no\n")
    os.utime(run_dir / "train.log", (100, 100))
    assert look(tmp_path).log == run_dir / "train.log"


def test_of_a_long_log_only_the_end_is_read(tmp_path):
    (tmp_path / "long.log").write_text("".join(f"{number}\n" for number in range(100_000)))
    assert last_lines(tmp_path / "long.log", 2) == ["99998", "99999"]
    assert last_lines(tmp_path / "missing.log", 2) == []
