"""The text log of a run, in the published layout, and what the terminal shows of it."""

import contextlib
import math
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from neurozoo.algorithms.session import Report
from neurozoo.algorithms.spec import Unit
from neurozoo.errors import explained
from neurozoo.files import copy_file, open_to_append
from neurozoo.folders import delete
from neurozoo.records.published_log import format_table, stamped
from neurozoo.training.clock import Clock, Spent

Terminal = Literal["bar", "lines", "log"]

PROGRESS_PERIOD = 5.0  # seconds between lines about progress in the log
LINES = 10  # on the terminal for a whole run
LINE_PERIOD = 60.0  # seconds after which there is one in any case


class _Screen:
    """Standard error as long as somebody reads it: a run goes on without its terminal."""

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()

    def __getattr__(self, name: str) -> Any:  # tqdm asks how wide it is, and what it can show
        return getattr(sys.stderr, name)


class RunReporter:
    """Writes a run's text log twice: in `state/`, where it survives, and where users look for it.

    Args:
        kept: The log in `state/`, which is continued.
        shown: The log in the run's folder, which Snakemake deletes when a job starts.
        budget: Total budget of the run.
        unit: What the budget counts: `frames` or `evaluations`.
        progress: How much of the budget is spent already.
        title: Title of the progress bar.
        report_name: What a report comes after, such as `generation`.
        fields: The fields of a report that the log prints, in order.
        terminal: What goes to standard error: a progress `bar`, `lines` (one per tenth of the budget, or per minute) or
            the whole `log`. If standard error is not a terminal, `bar` means `lines`.
    """

    def __init__(
        self,
        *,
        kept: Path,
        shown: Path,
        budget: int,
        unit: Unit,
        progress: int,
        title: str,
        report_name: str,
        fields: tuple[str, ...],
        terminal: Terminal,
    ) -> None:
        if kept.exists():
            copy_file(kept, shown)
        else:
            delete(shown)
        self._files = [open_to_append(path) for path in (kept, shown)]
        self._title = title
        self._report_name = report_name
        self._fields = fields
        self._unit = unit
        self._screen = _Screen()
        self._echoes_log = terminal == "log"
        shows_bar = terminal == "bar" and sys.stderr.isatty()
        self._echoes_lines = terminal != "log" and not shows_bar
        self._bar = tqdm(
            total=budget,
            initial=min(progress, budget),
            desc=title,
            unit=unit.removesuffix("s"),
            unit_scale=True,
            disable=not shows_bar,
            dynamic_ncols=True,
            file=self._screen,
        )
        self._next_progress = time.monotonic() + PROGRESS_PERIOD
        self._next_line = (-math.inf, -math.inf)  # share of the budget and time of the next line

    def say(self, message: str) -> None:
        """Writes one message after the date."""
        self._write(stamped(message, now=datetime.now()))

    def warn(self, message: str) -> None:
        """Writes one message, on standard error, too."""
        self.say(message)
        if not self._echoes_log:
            self._bar.write(f"{self._title}: {message}", file=self._screen)

    def report(self, record: Mapping, report: Report) -> None:
        """Writes a report, and `log_record` of it, as a table in the published layout, then its notes."""
        shown = {name: report.printed.get(name, record.get(name)) for name in self._fields}
        self._write(format_table(shown, now=datetime.now()))
        for note in report.notes:
            self.say(note)
        summary = f"{self._report_name} {report.iteration}, {_score(report)}"
        self._bar.set_postfix_str(summary)
        share = min(report.progress / self._bar.total, 1.0)
        if self._echoes_lines and (share >= min(self._next_line[0], 1.0) or time.monotonic() >= self._next_line[1]):
            self._next_line = ((int(LINES * share) + 1) / LINES, time.monotonic() + LINE_PERIOD)
            print(f"{self._title}: {share:4.0%}, {summary}", file=self._screen, flush=True)

    def say_speed(self, record: Mapping, *, clock: Clock, progress: int, left: float) -> None:
        """Writes how fast the run is and how many seconds are left until its budget is spent."""
        if "TimestepsPerSecondThisIter" in record:
            speed = f"Timesteps Per Second: {record['TimestepsPerSecondThisIter']:.0f}"
        else:
            speed = f"{self._unit.capitalize()} Per Second: {progress / max(clock.total, 1e-9):.3g}"
        self.say(f"{speed}. Elapsed: {clock.total / 3600:.2f}h ETA {left / 3600:.2f}h")

    def progress(
        self, amount: int, *, steps: int, seconds: float, done: int, total: int, unit: str = "episodes"
    ) -> None:
        """Moves the progress bar by the budget spent since the last call, and writes a line every few seconds.

        The others are about the current phase so far; `unit` is what `done` and `total` count.
        """
        self._bar.update(min(amount, self._bar.total - self._bar.n))
        if time.monotonic() >= self._next_progress:
            self._next_progress = time.monotonic() + PROGRESS_PERIOD
            rate = steps / max(seconds, 1e-9)
            self.say(f"Num timesteps: {steps} per second: {rate:.0f} num {unit} finished: {done}/{total}")

    def _write(self, text: str) -> None:
        for file in self._files:
            try:
                file.write(text)
                file.flush()
            except OSError as error:
                raise explained(error, file.name) from error
        if self._echoes_log:
            print(text, end="", file=self._screen, flush=True)

    def close(self) -> None:
        """Closes the progress bar and the files."""
        self._bar.close()
        for file in self._files:
            with contextlib.suppress(OSError):
                file.close()


def _score(report: Report) -> str:
    """Returns the score that a line about a report shows, and which one it is."""
    if report.test_score is not None:
        return f"test score {report.test_score:.4g}"
    return "no score yet" if report.score is None else f"own score {report.score:.4g} (no test)"


def log_record(report: Report, *, unit: Unit, spent: Spent, clock: Clock) -> dict[str, object]:
    """Returns a report as a record of `log.jsonl`: standard fields, the algorithm's fields and published time fields.

    `spent` has the seconds of this generation or epoch, and `clock` those of the run, including them.
    """
    episodes = {"score_episodes": report.score_episodes, "test_episodes": report.test_episodes}
    record: dict[str, Any] = {
        unit: report.progress,
        "score": report.score,
        "test_score": report.test_score,
        **{name: count for name, count in episodes.items() if count is not None},
        "Iteration": report.iteration,
        **report.fields,
    }
    if "TimestepsThisIter" in record:
        record["TimestepsPerSecondThisIter"] = record["TimestepsThisIter"] / max(spent.total, 1e-9)
    return record | {
        "TimeElapsedThisIter": spent.counted,
        "TimeElapsedThisIterTotal": spent.total,
        "TimeElapsed": clock.counted,
        "TimeElapsedTotal": clock.total,
        "OverheadThisIter": spent.total - spent.playing,
        **({} if clock.processor is None else {"ProcessorTimeTotal": clock.processor}),
    }
