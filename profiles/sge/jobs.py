"""What the three commands of this profile know about jobs: one small folder, and one call of qstat for all jobs."""

import json
import os
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

FOLDER = Path(".snakemake/sge")  # in the working directory, which all nodes see
QSTAT_AGE = 5  # seconds for which one answer of qstat serves all jobs
GRACE = 60  # seconds until a job that qstat does not list counts as gone: file systems and schedulers lag behind


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


def qstat() -> str | None:
    """Returns qstat's list of all the user's jobs as XML, at most some seconds old, or None if it does not answer."""
    answer = FOLDER / "qstat.xml"
    try:
        if time.time() - answer.stat().st_mtime < QSTAT_AGE:
            return answer.read_text()
    except OSError:
        pass
    run = subprocess.run(["qstat", "-xml"], capture_output=True, text=True)
    if run.returncode or "</job_info>" not in run.stdout:
        return None
    write(answer, run.stdout)
    return run.stdout


def state_in(xml: str, job: str) -> str | None:
    """Finds a job's state, such as `r`, `qw` or `Eqw`, in qstat's list; None if it is not there."""
    for entry in ElementTree.fromstring(xml).iter("job_list"):
        if entry.findtext("JB_job_number") == job:
            return entry.findtext("state")
    return None
