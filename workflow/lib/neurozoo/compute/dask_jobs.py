"""Starts Dask workers as jobs: on this machine, in Grid Engine or in Slurm.

dask-jobqueue writes the job scripts. This module adds: quoted paths, no unnecessary open ports, a log file per worker,
and the detection of jobs that are refused or have ended.
"""

import asyncio
import contextlib
import copy
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dask_jobqueue import SGECluster, SLURMCluster
from dask_jobqueue.core import Job, JobQueueCluster
from dask_jobqueue.sge import SGEJob
from dask_jobqueue.slurm import SLURMJob
from distributed import Security, Status

from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.folders import make_folder

LIBRARY = Path(__file__).resolve().parents[2]
DEATH_TIMEOUT = 60  # seconds without a scheduler, after which a worker ends
MOST_SECONDS_BETWEEN_TRIALS = 60
LOOK_SECONDS = {"local": 1.0, "sge": 30.0, "slurm": 30.0}  # between status checks of jobs
SLURM_ENDS = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"}


@dataclass
class JobNotes:
    """Counts submitted and refused jobs."""

    submitted: int = 0  # accepted by the scheduler
    refusals: list[str] = field(default_factory=list)  # the scheduler's messages since it last accepted a job


class _CarefulJob(Job):
    """Quotes the paths of keys, and finds out whether the job was refused or has ended, which Dask does not do.

    A subclass for a scheduler has the command `question`, which asks about a job, and `means_gone`, which reads the
    answer.
    """

    question: tuple[str, ...]
    means_gone: Callable[[int, str, str], bool]

    def __init__(
        self, scheduler: Any = None, name: Any = None, *, notes: JobNotes, security: Security, **named: Any
    ) -> None:
        self._notes = notes
        self._again: float | None = None  # when to try again after a refusal
        quoted = copy.copy(security)
        for file in ("tls_ca_file", "tls_worker_cert", "tls_worker_key"):
            setattr(quoted, file, shlex.quote(getattr(security, file)))
        super().__init__(scheduler, name, security=quoted, **named)

    async def start(self) -> None:
        """Submits the job. After a refusal, notes it and tries again later."""
        try:
            await super().start()
        except (RuntimeError, ValueError, OSError) as error:
            self._notes.refusals.append(str(error))
            self._again = time.monotonic() + min(2 ** len(self._notes.refusals), MOST_SECONDS_BETWEEN_TRIALS)
        else:
            self._notes.submitted += 1
            self._notes.refusals.clear()

    async def _submit_job(self, script: str) -> str:
        return await self._call([*shlex.split(self.submit_command), script], env=_environment())

    async def is_gone(self) -> bool:
        """Returns whether the job has ended, or was refused and may be tried again. False if in doubt."""
        if self._again is not None:
            return time.monotonic() > self._again
        if self.job_id is None:
            return False
        command = await asyncio.create_subprocess_exec(
            *self.question, self.job_id, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment()
        )
        answer, complaint = (part.decode(errors="replace") for part in await command.communicate())
        assert command.returncode is not None  # communicate() waits for the end
        return self.means_gone(command.returncode, answer, complaint)


def _environment() -> dict[str, str]:
    """Returns the environment without Slurm's variables, which would pass the size of this job on to its workers."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "SBATCH_"))}


class CarefulSGEJob(_CarefulJob, SGEJob):
    """A worker in Grid Engine."""

    question = ("qstat", "-j")

    @staticmethod
    def means_gone(status: int, answer: str, complaint: str) -> bool:
        """Returns whether qstat's answer means that the job has ended."""
        return status != 0 and "do not exist" in answer + complaint


class CarefulSLURMJob(_CarefulJob, SLURMJob):
    """A worker in Slurm."""

    question = ("squeue", "--noheader", "--format=%T", "--jobs")

    @staticmethod
    def means_gone(status: int, answer: str, complaint: str) -> bool:
        """Returns whether squeue's answer means that the job has ended. squeue forgets jobs after some minutes."""
        return "Invalid job id" in complaint if status else not answer.strip() or answer.split()[0] in SLURM_ENDS


