"""A training that takes longer than a job may: slice after slice, without anybody watching."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from neurozoo.errors import NeurozooError
from neurozoo.files import write_text
from neurozoo.training.interruption import Interrupted

VARIABLE = "NEUROZOO_AGAIN"  # names the file in which the script of a job looks for the word
WORD = "again"
PATIENCE = 60  # seconds for Slurm to answer


@contextlib.contextmanager
def time_slice() -> Iterator[None]:
    """Has the same job started again when a training inside ends because the job's time is up.

    Then the wait for the next slice is the scheduler's business, and no retry of Snakemake's is used up, however many
    slices a run takes. A training that was stopped for good, or that failed, is not started again.

    Raises:
        NeurozooError: What came from inside; or the scheduler could not be told.
    """
    if path := os.environ.get(VARIABLE):
        Path(path).unlink(missing_ok=True)  # the word of an earlier slice
    try:
        yield
    except Interrupted as stop:
        if stop.is_end_of_slice:
            try:
                ask_again()
            except (NeurozooError, OSError, subprocess.SubprocessError) as error:
                said = getattr(error, "stderr", None) or error
                raise NeurozooError(f"{stop} The scheduler could not be told to do so: {said}") from stop
        raise


def ask_again() -> None:
    """Says that this job is to be started again once more.

    Where `NEUROZOO_AGAIN` names a file, the script of the job reads the word in it and does what its scheduler needs.
    Otherwise a job of Slurm puts itself back into the queue; outside of a job nothing happens.

    Raises:
        NeurozooError: The disk is full.
        OSError: The file cannot be written.
        subprocess.SubprocessError: Slurm refused.
    """
    if path := os.environ.get(VARIABLE):
        write_text(path, WORD + "\n")
    elif job := os.environ.get("SLURM_JOB_ID"):
        subprocess.run(["scontrol", "requeue", job], check=True, capture_output=True, text=True, timeout=PATIENCE)
