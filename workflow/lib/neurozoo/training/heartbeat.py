"""The heartbeat file of a run, which tells a run in training from one that was lost, and keeps two out of one folder.

`state/process.json` says which process trains the run, since when, and how far it is within a generation. The file's
modification time is the time of the last heartbeat.

No file is locked, because many shared file systems have no locks, or lose them with a node. Heartbeats decide instead.
A later training waits until the earlier one has ended or its heartbeats have stopped; otherwise it refuses to start.
Then it writes its own heartbeat, by which it owns the run, and only after that it reads the state. One that finds
another's heartbeat stops before it writes a report or a state (`Heartbeat.check_owner`).

Two limits remain. Until the earlier training stops, both add episodes to the journal; these are the same for both. And
if a file system shows the other's heartbeat late, the earlier training goes on for that long.
"""

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, TracebackType

from neurozoo.compute.interruption import Interrupted
from neurozoo.errors import NeurozooError
from neurozoo.files import open_text, parse_json, write_text, written_whole
from neurozoo.files.times import time_in

FILE = "process.json"
PERIOD = 10.0  # seconds between two heartbeats
PATIENCE = 45.0  # seconds in which the earlier training may still end; Slurm gives a job 30 after SIGTERM
SILENCE = 2.5 * PERIOD  # seconds without a heartbeat after which a training on another host counts as gone
OLD = 120.0  # seconds after which a heartbeat does not count
POLL = 0.2  # seconds
_NUMBERS = ("progress", "progress_per_second", "last_news", "started")
_OWNER = ("host", "process", "process_started", "started")  # these values together identify one training


@dataclass(frozen=True)
class LastHeartbeat:
    """The last heartbeat of a training."""

    time: float  # when it was written, by the clock of the file system
    facts: dict  # the content of the file
    is_alive: bool | None  # whether its process still exists; None if that cannot be checked, as on another host

    @property
    def ended(self) -> str | None:
        """`finished`, `slice`, `stopped` or `failed`; None if the training has not ended, or was killed."""
        return self.facts.get("ended")

    @property
    def author(self) -> str:
        """The process that wrote it, in words."""
        job = f" (job {self.facts['job']})" if self.facts.get("job") else ""
        return f"process {self.facts['process']} on {self.facts['host']}{job}"


class Heartbeat:
    """Writes the heartbeats by which a training owns its run. Use as a context manager, which notes how it ended.

    In the file, `ended` is None during the training, then `finished`, `slice` (the job's time was up), `stopped` or
    `failed`; `error` is the message of the error that ended it. `progress` is how much of its budget the run has spent
    so far, if that is known; see `continue_from`. Its methods raise NeurozooError if another training has taken the run
    over.
    """

    def __init__(self, state_folder: Path) -> None:
        self._path = state_folder / FILE
        self._start = time.monotonic()
        self._next = self._start
        self._progress_before = self._progress = 0
        self._facts = {
            "host": socket.gethostname(),
            "process": os.getpid(),
            "process_started": process_started(os.getpid()),
            "processes": _numbering(),
            "job": job_of_scheduler(),
            "started": time.time(),
            "ended": None,
            "error": None,
        }
        self._news = self._start
        self._is_written = False
        self._has_begun = threading.Event()
        self._starting = threading.Thread(target=self._beat_while_starting, daemon=True)

    def _beat_while_starting(self) -> None:
        """Writes heartbeats until the first `beat`: loading libraries can take longer than others wait for one."""
        while not self._has_begun.wait(PERIOD):
            if self._other_owner() is None:
                self._write()

    def _end_start(self) -> None:
        if not self._has_begun.is_set():
            self._has_begun.set()
            self._starting.join()

    def continue_from(self, progress: int) -> None:
        """Says how much of its budget the run has spent so far, once that is known."""
        self.check_owner()
        self._progress_before = self._progress = progress
        self._write()  # again, if the state of other settings was moved away with the first one

    def beat(self, *, progress: int, has_news: bool, phase: str, done: int, total: int) -> None:
        """Writes a heartbeat if the last one is old enough. Call it several times a second.

        `progress` is the budget spent since the last call, and `has_news` whether an episode has finished since. Of the
        `total` episodes (or steps) of the phase, such as `population`, `done` are finished.
        """
        self._end_start()
        self._progress += progress
        if has_news:
            self._news = time.monotonic()
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PERIOD
            self._facts |= {"phase": phase, "episodes_done": done, "episodes": total}
            self.check_owner()
            self._write()

    def check_owner(self) -> None:
        """Ends this training if it no longer owns the run. Call it before writing what only the owner may write."""
        if other := self._other_owner():
            raise NeurozooError(
                f"This run has been taken over by {other.author}: it began at the same time, or when this training had "
                "given no heartbeat for too long. Two trainings must not write into one folder, so this one stops; "
                "nothing is lost."
            )

    def _other_owner(self) -> LastHeartbeat | None:
        heartbeat = read_heartbeat(self._path.parent)
        if heartbeat is None or not self._is_written:  # on a full disk, that of an earlier training is still there
            return None
        is_own = all(heartbeat.facts.get(name) == self._facts[name] for name in _OWNER)
        return None if is_own else heartbeat

    def _write(self) -> None:
        now = time.monotonic()
        seconds = now - self._start
        progress = {
            "progress": self._progress,
            "progress_per_second": (self._progress - self._progress_before) / max(seconds, 1e-9),
            "last_news": time.time() - (now - self._news),  # by a clock that may have been set meanwhile
        }
        # The run itself does not need this file: a full disk or a quota must not end it here.
        with contextlib.suppress(OSError, NeurozooError):
            with written_whole(self._path, is_durable=False) as temporary:
                temporary.write_text(json.dumps(self._facts | progress, indent=1) + "\n", encoding="utf-8")
            self._is_written = True

    def __enter__(self) -> "Heartbeat":
        self._write()
        self._starting.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._end_start()
        self._facts |= {"ended": "finished"} if error is None else _end_of(error)
        if self._other_owner() is None:
            self._write()


