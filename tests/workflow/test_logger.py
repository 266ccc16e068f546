"""The logger of `make demo`, with the records that Snakemake sends."""

import io
import logging
import threading
import time
from types import SimpleNamespace

import pytest
from snakemake.exceptions import MissingOutputException
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_logger_plugin_neurozoo import LogHandler


class Stream(io.StringIO):
    """A terminal, or a file."""

    def __init__(self, is_terminal: bool):
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.fixture
def logger(monkeypatch):
    """Makes a handler: `logger(is_terminal, **settings)` returns what sends it records, and what it has written."""
    handlers = []

    def make(is_terminal=False, **settings):
        stream = Stream(is_terminal)
        monkeypatch.setattr("sys.stderr", stream)
        names = ("stdout", "dryrun", "verbose", "printshellcmds", "debug_dag")
        settings = dict.fromkeys(names, False) | settings
        handler = LogHandler(SimpleNamespace(**settings), None)
        handlers.append(handler)

        def send(message=None, level=logging.INFO, **facts):
            handler.emit(logging.makeLogRecord({"msg": message, "levelno": level, **facts}))

        return send, stream, handler

    yield make
    for handler in handlers:
        handler.close()  # and its thread, which would go on beside later tests


def run_two_jobs(send):
    send("Building DAG of jobs...")
    send("Job stats: ...", event=LogEvent.RUN_INFO, stats={"train": 1, "rollout": 1, "total": 2})
    wildcards = {"algo": "ga", "game": "pong", "model": "large", "run": "1"}
    for number, rule in enumerate(("train", "rollout")):
        send(event=LogEvent.JOB_INFO, jobid=number, rule_name=rule, wildcards=wildcards)
        send(event=LogEvent.JOB_FINISHED, job_id=number)
        send(event=LogEvent.PROGRESS, done=number + 1, total=2)


def test_there_is_a_line_per_run_and_one_at_the_end(logger):
    send, stream, _ = logger()
    run_two_jobs(send)
    assert stream.getvalue().splitlines() == [
        "2 steps, 1 run to train. Details are in .snakemake/log/.",
        "ga/pong/large/1: trained in 0 s",
        "2 steps in 0 s",
    ]


def test_a_terminal_has_a_bar_below_the_lines_which_is_removed_at_the_end(logger):
    send, stream, handler = logger(is_terminal=True)
    run_two_jobs(send)
    assert "\r\x1b[K[############............] 1 of 2 steps\r" in stream.getvalue()
    handler.close()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_errors_and_warnings_are_shown_as_always(logger):
    send, stream, _ = logger()
    send("Error in rule train: ...", level=logging.ERROR, event=LogEvent.JOB_ERROR)
    send("Disk is nearly full.", level=logging.WARNING)
    assert stream.getvalue().splitlines() == ["Error in rule train: ...", "Disk is nearly full."]


def test_a_plan_names_the_runs_to_train_and_why(logger, tmp_path):
    send, stream, _ = logger(dryrun=True)
    for _ in range(2):  # Snakemake says it at the beginning and at the end
        send("Job stats: ...", event=LogEvent.RUN_INFO, stats={"train": 3, "rollout": 1, "total": 4})
    (tmp_path / "2" / "state").mkdir(parents=True)
    missing = "Missing output files: checkpoint.npz, config.yaml"
    changed = (
        "Params have changed since last execution: Union of exclusive params before and now across all output: ..."
    )
    for run, reason in {"1": missing, "2": missing, "3": f"Updated input files: genome.json; {changed}"}.items():
        facts = {"wildcards": {"algo": "ga", "game": "pong", "model": "large", "run": run}, "reason": reason}
        for rule in ("train", "rollout"):
            output = [str(tmp_path / run / "config.yaml")]
            send(event=LogEvent.JOB_INFO, jobid=1, rule_name=rule, output=output, **facts)
    assert stream.getvalue().splitlines() == [
        "4 steps, 3 runs to train. This is a plan; -p shows every step.",
        "Job stats: ...",
        "ga/pong/large/1: new",
        "ga/pong/large/2: goes on",
        "ga/pong/large/3: settings have changed, newer input files",
    ]


def test_a_plan_says_of_a_run_with_other_settings_what_becomes_of_it(logger):
    send, stream, _ = logger(dryrun=True)
    facts = {"wildcards": {"algo": "ga", "game": "pong", "model": "large", "run": "1"}, "rule_name": "train"}
    outlook = SimpleNamespace(outlook="starts anew (seed was 1, is now 0)")
    for reason in (
        "Params have changed since ...; Updated input files: genome.json",
        "Missing output files: log.jsonl",
    ):
        send(event=LogEvent.JOB_INFO, jobid=1, resources=outlook, reason=reason, **facts)
    assert stream.getvalue().splitlines() == [
        "ga/pong/large/1: starts anew (seed was 1, is now 0), newer input files",
        "ga/pong/large/1: starts anew (seed was 1, is now 0)",
    ]


