"""Starts a Dask cluster for a run, or connects to one that is already running."""

import contextlib
import logging
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
from dask_jobqueue.core import JobQueueCluster
from distributed import Client, Security

from neurozoo.compute.dask_jobs import JobNotes, make_job_cluster, replace_lost_jobs
from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.errors import NeurozooError
from neurozoo.folders import delete, open_descriptor

SUBMIT_COMMANDS = {"sge": "qsub", "slurm": "sbatch"}
MOST_REFUSALS = 5  # in a row
CONNECT_SECONDS = 30
IDLE_SECONDS = 60  # before an idle worker is ended; longer than the end of a generation takes

# These settings override the user's own Dask configuration.
DASK_SETTINGS = {
    "distributed.scheduler.allowed-failures": 10,  # workers that may be lost with a task before it fails
    "distributed.scheduler.worker-saturation": 1.0,  # tasks wait in the scheduler, so that any worker can take them
    "distributed.scheduler.worker-ttl": "2 minutes",  # without a sign of life, after which a worker counts as lost
    "distributed.scheduler.http.routes": [],
    "distributed.deploy.lost-worker-timeout": "60s",  # for a nanny to restart its worker
    "distributed.admin.large-graph-warning-threshold": "1GB",  # the weights of an evolution strategy are sent once
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
}
# Defaults of all kinds of clusters; they override the user's own dask-jobqueue configuration.
_JOB_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("name", "cores", "memory", "processes", "python", "interface", "local-directory", "queue")),
    **dict.fromkeys(("project", "account", "walltime", "job-cpu", "job-mem", "resource-spec", "log-directory")),
    **dict.fromkeys(("extra", "env-extra", "job-extra", "header-skip", "shared-temp-directory")),
    "death-timeout": 60,
    "worker-command": "distributed.cli.dask_worker",
    "worker-extra-args": [],
    "job-script-prologue": [],
    "job-extra-directives": [],
    "job-directives-skip": [],
    "scheduler-options": {},
    "shebang": "#!/bin/bash",
}


@dataclass
class Cluster:
    """A cluster in use."""

    client: Client  # which submits tasks
    settings: ClusterSettings
    notes: JobNotes | None  # of submitted and refused jobs; None for a cluster that we did not start
    folder: Path  # with the workers' logs
    has_worked: bool = False  # whether a worker has ever connected

    @property
    def announcement(self) -> str:
        """One line that says where episodes are played."""
        settings = self.settings
        if settings.is_address:
            return f"Episodes are played by the Dask cluster at {settings.cluster}"
        kind = {"local": "on this machine", "sge": "in Grid Engine", "slurm": "in Slurm"}[settings.cluster]
        return (
            f"Episodes are played by {settings.least_workers} to {settings.workers} Dask workers {kind}, each with "
            f"{settings.threads} at once; their logs are in {self.folder / 'logs'}"
        )

    def check(self) -> None:
        """Raises NeurozooError if the scheduler is gone."""
        if self.client.status != "running":
            raise self.lost()

    def count_slots(self) -> int:
        """Returns the number of episodes that the connected workers can play at once.

        Raises:
            NeurozooError: No worker is connected, and none will be, because jobs are refused or end too early.
        """
        try:
            slots = self.client.scheduler_info(n_workers=0)["total_threads"]
        except (OSError, TimeoutError) as error:
            raise self.lost() from error
        self.has_worked |= slots > 0
        if slots == 0 and self.notes:
            self._check_jobs(self.notes)
        return slots

    def _check_jobs(self, notes: JobNotes) -> None:
        if len(notes.refusals) >= MOST_REFUSALS:
            raise NeurozooError(
                f"The scheduler refuses the jobs of workers: {' '.join(notes.refusals[-1].split())} "
                "Correct the settings under distributed and start again; what has finished is saved."
            )
        if not self.has_worked and notes.submitted > 3 * self.settings.workers + 5:
            raise NeurozooError(
                f"{notes.submitted} jobs were started, but none became a worker. Their logs are in "
                f"{self.folder / 'logs'}. Correct the cause and start again."
            )

    def lost(self) -> NeurozooError:
        """Returns the error for a scheduler that is gone."""
        where = self.settings.cluster if self.settings.is_address else "of this run"
        return NeurozooError(
            f"The Dask scheduler {where} is gone. What has finished is saved; start the scheduler and then the same "
            "command again to continue."
        )


