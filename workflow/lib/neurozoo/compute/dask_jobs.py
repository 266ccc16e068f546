"""Workers as jobs: on this machine, in Grid Engine, in Slurm.

dask-jobqueue writes the job scripts. What is added here: everything is quoted, nothing listens where it need not, the
workers' words go to a file of their own, and a scheduler that refuses our jobs is noticed.
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
from dataclasses import dataclass, field
from pathlib import Path

from dask_jobqueue import SGECluster, SLURMCluster
from dask_jobqueue.core import Job, JobQueueCluster
from dask_jobqueue.sge import SGEJob
from dask_jobqueue.slurm import SLURMJob
from distributed import Security, Status

from neurozoo.clusters.dask_settings import ClusterSettings

LIBRARY = Path(__file__).resolve().parents[2]
DEATH_TIMEOUT = 60  # seconds without a scheduler after which a worker gives up
MOST_SECONDS_BETWEEN_TRIALS = 60
LOOK_SECONDS = {"local": 1.0, "sge": 30.0, "slurm": 30.0}  # between questions about jobs
SLURM_ENDS = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"}


@dataclass
class JobNotes:
    """What became of the jobs that were handed in.

    Attributes:
        submitted: How many a scheduler took.
        refusals: What it said, as often as it refused since it last took one.
    """

    submitted: int = 0
    refusals: list[str] = field(default_factory=list)


class _CarefulJob:
    """Quotes the paths of keys, and notices what becomes of the job, about which Dask asks nobody."""

    def __init__(self, *arguments: object, notes: JobNotes, security: Security, **named: object) -> None:
        self._notes = notes
        self._again: float | None = None  # when to try again, once it was refused
        quoted = copy.copy(security)
        for name in ("tls_ca_file", "tls_worker_cert", "tls_worker_key"):
            setattr(quoted, name, shlex.quote(getattr(security, name)))
        super().__init__(*arguments, security=quoted, **named)

    async def start(self) -> None:
        """Hands the job in; a refusal is noted, and tried again later."""
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
        """Whether the job has ended, or never began and may be tried again; in doubt it has not."""
        if self._again is not None:
            return time.monotonic() > self._again
        if self.job_id is None:
            return False
        command = await asyncio.create_subprocess_exec(
            *self.question, self.job_id, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment()
        )
        answer, complaint = (part.decode(errors="replace") for part in await command.communicate())
        return self.means_gone(command.returncode, answer, complaint)


def _environment() -> dict[str, str]:
    """Returns ours, without what a job that hands in jobs would pass on to them: its own size."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "SBATCH_"))}


class CarefulSGEJob(_CarefulJob, SGEJob):
    """A worker in Grid Engine."""

    question = ("qstat", "-j")

    @staticmethod
    def means_gone(status: int, answer: str, complaint: str) -> bool:
        """Reads what qstat says."""
        return status != 0 and "do not exist" in answer + complaint


class CarefulSLURMJob(_CarefulJob, SLURMJob):
    """A worker in Slurm."""

    question = ("squeue", "--noheader", "--format=%T", "--jobs")

    @staticmethod
    def means_gone(status: int, answer: str, complaint: str) -> bool:
        """Reads what squeue says, which forgets a job some minutes after its end."""
        return "Invalid job id" in complaint if status else not answer.strip() or answer.split()[0] in SLURM_ENDS


class LocalJob(_CarefulJob, Job):
    """A worker on this machine: a process of its own, since one that is forked or spawned would start the run again."""

    config_name = "local"

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, shebang="#!/bin/bash", **named)
        self.job_header = ""

    async def _submit_job(self, script: str) -> str:
        with open(script) as file:
            # A session of its own: Ctrl-C is for the run, which then ends its workers.
            self._process = subprocess.Popen(["bash", "-s"], stdin=file, start_new_session=True)
        return str(self._process.pid)

    async def is_gone(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    async def close(self) -> None:
        """Ends the worker, which has nothing to save, and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await asyncio.get_running_loop().run_in_executor(None, self._process.wait)


async def replace_lost_jobs(jobs: JobQueueCluster) -> None:
    """Forgets jobs that have ended, so that others are asked for; runs as long as the cluster.

    Dask itself notices only workers that have been there before.
    """
    while jobs.status == Status.running:
        for name, job in list(jobs.workers.items()):
            with contextlib.suppress(OSError):
                if await job.is_gone() and jobs.workers.get(name) is job:
                    del jobs.workers[name]
        await asyncio.sleep(LOOK_SECONDS[jobs.job_cls.config_name])


class LocalJobs(JobQueueCluster):
    """Workers on this machine."""

    job_cls = LocalJob


def make_job_cluster(settings: ClusterSettings, *, security: Security, folder: Path, notes: JobNotes):
    """Starts a scheduler in this process, to which jobs can come; none is asked for yet.

    Args:
        settings: Which cluster, and what a job looks like.
        security: Files with a certificate and its key.
        folder: Where workers write their logs; on every node the same.
        notes: Is told what becomes of jobs.
    """
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    is_local = settings.cluster == "local"
    words = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--memory-limit", "0"]
    scheduler = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    if is_local:
        words += ["--host", "127.0.0.1"]
        scheduler["host"] = "127.0.0.1"
    given = {
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
    if is_local:
        return LocalJobs(**given)
    extra = [directive.strip() for directive in settings.directives.split(";") if directive.strip()]
    given |= {"queue": settings.queue or None, "walltime": settings.walltime or None}
    if settings.cluster == "sge":
        directives = ["-S /bin/bash", "-r n", "-o /dev/null", *extra]
        project = settings.account or None
        return SGECluster(job_cls=CarefulSGEJob, project=project, job_extra_directives=directives, **given)
    directives = ["-o /dev/null", "--no-requeue", *extra]
    account = settings.account or None
    return SLURMCluster(job_cls=CarefulSLURMJob, account=account, job_extra_directives=directives, **given)


def _prologue(logs: Path) -> list[str]:
    """Lines before the worker's command: its log, our library, and no threads or ports beyond what is asked for."""
    number = "${SLURM_JOB_ID:-${JOB_ID:-$$}}"
    return [
        f'exec >>{shlex.quote(str(logs))}/"worker-{number}.log" 2>&1',
        f'export PYTHONPATH={shlex.quote(str(LIBRARY))}"${{PYTHONPATH:+:$PYTHONPATH}}"',
        "export TF_CPP_MIN_LOG_LEVEL=3 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1",
        # Workers serve no web pages.
        "export DASK_DISTRIBUTED__WORKER__HTTP__ROUTES='[]'",
        "export DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED=False",
    ]