def _end_of(error: BaseException) -> dict[str, str]:
    ended = "failed"
    if isinstance(error, Interrupted):
        ended = "slice" if error.is_end_of_slice else "stopped"
    words = str(error) if isinstance(error, NeurozooError) else f"{type(error).__name__}: {error}"
    return {"ended": ended, "error": words.strip()}


def correct_end(state_folder: Path, stop: Interrupted) -> None:
    """Says why a training has stopped, which itself knows only the signal that was passed on to it."""
    heartbeat = read_heartbeat(state_folder)
    if heartbeat is not None and heartbeat.ended in ("slice", "stopped"):
        with contextlib.suppress(NeurozooError):
            write_text(state_folder / FILE, json.dumps(heartbeat.facts | _end_of(stop), indent=1) + "\n")


def read_heartbeat(state_folder: Path) -> LastHeartbeat | None:
    """Returns the last heartbeat in a run's `state/`; None if the file is missing or damaged."""
    path = state_folder / FILE
    try:
        with open_text(path) as file:
            facts = parse_json(file.read())
            when = os.fstat(file.fileno()).st_mtime
        number, host = facts["process"], facts["host"]
        are_numbers = all(_is_number(facts[name]) for name in ("process", *_NUMBERS))
        are_texts = all(isinstance(facts.get(name), str | NoneType) for name in ("ended", "error"))
        if not (are_numbers and are_texts and isinstance(host, str)):
            return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    is_alive = None
    is_here = host == socket.gethostname() and facts.get("processes") in (None, _numbering())
    if is_here and facts.get("process_started") is not None:
        is_alive = process_started(number) == facts["process_started"]
    return LastHeartbeat(when, facts, is_alive)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < 2**63


def _numbering() -> str | None:
    """Returns what numbers of processes belong to: the boot of this machine and the container; None without `/proc`.

    Containers and machines may share a host name, but not this.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def job_of_scheduler() -> str | None:
    """Returns the number of the Grid Engine or Slurm job that this process belongs to; None outside of a job."""
    if job := os.environ.get("SLURM_JOB_ID"):
        return job
    task = os.environ.get("SGE_TASK_ID", "undefined")
    job = os.environ.get("JOB_ID")
    return f"{job}.{task}" if job and task.isdigit() else job


def process_started(number: int) -> str | None:
    """Returns when a process of this host started, in clock ticks since boot; None if it does not exist.

    Process numbers are reused, but not together with the start time. A zombie (dead, but not yet reaped by its parent)
    does not count. Only Linux has this information; elsewhere the result is None.
    """
    try:
        state, *facts = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return facts[18] if state not in "ZX" else None
    except (OSError, ValueError, IndexError):
        return None


def wait_for_earlier_training(state_folder: Path, *, check: Callable[[], None]) -> None:
    """Waits until no other process trains this run, and returns at once if none does.

    `check` is called again and again; it raises to end the wait.

    Raises:
        NeurozooError: Another process keeps training the run.
    """
    begin = heard = time.monotonic()
    before = None
    while (heartbeat := read_heartbeat(state_folder)) is not None and heartbeat.ended is None:
        if heartbeat.is_alive is False:
            return
        if heartbeat.is_alive and heartbeat.facts["process"] == os.getpid():
            return  # an earlier training of this process; a full disk kept it from noting its end
        now = time.monotonic()
        if heartbeat != before:
            before, heard = heartbeat, now
        if heartbeat.is_alive is None and (now - heard > SILENCE or time_in(state_folder) / 1e9 - heartbeat.time > OLD):
            return
        if now - begin > PATIENCE:
            raise NeurozooError(
                f"This run is being trained by {heartbeat.author}, as {state_folder / 'process.json'} says. Two "
                "trainings must not write into one folder: wait until it has ended, or end it, then start the same "
                "command again."
            )
        check()
        time.sleep(POLL)