@contextlib.contextmanager
def open_cluster(settings: ClusterSettings, *, folder: str | os.PathLike) -> Iterator[Cluster]:
    """Starts a cluster and ends it afterwards, or connects to one.

    All connections use TLS. The keys are made for this run and removed at its end; only its user can read them (mode
    600). Keys of a killed run are removed when it starts again.

    `folder` is for keys and the workers' logs: nothing else uses it, and it has the same path on all nodes.

    Raises:
        NeurozooError: The scheduler's commands are missing, or the address does not answer.
    """
    folder = Path(folder).absolute()
    for name in ("distributed", "distributed.client", "distributed.deploy.adaptive", "tornado", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    dask.config.set(DASK_SETTINGS)
    dask.config.set({f"jobqueue.{kind}": _JOB_DEFAULTS for kind in ("local", "sge", "slurm")})
    if settings.is_address:
        with _connected(settings, folder) as cluster:
            yield cluster
        return
    command = SUBMIT_COMMANDS.get(settings.cluster)
    if command and not shutil.which(command):
        raise NeurozooError(
            f"A Dask cluster in {settings.cluster} needs the command {command}, which is not on the PATH. Start the "
            "run on a node that can submit jobs, or choose another cluster."
        )
    notes = JobNotes()
    with contextlib.ExitStack() as stack:
        security = stack.enter_context(_keys(folder))
        jobs = make_job_cluster(settings, security=security, folder=folder, notes=notes)
        stack.callback(_end, jobs)
        jobs.adapt(
            minimum=settings.least_workers,
            maximum=settings.workers,
            interval="1s",
            wait_count=IDLE_SECONDS,
            target_duration="1s",
        )
        jobs.loop.add_callback(replace_lost_jobs, jobs)
        client = Client(jobs.scheduler_address, security=security, set_as_default=False, timeout=CONNECT_SECONDS)
        stack.callback(client.close, timeout=5)
        yield Cluster(client, settings, notes, folder)


def _end(jobs: JobQueueCluster) -> None:
    with contextlib.suppress(Exception):  # if this fails, the workers end by themselves
        jobs.close(timeout=20)


@contextlib.contextmanager
def _connected(settings: ClusterSettings, folder: Path) -> Iterator[Cluster]:
    security = None
    if settings.cluster.startswith("tls://"):
        for file in (settings.ca_file, settings.certificate, settings.key):
            if not os.access(file, os.R_OK):
                raise NeurozooError(
                    f"The file {file} for the Dask scheduler cannot be read. Check its path and permissions."
                )
        security = Security(
            tls_ca_file=settings.ca_file,
            tls_client_cert=settings.certificate,
            tls_client_key=settings.key,
            require_encryption=True,
        )
    try:
        client = Client(settings.cluster, security=security, set_as_default=False, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise NeurozooError(
            f"No Dask scheduler answers at {settings.cluster} ({error}). Check that it runs and that the keys fit."
        ) from error
    try:
        yield Cluster(client, settings, None, folder)
    finally:
        client.close(timeout=5)


@contextlib.contextmanager
def _keys(folder: Path) -> Iterator[Security]:
    """Writes a key and its certificate to files, and removes them when the cluster is closed."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    made = Security.temporary()
    try:
        for path, text in ((certificate, made.tls_worker_cert), (key, made.tls_worker_key)):
            delete(path)  # of a run that was killed
            with open(open_descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(text)
        roles = ("client", "scheduler", "worker")
        yield Security(
            require_encryption=True,
            tls_ca_file=str(certificate),
            **{f"tls_{role}_cert": str(certificate) for role in roles},
            **{f"tls_{role}_key": str(key) for role in roles},
        )
    finally:
        delete(certificate)
        delete(key)
