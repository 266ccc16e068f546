"""A sign of life beside a run's state, by which others tell a run that goes on from one that was lost.

`state/process.json` says who trains, since when, and how far it is within a generation; the file's time is that of the
last sign. Nothing is read from it when a run continues.
"""

import contextlib
import json
import os
import socket
import time
from pathlib import Path
from types import TracebackType

from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.training.interruption import Interrupted

FILE = "process.json"
PERIOD = 10.0  # seconds between two signs


class Heartbeat:
    """Writes the signs of life of a training. A context manager, which notes how it ended.

    `ended` is None while it goes on, then `finished`, `slice` (its time was up), `stopped` or `failed`, with `error`.

    Args:
        state_folder: The run's `state/`.
        frames: Counted frames of the run so far.
    """

    def __init__(self, state_folder: Path, *, frames: int) -> None:
        self._path = state_folder / FILE
        self._start = time.monotonic()
        self._next = self._start
        self._frames_before = self._frames = frames
        self._facts = {
            "host": socket.gethostname(),
            "process": os.getpid(),
            "process_started": process_started(os.getpid()),
            "job": job_of_scheduler(),
            "started": time.time(),
            "ended": None,
            "error": None,
        }
        self._news = time.time()

    def beat(self, *, frames: int, has_news: bool, phase: str, done: int, total: int) -> None:
        """Writes a sign if the last one is old enough; it is called several times a second.

        Args:
            frames: Counted frames since the last call.
            has_news: Whether an episode has finished since then.
            phase: What is being played.
            done: Finished episodes of it.
            total: Episodes of it.
        """
        self._frames += frames
        if has_news:
            self._news = time.time()
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PERIOD
            self._facts |= {"phase": phase, "episodes_done": done, "episodes": total}
            self._write()

    def _write(self) -> None:
        seconds = time.monotonic() - self._start
        progress = {
            "frames": self._frames,
            "frames_per_second": (self._frames - self._frames_before) / max(seconds, 1e-9),
            "last_news": self._news,
        }
        # Without it the run is as good: a full disk or a quota must not end it here.
        with contextlib.suppress(OSError, NeurozooError), written_whole(self._path, is_durable=False) as temporary:
            temporary.write_text(json.dumps(self._facts | progress, indent=1) + "\n", encoding="utf-8")

    def __enter__(self) -> "Heartbeat":
        self._write()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if error is None:
            self._facts["ended"] = "finished"
        else:
            self._facts["ended"] = "failed"
            if isinstance(error, Interrupted):
                self._facts["ended"] = "slice" if error.is_end_of_slice else "stopped"
            words = str(error) if isinstance(error, NeurozooError) else f"{kind.__name__}: {error}"
            self._facts["error"] = words.strip()
        self._write()


def job_of_scheduler() -> str | None:
    """Returns the number of the job of Grid Engine or Slurm that this process belongs to."""
    if job := os.environ.get("SLURM_JOB_ID"):
        return job
    task = os.environ.get("SGE_TASK_ID", "undefined")
    job = os.environ.get("JOB_ID")
    return f"{job}.{task}" if job and task.isdigit() else job


def process_started(number: int) -> str | None:
    """Returns when a process of this host began, in Linux's own unit; None if there is none, or no Linux.

    Numbers of processes are used again, a number and its start are not.
    """
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
