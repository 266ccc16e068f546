"""Trains a run in several processes (MPI): rank 0 runs the loop of all algorithms, the others follow it."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from neurozoo.algorithms.session import RunContext
from neurozoo.compute.interruption import Interrupted, Interruption
from neurozoo.compute.mpi import patience_of
from neurozoo.compute.mpi_launch import mpi_command, run_ranks
from neurozoo.training.heartbeat import correct_end


def train_in_ranks(
    context: RunContext, count: int, *, terminal: str, keep_tags: Sequence[str], tensorboard: bool
) -> None:
    """Starts the processes of a run, and waits for their end. The arguments are those of `train`.

    Raises:
        NeurozooError: A process failed or was lost, or a signal came (`Interrupted`).
    """
    patience_of(os.environ)  # a wrong value ends here, before anything is started
    run = {
        **context.identity,
        "settings": asdict(context.settings),
        "run_dir": os.path.abspath(context.run_dir),
        "core": context.core and os.path.abspath(context.core),
        "noise": context.noise and os.path.abspath(context.noise),
        "threads": threads_of_rank(context.threads, count),
        "backup": context.backup,
    }
    shown = {"terminal": "lines" if terminal == "bar" else terminal, "keep_tags": keep_tags, "tensorboard": tensorboard}
    job = {"run": run, "count": count, "shown": shown}
    program = [sys.executable, "-m", "neurozoo.training.rank_process", json.dumps(job)]
    with Interruption() as interruption:
        try:
            run_ranks([*mpi_command(context.mpi, count), *program], count=count, check=interruption.check)
        except Interrupted as stop:
            correct_end(context.state_dir, stop)
            raise


def threads_of_rank(threads: int, count: int, environment: Mapping[str, str] = os.environ) -> int:
    """Returns the threads of one process, given those of the job.

    Snakemake's Slurm counts threads per process; its jobs know their number, but not how many processes they have.
    """
    is_slurm = "SLURM_JOB_ID" in environment and "SLURM_NTASKS" not in environment
    return threads if is_slurm else max(1, threads // count)
