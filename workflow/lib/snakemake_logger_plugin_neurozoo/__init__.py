"""Snakemake's output in a few lines: `snakemake --logger neurozoo` shows a line per run, and a bar of all steps.

While nothing is said, the bar, or a line, says what goes on and how long it takes: every ten seconds, and in a file
less often after some minutes.

A dry run shows the number of steps of each rule, and a line per run that would be trained, with the reason. Snakemake
finds the plugin by the name of this package. Everything that it leaves out is in Snakemake's own log. Errors and
warnings look as always, and so does everything with `--verbose`, `--printshellcmds` (`-p`) and `--debug-dag`.
"""

import logging
import re
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

TRAINING = ("train", "train_archive")  # rules whose end is worth a line; `neurozoo_train` if the project is a module
BAR = 24  # characters
SETTINGS = "settings have changed"
REASONS = {  # Snakemake's, which list all files and settings, in a few words
    "Forced execution": "forced",
    "Params have changed": SETTINGS,
    "Set of input files has changed": "other input files",
    "Updated input files": "newer input files",
    "Input files updated by another job": "after other steps",
    "Incomplete output files": "was interrupted",
}
# What Snakemake says at its start. The rest is shown where there are no steps, as with --delete-all-output.
USUAL_WORDS = (
    "Building DAG",
    "Assuming",
    "Using shell",
    "Provided",
    "Conda env",
    "host:",
    "Select jobs",
    "SNAKEMAKE",
    "==",
)
SILENCE = 10.0  # seconds without a word, at first
# What the first steps take on one core, in seconds. Others are as long as those of their rule that have ended.
USUAL = {"build_native": 150, "noise_table": 10, "freeze_imported": 12, "rollout": 15, "activation_movie": 25}
ACTIVITIES = {  # what steps of these rules do; others have their names
    "build_native": "compiling the core",
    "noise_table": "drawing the noise table",
    "fetch_ale": "downloading the emulator's sources",
    "freeze": "freezing",
    "rollout": "recording",
    "activation_movie": "filming",
    "train": "training",
}
CLEAR = "\r\x1b[K"  # to the first column, and the rest of the line is empty


