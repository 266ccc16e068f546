"""What the three commands of this profile know about jobs: one small folder, and one call of qstat for all jobs."""

import json
import os
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(".snakemake/sge")  # in the working directory, which all nodes see
QSTAT_AGE = 5  # seconds for which one answer of qstat serves all jobs


@dataclass(frozen=True)
class Listed:
    """A job as qstat lists it.

    Attributes:
        state: Letters, such as `r`, `qw`, `Eqw` or `dr`.
        queue_state: Letters for what is wrong with the queue that it runs in; `u` is a node that does not answer.
    """

    state: str
    queue_state: str = ""


def site() -> dict:
    """Returns what the top of config.yaml says about this cluster."""
    import yaml  # takes longer than the rest of a look at a job, and most do without

    return yaml.safe_load((Path(__file__).resolve().parent / "config.yaml").read_text())["__variables__"]


def write(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)


def record(job: str) -> Path:
    """Says where the facts about a submitted job are kept."""
    return FOLDER / f"{job}.json"


def read_record(job: str) -> dict | None:
    """Returns what was kept about a job: token, time of submission, log."""
    try:
        return json.loads(record(job).read_text())
    except (OSError, ValueError):
        return None


def exit_code(token: str) -> int | None:
    """Returns what the job's own script noted down last, or None while it has not ended (or was killed)."""
    try:
        return int((FOLDER / f"{token}.exit").read_text())
    except (OSError, ValueError):
        return None


def qstat(*, age: float = QSTAT_AGE) -> str | None:
    """Returns qstat's list of all the user's jobs as XML, at most `age` seconds old, or None if it does not answer."""
    answer = FOLDER / "qstat.xml"
    try:
        if abs(time.time() - answer.stat().st_mtime) < age:  # not a future one: a clock may have been put back
            return answer.read_text()
    except OSError:
        pass
    # -f: with the states of the queues; -ne: only of those that hold a job; qstat itself knows who $user is.
    run = subprocess.run(["qstat", "-f", "-ne", "-xml", "-u", "$user"], capture_output=True, text=True)
    if run.returncode or "</job_info>" not in run.stdout:
        return None
    write(answer, run.stdout)
    return run.stdout


def listed(xml: str, job: str) -> Listed | None:
    """Finds a job in qstat's list; None if it is not there."""
    tree = ElementTree.fromstring(xml)
    queues = {id(entry): queue.findtext("state") for queue in tree.iter("Queue-List") for entry in queue}
    for entry in tree.iter("job_list"):
        if entry.findtext("JB_job_number") == job:
            return Listed(entry.findtext("state"), queues.get(id(entry)) or "")
    return None
