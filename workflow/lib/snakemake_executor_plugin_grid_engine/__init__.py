"""Snakemake's executor for Sun / Son of Grid Engine: `snakemake --profile sge` (docs/clusters.md).

Runs of one experiment are the tasks of one array job. A job of an earlier Snakemake (killed, or its terminal closed)
that still makes the same files is taken over: two trainings must never write into one folder. Snakemake finds the
plugin by the name of this package.
"""

import contextlib
import json
import os
import shlex
import tempfile
import threading
import time
import uuid
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.settings import CommonSettings

from snakemake_executor_plugin_grid_engine.commands import GridEngineError, Listed, error_reason, qdel, qstat, qsub
from snakemake_executor_plugin_grid_engine.records import FOLDER, Record, newest_job
from snakemake_executor_plugin_grid_engine.settings import ExecutorSettings
from snakemake_executor_plugin_grid_engine.submission import Job, Submission, submissions

_END = 60  # seconds within which a deleted job has to leave the queue


common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    auto_deploy_default_storage_provider=False,
)


class Executor(RemoteExecutor):
    """Submits jobs, asks what became of them, and deletes them if Snakemake is stopped."""

    def __post_init__(self) -> None:
        # The jobs in the queue. Snakemake's own list is empty while they are looked at.
        self._living: set[str] = set()
        self._silent_since: dict[str, float] = {}
        # Jobs are submitted in a thread of their own, which Ctrl-C does not interrupt: none is lost on its way.
        self._submitter = ThreadPoolExecutor(max_workers=1)
        self._is_cancelled = threading.Event()

    def get_job_exec_prefix(self, job: JobExecutorInterface) -> str:
        """Says where a node executes a job."""
        return f"cd {shlex.quote(self.workflow.workdir_init)}"

    def run_job(self, job: JobExecutorInterface) -> None:
        """Submits one job."""
        self.run_jobs([job])

    def run_jobs(self, jobs: list[JobExecutorInterface]) -> None:
        """Submits jobs that can start now, runs of one experiment together."""
        for job in jobs:
            self.run_job_pre(job)
        self._submitter.submit(self._submit_all, jobs).result()

    def _submit_all(self, jobs: list[JobExecutorInterface]) -> None:
        new = {}
        for original in jobs:
            properties = json.loads(original.properties()) | {"output": list(map(str, original.output))}
            job = Job(properties, self.format_job_exec(original))
            try:
                job.options(self.executor_settings)  # may be refused
                earlier = self._earlier(job)
            except GridEngineError as error:
                self.report_job_error(SubmittedJobInfo(original), msg=f"{error} ")
                continue
            if earlier is None:
                new[job] = original
            else:
                self.logger.warning(
                    f"Job {earlier.job} of an earlier Snakemake is still making these files; it is taken over."
                )
                self._follow(earlier, original)
        for submission in submissions(new, self.executor_settings):
            if not self._is_cancelled.is_set():
                self._submit(submission, new)

    def _submit(self, submission: Submission, origin: dict[Job, JobExecutorInterface]) -> None:
        try:
            records = self._submitted(submission)
        except (GridEngineError, OSError) as error:
            for job in submission.jobs:
                self.report_job_error(SubmittedJobInfo(origin[job]), msg=f"{error} ")
            return
        for job, record in records.items():
            self.logger.info(f"Submitted job {origin[job].jobid} as {record.job}.")
            self._follow(record, origin[job])

    def _submitted(self, submission: Submission) -> dict[Job, Record]:
        settings, token = self.executor_settings, uuid.uuid4().hex[:12]
        FOLDER.mkdir(parents=True, exist_ok=True)
        for job in submission.jobs:
            Path(job.log).parent.mkdir(parents=True, exist_ok=True)
        number = qsub(
            submission.command(settings),
            submission.script(token, warning=settings.warning),
            patience=settings.patience,
            is_cancelled=self._is_cancelled,
            notify=self.logger.warning,
        )
        records = {}
        try:
            for job in submission.jobs:
                records[job] = Record(
                    job=f"{number}.{job.run}" if submission.is_array else number,
                    token=f"{token}-{submission.task(job)}",
                    time=time.time(),
                    name=job.name,
                    log=job.log.replace("$JOB_ID", number),
                    output=job.output,
                    recipe=job.recipe,
                    folder=os.getcwd(),
                )
                records[job].save()
        except OSError:
            qdel([number])
            raise
        return records

    def _follow(self, record: Record, job: JobExecutorInterface) -> None:
        self._living.add(record.job)
        self.report_job_submission(SubmittedJobInfo(job, external_jobid=record.job, aux={"record": record}))

    def _earlier(self, job: Job) -> Record | None:
        """Returns the living job that already makes these files; one with another recipe is ended first."""
        earlier = newest_job(job.output)
        if earlier is None or earlier.exit_code is not None or (found := _look_up(earlier.job)) is None:
            return None
        if earlier.recipe == job.recipe and "d" not in found.state:
            return earlier
        qdel([earlier.job])
        for _ in range(_END):
            found = _look_up(earlier.job)
            if found is None or found.is_unreachable:  # its node learns of the qdel before it does anything else
                return None
            time.sleep(1)
        raise GridEngineError(
            f"Job {earlier.job} makes the same files and cannot be ended. End it first: qdel {earlier.job}"
        )

    async def check_active_jobs(self, active_jobs: list[SubmittedJobInfo]) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Reports what has ended, and returns the others. What a job noted down decides; without that, qstat does."""
        records = [info.aux["record"] for info in active_jobs]
        listing = qstat() if any(record.exit_code is None for record in records) else {}
        for info, record in zip(active_jobs, records, strict=True):
            code = record.exit_code  # it may have ended while qstat was asked
            if code is None and listing is None:
                yield info
                continue
            found = listing.get(record.job) if listing else None
            silent_for = self._silence(record.job, is_well=found is not None and not found.is_unreachable)
            reason = judge(code, found, silent_for=silent_for, settings=self.executor_settings)
            if reason is None:
                yield info
                continue
            self._living.discard(record.job)
            if not reason:
                with contextlib.suppress(OSError):
                    os.unlink(record.log)  # of no use to anybody
                self.report_job_success(info)
                continue
            if code is None and found is not None:
                said = error_reason(record.job)
                reason += f" ({said})" if said else ""
                qdel([record.job])
            else:
                reason += _full_disk(os.path.dirname(record.log) or ".")
            self.report_job_error(info, msg=f"Job {record.job} {reason}; its log is {record.log}. ")

    def _silence(self, job: str, *, is_well: bool) -> float:
        """Returns for how many seconds nothing is known of a job, by a clock that nobody sets."""
        if is_well:
            self._silent_since.pop(job, None)
            return 0
        now = time.monotonic()
        return now - self._silent_since.setdefault(job, now)

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        """Deletes all jobs in the queue, also those that are being submitted."""
        self._is_cancelled.set()
        self._submitter.shutdown()
        if self._living:
            qdel(sorted(self._living.copy()))


def judge(code: int | None, found: Listed | None, *, silent_for: float, settings: ExecutorSettings) -> str | None:
    """Decides what became of a job.

    Args:
        code: Exit code that the job's script noted down, if it did.
        found: What qstat lists; None if it does not list the job.
        silent_for: Seconds since the job was first found missing, or on a node that does not answer; 0 if it is well.
        settings: Those of the executor.

    Returns:
        Why it failed; empty if it succeeded, None while it goes on.
    """
    if code is not None:
        return f"ended with exit code {code}" if code else ""
    if found is None:
        if silent_for < settings.grace:
            return None
        return "left the queue without an exit code: time or memory limit, or qdel (qacct -j says which)"
    if "E" in found.state:  # never ends by itself
        return f"is in error state {found.state} and is deleted"
    if found.is_unreachable and silent_for >= settings.patience:
        return f"is given up: its node has not answered for {silent_for:.0f} s"
    return None


def _look_up(job: str) -> Listed | None:
    if (listing := qstat()) is None:
        raise GridEngineError(
            "Grid Engine does not answer (qstat failed). Start again when it does; nothing was submitted."
        )
    return listing.get(job)


def _full_disk(folder: str) -> str:
    """Says so if nothing can be written to a folder: then no log of the job tells it."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(2**20))
    except OSError as error:
        return f"; {folder} cannot be written to ({error.strerror}), make room and start again"
    return ""