class LogHandler(LogHandlerBase):
    """Writes to the terminal. Snakemake gives it a filter and a formatter, and calls it from a thread of its own."""

    def __post_init__(self) -> None:
        """Looks at Snakemake's settings, which the base class has stored."""
        settings = self.common_settings
        self._stream = sys.stdout if settings.stdout else sys.stderr
        self._shows_all = any((settings.verbose, settings.printshellcmds, settings.debug_dag))
        self._is_plan = settings.dryrun
        self._is_announced = False
        self._words: list[str] = []  # what was said before the steps are known
        self._has_bar = self._stream.isatty()
        self._bar = self._now = ""
        self._jobs: dict[int, tuple[str, str, float]] = {}  # rule, run and start of a job that runs
        self._start = self._spoke_at = time.monotonic()
        self._lengths: dict[str, float] = dict(USUAL)  # seconds that a step of a rule takes
        self._open: Counter[str] = Counter()  # steps of each rule that have not ended
        self._lock = threading.RLock()
        self._is_closed = threading.Event()
        threading.Thread(target=self._break_silences, daemon=True).start()

    @property
    def writes_to_stream(self) -> bool:
        """True: Snakemake itself writes nothing to the terminal then."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """False: Snakemake's own log has everything."""
        return False

    @property
    def has_filter(self) -> bool:
        """False: Snakemake's own filter is used, which knows `--quiet`."""
        return False

    @property
    def has_formatter(self) -> bool:
        """False: Snakemake's own formatter is used for what is shown as always."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """False."""
        return False

    def emit(self, record: logging.LogRecord) -> None:
        """Shows a record, or counts it."""
        with self._lock:
            self._take(record)

    def _take(self, record: logging.LogRecord) -> None:
        try:
            event = getattr(record, "event", None)
            if event in (LogEvent.JOB_ERROR, LogEvent.ERROR):
                self._jobs.pop(_failed_job(record), None)
            if self._shows_all or record.levelno >= logging.WARNING:
                self._say(self.format(record))
            elif event == LogEvent.JOB_INFO and self._is_plan:
                self._plan(record)
            elif event == LogEvent.JOB_INFO:
                self._begin(record)
            elif event == LogEvent.JOB_FINISHED:
                self._end(record)
            elif event == LogEvent.PROGRESS:
                self._draw(record)
            elif event == LogEvent.RUN_INFO and not self._is_announced:
                self._is_announced = True  # Snakemake says it again after a dry run
                self._announce(record)
            elif event is None and not self._jobs and record.getMessage().startswith("Nothing to be done"):
                self._say(record.getMessage())
            elif event is None and not self._is_announced:
                self._words.append(record.getMessage())
        except Exception:
            self.handleError(record)  # output is never a reason to stop

    def _announce(self, record: Any) -> None:
        stats: Mapping[str, Any] = getattr(record, "stats", {})
        self._open = Counter({rule: count for rule, count in stats.items() if rule != "total"})
        steps, runs = stats.get("total", 0), sum(stats.get(rule, 0) for rule in TRAINING)
        trained = f", {runs} {'run' if runs == 1 else 'runs'} to train" if runs else ""
        where = "This is a plan; -p shows every step." if self._is_plan else "Details are in .snakemake/log/."
        self._say(f"{steps} {'step' if steps == 1 else 'steps'}{trained}. {where}")
        if self._is_plan:
            self._say(self.format(record))

    def _plan(self, record: Any) -> None:
        if record.rule_name in TRAINING:
            self._say(f"{_run_of(record)}: {_reason_of(record)}")

    def _begin(self, record: Any) -> None:
        self._jobs[record.jobid] = (record.rule_name, _run_of(record), time.monotonic())

    def _end(self, record: Any) -> None:
        rule, run, start = self._jobs.pop(record.job_id, ("", "", 0.0))
        self._lengths[rule] = time.monotonic() - start
        self._open[rule] -= 1
        if rule in TRAINING:
            self._say(f"{run}: trained in {_duration(time.monotonic() - start)}")

    def _draw(self, record: Any) -> None:
        done, total = record.done, max(1, record.total)
        filled = BAR * done // total
        self._bar = f"[{'#' * filled}{'.' * (BAR - filled)}] {done} of {total} steps"
        self._now = ""
        if done == total:
            self._say(f"{total} {'step' if total == 1 else 'steps'} in {_duration(time.monotonic() - self._start)}")
        else:
            self._say("")

    def _break_silences(self) -> None:
        """Says what goes on, if nothing else was said for a while. Trainings have bars of their own."""
        while not self._is_closed.wait(max(0.1, self._silent_until() - time.monotonic())):
            with self._lock:
                if self._is_closed.is_set() or not self._jobs or time.monotonic() < self._silent_until():
                    continue
                if not self._has_bar:
                    self._say(self._activity())
                elif any(rule not in TRAINING for rule, _, _ in self._jobs.values()):
                    self._now = f" {self._activity()}"
                    self._say("")

    def _silent_until(self) -> float:
        elapsed = 0.0 if self._has_bar else self._spoke_at - self._start
        return self._spoke_at + max(SILENCE, elapsed / 60)

    def _activity(self) -> str:
        """Describes the steps that run, such as `50 s, about 40 s left: compiling the core (50 of about 90 s)`."""
        now, steps = time.monotonic(), []
        for rule, run, start in sorted(self._jobs.values(), key=lambda job: job[2])[:3]:
            words = next((words for name, words in ACTIVITIES.items() if rule.startswith(name)), rule)
            length = f" of about {self._lengths[rule]:.0f}" if self._lengths.get(rule, 0) > now - start else ""
            steps.append(f"{words} {run}".rstrip() + f" ({now - start:.0f}{length} s)")
        more = f" and {len(self._jobs) - 3} more" if len(self._jobs) > 3 else ""
        return f"{_duration(now - self._start)}{self._left()}: {', '.join(steps)}{more}"

    def _left(self) -> str:
        """Says how long all steps will take, if each rule that takes long is known."""
        now = time.monotonic()
        long = {*TRAINING, *(rule for rule, _, start in self._jobs.values() if now - start > SILENCE)}
        if any(self._open[rule] and rule not in self._lengths for rule in long):
            return ""
        left = sum(self._lengths.get(rule, 1.0) * count for rule, count in self._open.items())
        left -= sum(min(now - start, self._lengths.get(rule, 1.0)) for rule, _, start in self._jobs.values())
        left /= max(1, len(self._jobs))
        return f", about {_duration(left)} left" if left >= 1 else ""  # what takes longer than usual

    def _say(self, text: str) -> None:
        """Writes lines above the bar. The cursor goes to the bar's first column, where other processes may write."""
        if text or self._has_bar:
            self._spoke_at = time.monotonic()
        if not self._has_bar:
            self._stream.write(f"{text}\n" if text else "")
        else:
            width = shutil.get_terminal_size().columns
            self._stream.write(CLEAR + (f"{text}\n" if text else "") + (self._bar + self._now)[: width - 1] + "\r")
        self._stream.flush()

    def close(self) -> None:
        """Removes the bar, and says what Snakemake did where there were no steps."""
        with self._lock:
            self._is_closed.set()
            if not self._is_announced:
                for words in self._words:
                    if not words.strip().startswith(USUAL_WORDS):
                        self._say(words)
            self._words = []
            if self._has_bar and (self._bar or self._now):
                self._bar = self._now = ""
                self._stream.write(CLEAR)
                self._stream.flush()
        super().close()


def _failed_job(record: Any) -> int:
    """Returns the number of a job that has failed; of one whose outputs are missing, only the message has it."""
    missing = re.search(r"Job ([0-9]+)\s+completed successfully, but", record.getMessage())
    return int(missing[1]) if missing else getattr(record, "jobid", -1)


def _reason_of(record: Any) -> str:
    reason = str(record.reason)
    found = [words for begin, words in REASONS.items() if begin in reason]
    if outlook := getattr(getattr(record, "resources", None), "outlook", ""):  # of a run whose settings have changed
        return ", ".join([outlook, *(words for words in found if words != SETTINGS)])
    if found:
        return ", ".join(found)
    outputs = [Path(str(file)) for file in record.output or ()]
    return "goes on" if outputs and (outputs[0].parent / "state").is_dir() else "new"


def _run_of(record: Any) -> str:
    wildcards = dict(record.wildcards or {})
    return "/".join(str(wildcards[name]) for name in ("algo", "game", "model", "run") if name in wildcards)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
