"""Progress of a long task: a bar on a terminal, plain lines in a log."""

import os
import sys
import time
from typing import Literal

from tqdm import tqdm

from neurozoo.files import open_to_write

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Counts the steps of a long task; use it in a `with` statement.

    Attributes:
        count: Steps done so far.
    """

    def __init__(
        self,
        task: str,
        *,
        total: int | None,
        log: str | os.PathLike | None = None,
        terminal: Literal["bar", "lines"] | str = "bar",
    ):
        """Starts counting.

        Args:
            task: Name of the task, such as "rollout of frostbite".
            total: Steps to do; None if unknown.
            log: Optional file for plain lines.
            terminal: `bar` shows a progress bar where standard error is a terminal; otherwise lines go there.
        """
        self.count = 0
        self._task, self._total = task, total
        self._start = self._last_line = time.perf_counter()
        shows_bar = terminal == "bar" and sys.stderr.isatty()
        self._bar = tqdm(total=total, desc=task, unit=" steps", leave=False, disable=not shows_bar)
        self._outlets = [] if shows_bar else [sys.stderr]
        self._log = None
        if log is not None:
            self._log = open_to_write(log)  # closed in __exit__
            self._outlets.append(self._log)

    def advance(self, steps: int = 1) -> None:
        """Counts more steps, and writes a line every `SECONDS_BETWEEN_LINES`."""
        self.count += steps
        self._bar.update(steps)
        if time.perf_counter() - self._last_line >= SECONDS_BETWEEN_LINES:
            total = "" if self._total is None else f" of {self._total:,}"
            self.say(f"{self.count:,}{total} steps, {self._rate():,.0f} per second")

    def say(self, text: str) -> None:
        """Writes a line about the task."""
        self._last_line = time.perf_counter()
        for outlet in self._outlets:
            print(f"{self._task}: {text}", file=outlet, flush=True)

    def _rate(self) -> float:
        return self.count / max(time.perf_counter() - self._start, 1e-9)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, error_type, error, traceback) -> None:
        self._bar.close()
        try:
            if error_type is None:
                self.say(f"{self.count:,} steps done, {self._rate():,.0f} per second")
        finally:
            if self._log is not None:
                self._log.close()
