"""Continues a training that takes longer than the time limit of a job: in slices, automatically."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator

from neurozoo.compute.interruption import Interrupted
from neurozoo.errors import NeurozooError
from neurozoo.files import write_text
from neurozoo.folders import delete
from neurozoo.signals import OF_SCHEDULERS

VARIABLE = "NEUROZOO_AGAIN"  # path of the file in which the job script looks for the word
WORD = "again"
PATIENCE = 60  # seconds for Slurm to answer


@contextlib.contextmanager
def time_slice() -> Iterator[None]:
    """Asks for the same job to be started again if a training inside ends at the job's time limit.

    The scheduler then starts the next slice, and a run can have any number of slices without using Snakemake's retries.
    A training that was stopped for good, or that failed, is not started again. Until the process is over, a scheduler's
    warning that comes outside of a training is ignored, so that a job that has just finished does not fail.

    Raises:
        NeurozooError: The error from inside, also if the scheduler could not be asked.
    """
    if threading.current_thread() is threading.main_thread():  # Python sets handlers only there
        for number in OF_SCHEDULERS:
            signal.signal(number, signal.SIG_IGN)
    if path := os.environ.get(VARIABLE):
        delete(path)  # left by an earlier slice
    try:
        yield
    except Interrupted as stop:
        if stop.is_end_of_slice:
            try:
                _ask_again()
            except (NeurozooError, OSError, subprocess.SubprocessError) as error:
                said = getattr(error, "stderr", None) or error
                raise NeurozooError(f"{stop} The scheduler could not be told to do so: {said}") from stop
        raise


def _ask_again() -> None:
    """Asks for this job to be started again; outside of a job it does nothing.

    If `NEUROZOO_AGAIN` names a file, writes a word to it; the job script reads it and does what its scheduler needs.
    Otherwise a Slurm job requeues itself.
    """
    if path := os.environ.get(VARIABLE):
        write_text(path, WORD + "\n")
    elif job := os.environ.get("SLURM_JOB_ID"):
        subprocess.run(["scontrol", "requeue", job], check=True, capture_output=True, text=True, timeout=PATIENCE)
