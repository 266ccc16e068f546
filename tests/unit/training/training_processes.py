"""Training runs in processes of their own, which tests may kill.

A fork server has TensorFlow loaded and nothing started, so that a process takes no seconds to begin.
"""

import contextlib
import json
import multiprocessing
import os
import runpy
import signal
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest import mock

from neurozoo import files
from neurozoo.algorithms import results
from neurozoo.records.run_log import read_log
from neurozoo.training import backup, loop, make_context, train
from neurozoo.training.state import RunState

PATIENCE = 600  # seconds: ends what hangs, and nothing that is only slow on a busy machine
TRAIN_SCRIPT = Path(__file__).parents[3] / "workflow" / "scripts" / "train.py"
SETTINGS = {
    "population_size": 6,
    "selection_threshold": 2,
    "validation_threshold": 2,
    "num_validation_episodes": 2,
    "num_test_episodes": 1,
    "mutation_power": 0.02,
    "episode_cutoff_mode": 40,
    "test_cutoff": 200,
    "snapshot_frames": 1000,
    "frames": 4000,  # three generations of 10 episodes of 160 frames
}

# Of runs that are stopped from outside: none is done before. What has spent more than another budget starts anew.
ENDLESS = {"frames": 10**9}

TIMES = {
    "TimestepsPerSecondThisIter",
    "TimeElapsedThisIter",
    "TimeElapsedThisIterTotal",
    "TimeElapsed",
    "TimeElapsedTotal",
    "OverheadThisIter",
    "ProcessorTimeTotal",
}


def context():
    """Returns the multiprocessing context in which `Process(target=..., kwargs=...)` is cheap."""
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(["tensorflow", "neurozoo.training", "training_processes"])
    return forking


def train_run(
    *, terminal: str = "log", keep_tags: tuple[str, ...] = (), tensorboard: bool = False, **run: object
) -> None:
    """Trains the run that the arguments of `make_context` describe."""
    train(make_context(**run), terminal=terminal, keep_tags=keep_tags, tensorboard=tensorboard)


def call(
    error_file: str, crash: str | None = None, variables: dict[str, str] | None = None, **arguments: object
) -> None:
    """Trains, with standard error in a file. With `crash`, the process dies when it is there for the second time.

    `variables` are added to the environment.

    Raises:
        SystemExit: Status 1 after any exception, with its message at the end of the file.
    """
    with open(error_file, "w") as file:
        os.dup2(file.fileno(), 2)
    with contextlib.ExitStack() as stack:
        os.environ.update(variables or {})
        if crash:
            for patch in (CRASHES | BACKUP_CRASHES)[crash]():
                stack.enter_context(patch)
        train_run(**arguments)


class Resources(SimpleNamespace):
    """Those of a job, as Snakemake gives them to a script."""

    def get(self, name: str) -> object:
        return getattr(self, name, None)


def call_script(error_file: str, variables: dict[str, str], **arguments: object) -> None:
    """Runs `workflow/scripts/train.py` as Snakemake does, with some environment variables."""
    with open(error_file, "w") as file:
        os.dup2(file.fileno(), 2)
    os.environ.update(variables)
    folder = Path(arguments["run_dir"])
    names = {name: arguments[name] for name in ("algo", "game", "model", "run")}
    chosen = {"preset": "uber2018", "overrides": arguments["settings"]}  # its values are the defaults
    job = SimpleNamespace(
        wildcards=SimpleNamespace(**names, items=names.items),
        input={"core": arguments["core"], "noise": arguments["noise"]},
        output=SimpleNamespace(config=folder / "config.yaml"),
        resources=Resources(batched_slots=256, terminal="lines", distributed="", launcher="", backup=""),
        config={
            "zoo": {"keep_tags": []},
            "training": {"tensorboard": False},
            "experiments": {},
            "algorithms": {arguments["algo"]: chosen},
        },
        threads=arguments["threads"],
        log=[folder / "train.log"],
    )
    runpy.run_path(str(TRAIN_SCRIPT), init_globals={"snakemake": job})


def call_on_terminal(error_file: str, **arguments: object) -> None:
    """Trains as the first process of a terminal, such as one that `ssh` starts."""
    os.setsid()
    os.open(error_file, os.O_RDWR)  # becomes the terminal of this process
    call(error_file, **arguments)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _second_time(original, *, before=None, after=None):
    count = 0

    def wrapped(*arguments, **named):
        nonlocal count
        count += 1
        if count == 2 and before:
            before(*arguments, **named)
        result = original(*arguments, **named)
        if count == 2 and after:
            after()
        return result

    return wrapped


def _half_a_line(state: RunState, *_: object) -> None:
    with open(state.folder / "journal.jsonl", "a") as file:
        file.write('[1, "popul')
    die()


def _half_a_report(state: RunState, *_: object) -> None:
    with open(state.log, "a") as file:
        file.write('{"frames": 12')
    die()


def _method(name: str, owner: type = RunState, **crash: object) -> mock._patch:
    original = getattr(owner, name)
    wrapped = _second_time(original, **crash)
    return mock.patch.object(owner, name, lambda self, *arguments: wrapped(self, *arguments))


