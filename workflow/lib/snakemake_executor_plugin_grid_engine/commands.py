"""Grid Engine's own commands: qsub, qstat and qdel."""

import re
import shlex
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Event

_UNREACHABLE = re.compile("commlib|unable to (contact|send|connect)|can't connect")
_PAUSE = 10  # seconds between two attempts to reach the master


class GridEngineError(Exception):
    """Grid Engine refuses something, or does not answer."""


@dataclass(frozen=True)
class Listed:
    """A job as qstat lists it.

    Attributes:
        state: Letters, such as `r`, `qw`, `Eqw` or `dr`.
        queue_state: Letters for what is wrong with the queue that it runs in; `u` is a node that does not answer.
    """

    state: str
    queue_state: str = ""

    @property
    def is_unreachable(self) -> bool:
        """Whether its node does not answer."""
        return "u" in self.queue_state


def qsub(
    command: list[str], script: str, *, patience: float, is_cancelled: Event, notify: Callable[[str], None]
) -> str:
    """Submits a job script; a master that is restarted meanwhile is waited for.

    Args:
        command: Words of the command; it reads the script.
        script: What a node executes.
        patience: Seconds to wait for the master.
        is_cancelled: Ends the waiting when it is set.
        notify: Is told that the master does not answer.

    Returns:
        The job's number.

    Raises:
        GridEngineError: The job is refused, or the master does not answer.
    """
    start = time.monotonic()
    while True:
        answer = subprocess.run(
            command,
            input=script,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # Ctrl-C does not reach it
        ).stdout.strip()
        # The number of an array job comes with its tasks.
        if number := re.search(r"^(\d+)(\.\d+-\d+:\d+)?$", answer, re.MULTILINE):
            return number[1]
        is_over = is_cancelled.is_set() or time.monotonic() - start > patience
        if is_over or not _UNREACHABLE.search(answer):
            raise GridEngineError(f"Grid Engine refused the job: {answer}\nThe command was: {shlex.join(command)}")
        notify(f"Grid Engine does not answer; trying again: {answer}")
        is_cancelled.wait(_PAUSE)


def qstat() -> dict[str, Listed] | None:
    """Lists the user's jobs by their ids, such as `7`, or `7.2` for a task; None if the master does not answer."""
    # -f: with the states of the queues; -ne: only of those that hold a job; qstat itself knows who $user is.
    try:
        run = subprocess.run(["qstat", "-f", "-ne", "-xml", "-u", "$user"], capture_output=True, text=True)
        return None if run.returncode else listed(run.stdout)
    except (OSError, ElementTree.ParseError):
        return None


def listed(xml: str) -> dict[str, Listed]:
    """Reads qstat's list."""
    tree = ElementTree.fromstring(xml)
    queues = {id(entry): queue.findtext("state") for queue in tree.iter("Queue-List") for entry in queue}
    jobs: dict[str, Listed] = {}
    for entry in tree.iter("job_list"):
        number, tasks = entry.findtext("JB_job_number", ""), entry.findtext("tasks")
        found = Listed(entry.findtext("state", ""), queues.get(id(entry)) or "")
        jobs |= dict.fromkeys([f"{number}.{task}" for task in _tasks(tasks)] if tasks else [number], found)
    return jobs


def _tasks(text: str) -> Iterable[int]:
    """Reads a list of tasks, such as `1,4-8:2`."""
    for first, last, step in re.findall(r"(\d+)(?:-(\d+):(\d+))?", text):
        yield from range(int(first), int(last or first) + 1, int(step or 1))


def error_reason(job: str) -> str:
    """Returns Grid Engine's own words about an error state."""
    try:
        command = ["qstat", "-j", job.partition(".")[0]]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = [line.partition(":")[2].strip() for line in answer.splitlines() if line.startswith("error reason")]
    return "; ".join(dict.fromkeys(lines))


def qdel(jobs: Iterable[str]) -> None:
    """Has jobs deleted, without waiting for it; neither Ctrl-C nor the end of Snakemake stops that."""
    quiet = subprocess.DEVNULL
    subprocess.Popen(["qdel", *jobs], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