def test_what_snakemake_does_without_steps_is_shown(logger):
    send, stream, handler = logger(dryrun=True)
    send("Building DAG of jobs...")
    send("Would delete results/tables/metrics.csv")
    handler.close()
    assert stream.getvalue() == "Would delete results/tables/metrics.csv\n"


def test_who_asks_for_more_gets_everything(logger):
    for setting in ("verbose", "printshellcmds", "debug_dag"):
        send, stream, _ = logger(**{setting: True})
        send("rule train: ...", event=LogEvent.JOB_INFO, jobid=1, rule_name="train", wildcards={})
        assert stream.getvalue() == "rule train: ...\n"


@pytest.mark.parametrize("is_terminal", [False, True])
def test_silence_is_broken_by_what_goes_on_and_how_long_it_takes(logger, monkeypatch, is_terminal):
    monkeypatch.setattr("snakemake_logger_plugin_neurozoo.SILENCE", 0.2)
    monkeypatch.setenv("COLUMNS", "200")
    send, stream, handler = logger(is_terminal)
    send("Job stats: ...", event=LogEvent.RUN_INFO, stats={"build_native": 1, "rollout": 2, "total": 3})
    wildcards = {"algo": "ga", "game": "pong", "model": "large", "run": "1"}
    send(event=LogEvent.JOB_INFO, jobid=1, rule_name="build_native", wildcards={})
    send(event=LogEvent.JOB_INFO, jobid=2, rule_name="rollout", wildcards=wildcards)
    send(event=LogEvent.PROGRESS, done=0, total=3)
    steps = "compiling the core (0 of about 150 s), recording ga/pong/large/1 (0 of about 15 s)"
    words = f"0 s, about 1 min 30 s left: {steps}"
    end = time.monotonic() + 60
    while words not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.05)
    handler.close()
    assert words in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K" if is_terminal else "s)\n")


def test_how_long_all_takes_is_not_guessed_before_a_training_has_ended(logger):
    send, _, handler = logger()
    send("Job stats: ...", event=LogEvent.RUN_INFO, stats={"train": 2, "rollout": 1, "total": 3})
    send(event=LogEvent.JOB_INFO, jobid=1, rule_name="train", wildcards={})
    assert handler._left() == ""
    send(event=LogEvent.JOB_FINISHED, job_id=1)
    send(event=LogEvent.JOB_INFO, jobid=2, rule_name="train", wildcards={})
    assert handler._left() == ", about 15 s left"


def test_how_long_all_takes_is_not_guessed_while_a_step_of_unknown_length_goes_on(logger, monkeypatch):
    send, _, handler = logger()
    send("Job stats: ...", event=LogEvent.RUN_INFO, stats={"causal": 1, "rollout": 1, "total": 2})
    send(event=LogEvent.JOB_INFO, jobid=1, rule_name="causal", wildcards={})
    assert handler._left() == ", about 16 s left"
    monkeypatch.setattr("snakemake_logger_plugin_neurozoo.SILENCE", -1)
    assert handler._left() == ""


def test_a_failed_step_does_not_go_on(logger):
    send, _, handler = logger()
    send("Job stats: ...", event=LogEvent.RUN_INFO, stats={"rollout": 3, "total": 3})
    for number in (1, 2, 3):
        send(event=LogEvent.JOB_INFO, jobid=number, rule_name="rollout", wildcards={"run": str(number)})
    send("Error in rule rollout: ...", level=logging.ERROR, event=LogEvent.JOB_ERROR, jobid=1)
    missing = MissingOutputException("Missing files after 5 seconds: ...", jobid=2)
    send(f"MissingOutputException in rule rollout: {missing}", level=logging.ERROR, event=LogEvent.ERROR)
    assert "recording 1" not in handler._activity()
    assert "recording 2" not in handler._activity()
    assert "recording 3" in handler._activity()


def test_nothing_is_drawn_while_the_bar_is_removed(logger):
    send, stream, handler = logger(is_terminal=True)
    run_two_jobs(send)
    with handler._lock:
        closing = threading.Thread(target=handler.close)
        closing.start()
        closing.join(0.2)
        assert closing.is_alive()
        send(event=LogEvent.PROGRESS, done=1, total=2)
    closing.join()
    assert stream.getvalue().endswith("\r\x1b[K")