def _rename(suffix: str, when: str) -> mock._patch:
    """Dies before or after the second rename to a name with this end."""
    original, count = os.replace, 0

    def replace(source, target, **folders):
        nonlocal count
        count += Path(target).name.endswith(suffix)
        if count == 2 and when == "before":
            die()
        original(source, target, **folders)
        if count == 2 and when == "after":
            die()

    return mock.patch.object(files.os, "replace", replace)


def _writing(module: ModuleType, name: str) -> mock._patch:
    return mock.patch.object(module, name, side_effect=lambda *_, **__: die())


# Where a run may be killed, and what kills it there.
CRASHES = {
    "in the middle of a line of the journal": lambda: [_method("journal", before=_half_a_line)],
    "after a line of the journal": lambda: [_method("journal", after=die)],
    "in the middle of a report": lambda: [_method("report", before=_half_a_report)],
    "after a report and before the state": lambda: [_method("report", after=die)],
    "while the state is written": lambda: [_rename("state.json", "before")],
    "after the state and before the journal is emptied": lambda: [_rename("state.json", "after")],
    "before a snapshot": lambda: [_rename("000.npz", "before")],
    "between snapshot and state": lambda: [_rename("000.npz", "after")],
    "before the checkpoint": lambda: [_writing(results, "write_checkpoint")],
    "between checkpoint and genome": lambda: [_writing(results, "write_json")],
    "between genome and result": lambda: [_writing(results, "write_run_result")],
    "between result and log": lambda: [_writing(loop, "copy_file")],
}


# The same for runs with a backup, which is made as often as possible.
BACKUP_CRASHES = {
    "between the first parts and their index": lambda: [
        mock.patch.object(backup, "PERIOD", 0),
        _method("_replace_index", backup.Backup, before=lambda *_: die()),
    ],
    "after the second backup": lambda: [
        mock.patch.object(backup, "PERIOD", 0),
        _method("keep", backup.Backup, after=die),
    ],
}


class Runner:
    """Starts training processes and knows their arguments."""

    def __init__(self, core, noise, folder):
        self.context = context()
        self.core, self.noise, self.folder = core, noise, folder

    def arguments(self, run_dir, *, settings=None, whole_settings=None, **changes):
        return {
            "algo": "ga",
            "game": "assault",
            "model": "small",
            "run": 1,
            "settings": whole_settings or SETTINGS | (settings or {}),
            "core": self.core,
            "noise": self.noise,
            "run_dir": run_dir,
            "threads": 1,
            "terminal": "lines",
            **changes,
        }

    def start(self, run_dir, *, crash=None, **changes):
        return self._start(call, crash=crash, **self.arguments(run_dir, **changes))

    def start_script(self, run_dir, *, variables=None, **changes):
        return self._start(call_script, variables=variables or {}, **self.arguments(run_dir, **changes))

    def start_on_terminal(self, run_dir, path, **changes):
        return self._start(call_on_terminal, error_file=path, **self.arguments(run_dir, terminal="bar", **changes))

    def _start(self, target, **arguments):
        process = self.context.Process(target=target, kwargs={"error_file": str(self.folder / "stderr")} | arguments)
        process.start()
        return process

    def finish(self, run_dir, **changes):
        """Trains to the end; returns the output on standard error."""
        process = self.start(run_dir, **changes)
        process.join(timeout=PATIENCE)
        assert process.exitcode == 0, self.said()
        return self.said()

    def said(self):
        return (self.folder / "stderr").read_text()


def wait_for_news(run_dir, process):
    """Waits until a run has got ahead, or has ended."""
    watched = [run_dir / "state" / name for name in ("journal.jsonl", "state.json")]
    before = [path.stat().st_mtime_ns if path.exists() else 0 for path in watched]
    end = time.monotonic() + PATIENCE
    while process.is_alive() and time.monotonic() < end:
        if [path.stat().st_mtime_ns if path.exists() else 0 for path in watched] != before:
            return
        time.sleep(0.01)


def reports(run_dir):
    """The reports of a run, complete and without times."""
    return [_timeless(record) for record in read_log(run_dir / "log.jsonl")]


def log_lines(run_dir):
    """The lines of a run's log without times, as they were written."""
    return [_timeless(json.loads(line)) for line in (run_dir / "log.jsonl").read_text().splitlines()]


def _timeless(record):
    return {name: value for name, value in record.items() if not _is_time(name)}


def _is_time(name):
    # Fields of deep Q-learning's phases and of IMPALA.
    return name in TIMES or name.endswith(("_time", "_steps_per_second", "_per_s", "wait_data_share"))


def assert_same_results(run_dir, expected):
    for name in ("checkpoint.npz", "result.json", *(["genome.json"] if (expected / "genome.json").exists() else [])):
        assert (run_dir / name).read_bytes() == (expected / name).read_bytes(), name
    names = {path.name for path in (expected / "snapshots").glob("*")}
    assert {path.name for path in (run_dir / "snapshots").glob("*")} == names
    for name in names:
        assert (run_dir / "snapshots" / name).read_bytes() == (expected / "snapshots" / name).read_bytes(), name
    assert log_lines(run_dir) == log_lines(expected)
    for line in (run_dir / "log.jsonl").read_text().splitlines():
        # Runs of several processes and on clusters do not know their processor time.
        assert set(json.loads(line)) >= TIMES - {"ProcessorTimeTotal"}
