"""A sign of life beside a run's state, by which others tell a run that goes on from one that was lost.

`state/process.json` says who trains, since when, and how far it is within a generation; the file's time is that of the
last sign. Whoever wrote it last owns the run: an earlier training that finds another's sign stops (`ownership` is about
the later one).
"""

import contextlib
import json
import os
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.training.interruption import Interrupted

FILE = "process.json"
PERIOD = 10.0  # seconds between two signs
_OWNER = ("host", "process", "process_started", "started")  # what together belongs to one training only


@dataclass(frozen=True)
class Sign:
    """The last sign of life of a training.

    Attributes:
        time: When it was given, by the clock of the file system.
        facts: What it says.
        is_alive: Whether its process is still there; None on another host.
    """

    time: float
    facts: dict
    is_alive: bool | None

    @property
    def ended(self) -> str | None:
        """`finished`, `slice`, `stopped` or `failed`; None if it went on."""
        return self.facts.get("ended")

    @property
    def author(self) -> str:
        """Who gave it, in words."""
        job = f" (job {self.facts['job']})" if self.facts.get("job") else ""
        return f"process {self.facts['process']} on {self.facts['host']}{job}"


class Heartbeat:
    """Writes the signs of life of a training, which make the run its own. A context manager, which notes how it ended.

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
        self._has_begun = threading.Event()
        self._starting = threading.Thread(target=self._beat_while_starting, daemon=True)

    def _beat_while_starting(self) -> None:
        """Loading libraries and continuing games can take longer than others wait for a sign."""
        while not self._has_begun.wait(PERIOD):
            if self._other_owner() is None:
                self._write()

    def _end_start(self) -> None:
        if not self._has_begun.is_set():
            self._has_begun.set()
            self._starting.join()

    def beat(self, *, frames: int, has_news: bool, phase: str, done: int, total: int) -> None:
        """Writes a sign if the last one is old enough; it is called several times a second.

        Args:
            frames: Counted frames since the last call.
            has_news: Whether an episode has finished since then.
            phase: What is being played.
            done: Finished episodes of it.
            total: Episodes of it.

        Raises:
            NeurozooError: Another training has taken the run over.
        """
        self._end_start()
        self._frames += frames
        if has_news:
            self._news = time.time()
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PERIOD
            self._facts |= {"phase": phase, "episodes_done": done, "episodes": total}
            self.check_owner()
            self._write()

    def check_owner(self) -> None:
        """Does nothing, or ends the run: to be called before anything is written that two must not write.

        Raises:
            NeurozooError: Another training has taken the run over.
        """
        if other := self._other_owner():
            raise NeurozooError(
                f"This run has been taken over by {other.author}, since nothing was heard of this training. Two must "
                "not write into one folder, so that this one stops; nothing is lost."
            )

    def _other_owner(self) -> Sign | None:
        sign = read_sign(self._path.parent)
        is_own = sign is None or all(sign.facts.get(name) == self._facts[name] for name in _OWNER)
        return None if is_own else sign

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
        self._starting.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._end_start()
        if error is None:
            self._facts["ended"] = "finished"
        else:
            self._facts["ended"] = "failed"
            if isinstance(error, Interrupted):
                self._facts["ended"] = "slice" if error.is_end_of_slice else "stopped"
            words = str(error) if isinstance(error, NeurozooError) else f"{kind.__name__}: {error}"
            self._facts["error"] = words.strip()
        if self._other_owner() is None:
            self._write()


def read_sign(state_folder: Path) -> Sign | None:
    """Returns the last sign of life in a run's `state/`; None if there is none, or a damaged one."""
    path = state_folder / FILE
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        when, number, host = path.stat().st_mtime, int(facts["process"]), facts["host"]
        float(facts["frames"]), float(facts["frames_per_second"]), float(facts["last_news"]), float(facts["started"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    is_alive = None
    if host == socket.gethostname() and facts.get("process_started") is not None:
        is_alive = process_started(number) == facts["process_started"]
    return Sign(when, facts, is_alive)


def job_of_scheduler() -> str | None:
    """Returns the number of the job of Grid Engine or Slurm that this process belongs to."""
    if job := os.environ.get("SLURM_JOB_ID"):
        return job
    task = os.environ.get("SGE_TASK_ID", "undefined")
    job = os.environ.get("JOB_ID")
    return f"{job}.{task}" if job and task.isdigit() else job


def process_started(number: int) -> str | None:
    """Returns when a process of this host began, in Linux's own unit; None if there is none, or no Linux.

    Numbers of processes are used again, a number and its start are not. One that is dead, but whose parent has not
    taken notice of that yet, is none.
    """
    try:
        state, *facts = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return facts[18] if state not in "ZX" else None
    except (OSError, ValueError, IndexError):
        return None
