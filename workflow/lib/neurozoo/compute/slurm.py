"""Jobs of Slurm that a killed Snakemake left behind."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from neurozoo.errors import NeurozooError

PATIENCE = 120  # seconds for cancelled jobs to end
_NAME = re.compile(r"([\w-]+)-(\d+)_[0-9a-f-]{36}")


def sender() -> str:
    """Names this process as the profile for Slurm does, which puts it before the names of jobs."""
    return f"{_host()}-{os.getpid()}"


def end_leftover_jobs(folder: str | os.PathLike, *, has_to_answer: bool) -> list[str]:
    """Ends the jobs of Snakemakes that were killed, since nobody waits for these jobs any longer.

    Snakemake started again would submit the same work once more, and two trainings must never write into one folder.
    Their state stays, so that little is lost. Jobs of a Snakemake that still runs are left alone.

    Args:
        folder: Where Snakemake is started; jobs from elsewhere are none of its business.
        has_to_answer: Whether a Slurm that does not answer is an error, as it is for whoever is about to submit jobs.

    Returns:
        The numbers of the jobs that were ended; none where there is no Slurm.

    Raises:
        NeurozooError: Jobs were submitted from another machine, where Snakemake may still run, or do not end; or Slurm
            does not answer.
    """
    jobs = _jobs(folder, has_to_answer)
    if elsewhere := [(job, host) for job, host, _ in jobs if host != _host()]:
        numbers, hosts = " ".join(job for job, _ in elsewhere), " and ".join(sorted({host for _, host in elsewhere}))
        raise NeurozooError(
            f"No job of this folder should be in the queue, but {numbers} came from a Snakemake on {hosts}. If that "
            f"still runs, leave them to it; otherwise end them first (a training keeps its state): scancel {numbers}"
        )
    leftover = [job for job, _, process in jobs if not _is_snakemake(process, folder)]
    if leftover:
        subprocess.run(["scancel", *leftover], check=False)
        end = time.monotonic() + PATIENCE
        while remaining := {job for job, *_ in _jobs(folder, True)} & set(leftover):
            if time.monotonic() > end:
                numbers = " ".join(sorted(remaining))
                raise NeurozooError(
                    f"Jobs {numbers} of a Snakemake that was killed should have ended after scancel, but are in the "
                    "queue yet. Wait until squeue does not list them, and start again."
                )
            time.sleep(1)
    return leftover


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", os.uname().nodename)[:30]


def _jobs(folder: str | os.PathLike, has_to_answer: bool) -> list[tuple[str, str, int]]:
    """Lists the user's jobs that Snakemake submitted from a folder: number, and host and process of that Snakemake."""
    if not shutil.which("squeue"):
        return []
    command = ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%A|%j|%Z"]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode and has_to_answer:
        raise NeurozooError(
            f"squeue should list the jobs in the queue, but says: {answer.stderr.strip()} Start again when it does."
        )
    found = []
    for line in answer.stdout.splitlines():
        job, name, place = line.split("|", 2)
        if (match := _NAME.fullmatch(name)) and Path(place).resolve() == Path(folder).resolve():
            found.append((job, match[1], int(match[2])))
    return found


def _is_snakemake(process: int, folder: str | os.PathLike) -> bool:
    """Says whether a process is another Snakemake in a folder; numbers of processes are used again."""
    place = Path("/proc", str(process))
    try:
        is_there = (place / "cwd").resolve(strict=True) == Path(folder).resolve()
        return process != os.getpid() and is_there and b"snakemake" in (place / "cmdline").read_bytes()
    except OSError:
        return False
