"""What a job becomes: the options and the script with which it is submitted."""

import itertools
import math
import os
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snakemake_executor_plugin_grid_engine.commands import GridEngineError
from snakemake_executor_plugin_grid_engine.records import FOLDER, digest
from snakemake_executor_plugin_grid_engine.settings import ExecutorSettings

# What a job inherits. Not all (-V): everybody on the cluster can read a job's variables, and some hold passwords. The
# script sets them, since a job's shell is a login shell, whose profile sets PATH anew.
VARIABLES = re.compile(
    r"PATH|LD_LIBRARY_PATH|LANG|LC_\w+|VIRTUAL_ENV|XDG_CACHE_HOME|MPLCONFIGDIR|(CONDA|CUDA|KERAS|TF|XLA|JAX)_\w+"
)


@dataclass(frozen=True, eq=False)
class Job:
    """A job of Snakemake as Grid Engine needs it.

    Attributes:
        properties: What Snakemake says about it: rule, wildcards, threads, resources, output and so on.
        command: What a node executes.
    """

    properties: dict[str, Any]
    command: str

    @property
    def output(self) -> list[str]:
        """What it makes."""
        return self.properties["output"]

    @property
    def recipe(self) -> str:
        """A digest of how it makes that."""
        return digest([self.properties.get(key) for key in ("rule", "input", "output", "params", "threads")])

    @property
    def name(self) -> str:
        """Its name in the queue: rule and wildcards."""
        parts = [self.properties.get("rule") or self.properties.get("groupid") or "group"]
        parts += (self.properties.get("wildcards") or {}).values()
        return re.sub(r"[^\w.-]", "_", ".".join(map(str, parts)))

    @property
    def log(self) -> str:
        """Where Grid Engine puts what it prints: beside the rule's own log, by the job's number."""
        logs = self.properties.get("log")
        stem = Path(logs[0]).with_suffix("") if logs else Path(self.output[0]).parent / self.name
        return f"{stem}.sge-$JOB_ID.log"

    @property
    def run(self) -> int | None:
        """Which run of an experiment it belongs to, if the last wildcard is such a number and names a folder."""
        last = str(next(reversed((self.properties.get("wildcards") or {}).values()), ""))
        return int(last) if re.fullmatch(r"[1-9]\d{0,4}", last) and self.log.count(f"/{last}/") == 1 else None

    @property
    def seconds(self) -> int:
        """Its time limit; 0 if it has none."""
        return int(float(self.properties.get("resources", {}).get("runtime", 0)) * 60)

    def options(self, settings: ExecutorSettings) -> tuple[str, ...]:
        """Translates threads and resources into options of qsub.

        Raises:
            GridEngineError: The GPUs do not divide among the slots, where the cluster counts them per slot.
        """
        resources, threads = self.properties.get("resources", {}), int(self.properties.get("threads", 1))
        environment = settings.mpi_environment if resources.get("mpi") else settings.parallel_environment
        threads = max(threads, int(resources.get("tasks", 1)))
        options = ["-pe", environment, str(threads)] if threads > 1 else []
        limits = []
        if "runtime" in resources:
            limits.append(f"h_rt={self.seconds}")
        if "mem_mb" in resources and settings.memory != "none":
            shares = threads if settings.memory_per == "slot" else 1
            limits.append(f"{settings.memory}={math.ceil(int(resources['mem_mb']) / shares)}M")
        if gpus := int(resources.get("gpu", 0)):
            shares = threads if settings.gpu_per == "slot" else 1
            if gpus % shares:
                raise GridEngineError(
                    f"{self.name}: {gpus} GPUs do not divide among {threads} slots, but {settings.gpu!r} counts per "
                    "slot here (profiles/sge/config.yaml). Ask for as many GPUs as threads, or for a multiple."
                )
            limits.append(f"{settings.gpu}={gpus // shares}")
        if limits:
            options += ["-l", ",".join(limits)]
        return (*options, *shlex.split(settings.options))


@dataclass(frozen=True)
class Submission:
    """Jobs that are submitted together: the tasks of an array job, or one plain job."""

    jobs: list[Job]
    is_array: bool = False

    def task(self, job: Job) -> str:
        """Returns what $SGE_TASK_ID is in one of the jobs: the number of its run, or `undefined` in a plain job."""
        return str(job.run) if self.is_array else "undefined"

    def command(self, settings: ExecutorSettings) -> list[str]:
        """Returns the command that reads the script and prints the number."""
        first, last = self.jobs[0], self.jobs[-1]
        command = ["qsub", "-terse", "-S", "/bin/bash", "-cwd", "-r", "n", "-w", "e", "-j", "y"]
        name, log = first.name, first.log
        if self.is_array:
            name, log = name.rpartition(".")[0], log.replace(f"/{first.run}/", "/$TASK_ID/")
            command += ["-t", f"{first.run}-{last.run}"]
        return [*command, "-o", log, "-N", name, *first.options(settings)]

    def script(self, token: str, *, warning: int) -> str:
        """Puts the jobs' commands into a script that notes down how they ended, which Grid Engine forgets.

        Warning signals are for the program inside, not for the shells and the Snakemake around it. To exit with 99 asks
        Grid Engine to start the same job again, which happens only if the program wants it; 100 would keep the job in
        the queue for ever.

        The script itself warns of the time limit, since Grid Engine 8.1.9 warns (s_rt) only the first time that a job
        is started: after that it kills the job at that time. To wait, it reads from a pipe that nobody writes to: that
        leaves no `sleep` behind when the job ends earlier.

        Args:
            token: Name of the notes; those of a job begin with `TOKEN-TASK`.
            warning: Seconds before the time limit at which all processes of a job get SIGUSR1; 0 for never.
        """
        limit = self.jobs[0].seconds
        timer = "timer="
        if warning and limit > 2 * warning:
            timer = f"( read -rt {limit - warning} <> <(:); kill -USR1 -- -$$ ) & timer=$!"
        inherited = sorted(name for name in os.environ if VARIABLES.fullmatch(name))
        exports = "\n".join(f"export {name}={shlex.quote(os.environ[name])}" for name in inherited)
        commands = "\n".join(f"{self.task(job)})\n{job.command}\n;;" for job in self.jobs)
        return f"""#!/bin/bash
trap '' USR1 USR2 XCPU
{exports}
note={FOLDER}/{token}-$SGE_TASK_ID
export NEUROZOO_AGAIN="$PWD/$note.again"
{timer}
(
case $SGE_TASK_ID in
{commands}
esac
)
code=$?
[ -z "$timer" ] || kill $timer
if [ $code -ne 0 ] && [ -s "$NEUROZOO_AGAIN" ]; then rm "$NEUROZOO_AGAIN"; exit 99; fi
echo $code > $note.part && mv $note.part $note.exit
[ $code -ne 99 ] && [ $code -ne 100 ] || code=1
exit $code
"""


def submissions(jobs: Iterable[Job], settings: ExecutorSettings) -> list[Submission]:
    """Makes array jobs of runs of one experiment that ask for the same resources; a task has its run's number."""
    together: dict[object, dict[int, Job]] = {}
    made = []
    for job in jobs:
        if job.run is None:
            made.append(Submission([job]))
        else:
            likeness = (job.name.rpartition(".")[0], job.options(settings), job.log.replace(f"/{job.run}/", "/"))
            together.setdefault(likeness, {})[job.run] = job
    for runs in together.values():
        # Tasks of an array are consecutive.
        for _, part in itertools.groupby(enumerate(sorted(runs)), key=lambda place: place[1] - place[0]):
            made.append(Submission([runs[run] for _, run in part], is_array=True))
    return made