class LocalJob(_CarefulJob):
    """A worker on this machine. It is a new program, because a forked or spawned process would start the run again."""

    config_name = "local"
    _process: subprocess.Popen | None = None  # as long as the system has not started it

    def __init__(self, scheduler: Any = None, name: Any = None, **named: Any) -> None:
        super().__init__(scheduler, name, shebang="#!/bin/bash", **named)
        self.job_header = ""

    async def _submit_job(self, script: str) -> str:
        with open(script) as file:
            # A session of its own: Ctrl-C reaches only the run, which then ends its workers.
            self._process = subprocess.Popen(["bash", "-s"], stdin=file, start_new_session=True)
        return str(self._process.pid)

    async def is_gone(self) -> bool:
        """Returns whether the process has ended, or could not be started and may be tried again."""
        return await super().is_gone() if self._process is None else self._process.poll() is not None

    async def close(self) -> None:
        """Kills the worker and its child processes. It has nothing to save."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await asyncio.get_running_loop().run_in_executor(None, self._process.wait)


async def replace_lost_jobs(jobs: JobQueueCluster) -> None:
    """Forgets jobs that have ended, so that Dask submits new ones. Runs as long as the cluster.

    Dask itself only notices the loss of workers that had connected.
    """
    assert jobs.job_cls is not None  # Dask refuses such a cluster
    seconds = LOOK_SECONDS[jobs.job_cls.config_name]
    while jobs.status == Status.running:
        for name, job in list(jobs.workers.items()):
            with contextlib.suppress(OSError):
                if await job.is_gone() and jobs.workers.get(name) is job:
                    del jobs.workers[name]
        await asyncio.sleep(seconds)


class LocalJobs(JobQueueCluster):
    """Workers on this machine."""

    job_cls = LocalJob


def make_job_cluster(settings: ClusterSettings, *, security: Security, folder: Path, notes: JobNotes):
    """Starts a Dask scheduler in this process, with certificate and key in files. Submits no jobs yet."""
    logs = folder / "logs"
    make_folder(logs)
    words = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--memory-limit", "0"]
    scheduler = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    if settings.cluster == "local":
        words += ["--host", "127.0.0.1"]
        scheduler["host"] = "127.0.0.1"
    given: dict[str, Any] = {
        "cores": settings.threads,
        "processes": 1,
        "memory": settings.memory,
        "python": shlex.quote(sys.executable),
        "interface": settings.interface or None,
        "death_timeout": DEATH_TIMEOUT,
        "local_directory": '"${TMPDIR:-/tmp}"',
        "worker_extra_args": words,
        "job_script_prologue": _prologue(logs),
        "job_name": "neurozoo-worker",
        "job_directives_skip": [],
        "notes": notes,
        "security": security,
        "protocol": "tls://",
        "scheduler_options": scheduler,
        "silence_logs": "critical",
    }
    if settings.cluster == "local":
        return LocalJobs(**given)
    extra = [directive.strip() for directive in settings.directives.split(";") if directive.strip()]
    given |= {"queue": settings.queue or None, "walltime": settings.walltime or None}
    account = settings.account or None
    if settings.cluster == "sge":
        directives = ["-S /bin/bash", "-r n", "-o /dev/null", *extra]
        given["job_cls"] = CarefulSGEJob
        return SGECluster(**given, project=account, job_extra_directives=directives)
    directives = ["-o /dev/null", "--no-requeue", *extra]
    given["job_cls"] = CarefulSLURMJob
    return SLURMCluster(**given, account=account, job_extra_directives=directives)


def _prologue(logs: Path) -> list[str]:
    """Returns the lines before the worker's command: they set its log, our library, and limits of threads and ports."""
    number = "${SLURM_JOB_ID:-${JOB_ID:-$$}}"
    return [
        f'exec >>{shlex.quote(str(logs))}/"worker-{number}.log" 2>&1',
        f'export PYTHONPATH={shlex.quote(str(LIBRARY))}"${{PYTHONPATH:+:$PYTHONPATH}}"',
        "export TF_CPP_MIN_LOG_LEVEL=3 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1",
        # Workers serve no web pages.
        "export DASK_DISTRIBUTED__WORKER__HTTP__ROUTES='[]'",
        "export DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED=False",
    ]
