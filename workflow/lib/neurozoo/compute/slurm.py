"""Ends the Slurm jobs that a killed Snakemake left behind."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from neurozoo.errors import NeurozooError

_SUBMISSION = {"slurm": ("slurm", "sbatch"), "grid-engine": ("sge", "qsub")}  # executor: profile, command
PATIENCE = 120  # seconds for cancelled jobs to end
_NAME = re.compile(r"([\w-]+)-(\d+)_[0-9a-f-]{36}")


def check_scheduler(executor: str) -> None:
    """Checks that jobs can be submitted to Slurm or Grid Engine, if Snakemake's executor is about to."""
    if executor not in _SUBMISSION:
        return
    profile, command = _SUBMISSION[executor]
    if shutil.which(command) is None:
        raise NeurozooError(
            f"--profile {profile} submits jobs with {command}, but this machine has none in its PATH. Start Snakemake "
            "on a login node of the cluster, or take --profile local."
        )
    if letter := re.search(r'["$`\\\n]', os.getcwd()):
        raise NeurozooError(
            f"The path of this folder, {os.getcwd()!r}, has a {letter[0]!r}, which does not reach jobs as it is. Move "
            "the project, or take --profile local."
        )


def end_leftover_jobs(folder: str | os.PathLike, *, has_to_answer: bool) -> list[str]:
    """Ends the jobs of Snakemake processes that were killed; returns their ids, none if Slurm is not installed.

    A restarted Snakemake submits the same work again, and two trainings must never write to the same folder. The
    trainings have saved their state, so little is lost. Jobs of a Snakemake that still runs, or from other folders, are
    not touched.

    Raises:
        NeurozooError: Jobs were submitted on another machine, where Snakemake may still run; jobs do not end; or Slurm
            does not answer, which is no error unless it `has_to_answer`, before jobs are submitted.
    """
    jobs = _jobs(folder, has_to_answer)
    if elsewhere := [(job, host) for job, host, _ in jobs if host != _host()]:
        numbers, hosts = " ".join(job for job, _ in elsewhere), " and ".join(sorted({host for _, host in elsewhere}))
        raise NeurozooError(
            f"The queue has jobs of this folder that a Snakemake on {hosts} submitted: {numbers}. If it still runs, "
            f"wait for it. Otherwise end them first (trainings keep their state): scancel {numbers}"
        )
    leftover = [job for job, _, process in jobs if not _is_snakemake(process, folder)]
    if leftover:
        subprocess.run(["scancel", *leftover], check=False)
        end = time.monotonic() + PATIENCE
        while remaining := {job for job, *_ in _jobs(folder, True)} & set(leftover):
            if time.monotonic() > end:
                numbers = " ".join(sorted(remaining))
                raise NeurozooError(
                    f"Jobs {numbers} of a killed Snakemake are still in the queue after scancel. Wait until squeue no "
                    "longer lists them, and start again."
                )
            time.sleep(1)
    return leftover


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", os.uname().nodename)[:30]


def _jobs(folder: str | os.PathLike, has_to_answer: bool) -> list[tuple[str, str, int]]:
    """Lists the user's jobs that Snakemake submitted from a folder: job id, and host and process id of Snakemake."""
    if not shutil.which("squeue"):
        return []
    command = ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%A|%j|%Z"]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode and has_to_answer:
        raise NeurozooError(
            f"squeue cannot list the jobs in the queue: {answer.stderr.strip()} Start again when Slurm answers."
        )
    found = []
    for line in answer.stdout.splitlines():
        job, _, rest = line.partition("|")  # a folder's name may have several lines
        name, _, place = rest.partition("|")
        if (match := _NAME.fullmatch(name)) and Path(place).resolve() == Path(folder).resolve():
            found.append((job, match[1], int(match[2])))
    return found


def _is_snakemake(process: int, folder: str | os.PathLike) -> bool:
    """Returns whether a process is another Snakemake in a folder. The system reuses process ids."""
    place = Path("/proc", str(process))
    try:
        is_there = (place / "cwd").resolve(strict=True) == Path(folder).resolve()
        return process != os.getpid() and is_there and b"snakemake" in (place / "cmdline").read_bytes()
    except OSError:
        return False
