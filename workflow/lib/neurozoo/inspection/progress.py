"""How far a long task is: a bar for people at a terminal, plain lines for a log."""

import sys
import time
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Counts steps of a task that takes a while; use it in a `with` statement.

    Attributes:
        count: Steps that are done.
    """

    def __init__(self, task: str, *, total: int, unit: str = "step", log: str | Path | None = None):
        """Starts counting.

        Args:
            task: What is done, such as "rollout".
            total: Steps to do, as far as is known.
            unit: What a step is called.
            log: Optional file for the plain lines; without it they go to standard error unless a bar stands there.
        """
        self.count = 0
        self._task, self._total, self._unit = task, total, unit
        self._start = self._last_line = time.perf_counter()
        has_terminal = sys.stderr.isatty()
        self._bar = tqdm(total=total, desc=task, unit=f" {unit}", leave=False) if has_terminal else None
        self._owns_lines = log is not None
        self._lines: TextIO | None = None if has_terminal else sys.stderr
        if log is not None:
            Path(log).parent.mkdir(parents=True, exist_ok=True)
            self._lines = open(log, "a", encoding="utf-8")  # noqa: SIM115, closed in __exit__

    def advance(self, steps: int = 1) -> None:
        """Counts more steps, and shows them now and then."""
        self.count += steps
        if self._bar is not None:
            self._bar.update(steps)
        if time.perf_counter() - self._last_line >= SECONDS_BETWEEN_LINES:
            self.say(f"{self.count:,} of {self._total:,} {self._unit}s, {self._rate():,.0f} per second")

    def say(self, text: str) -> None:
        """Writes a line about the task."""
        self._last_line = time.perf_counter()
        if self._lines is not None:
            print(f"{self._task}: {text}", file=self._lines, flush=True)

    def _rate(self) -> float:
        return self.count / max(time.perf_counter() - self._start, 1e-9)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, error_type, error, traceback) -> None:
        if error_type is None:
            self.say(f"{self.count:,} {self._unit}s done, {self._rate():,.0f} per second")
        else:
            self.say(f"stopped after {self.count:,} {self._unit}s: {error}")
        if self._bar is not None:
            self._bar.close()
        if self._owns_lines:
            self._lines.close()
