"""Keeps two trainings from writing into one folder: after a double start, or when a node was given up that lives on.

No file is locked, since many shared file systems keep no locks, or not across a lost node. Signs of life decide: a
training that comes waits until the earlier one has ended or is silent, and else refuses; one that finds another's sign
stops before it writes a report or a state (`Heartbeat.check_owner`). What is left: until then both add episodes to the
journal, which are the same for both, and a file system that shows the other's sign late lets the earlier one go on for
as long.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from neurozoo.errors import NeurozooError
from neurozoo.training.heartbeat import PERIOD, read_sign

PATIENCE = 45.0  # seconds in which the earlier training may still end; Slurm gives one that it ends 30
SILENCE = 2.5 * PERIOD  # seconds without a new sign after which one of another host counts as gone
OLD = 120.0  # seconds after which a sign is none, by clocks of different hosts
POLL = 0.2  # seconds


def wait_for_earlier_training(state_folder: Path, *, check: Callable[[], None]) -> None:
    """Returns when nobody else trains this run: mostly at once.

    Args:
        state_folder: The run's `state/`.
        check: Called all the time; raises if the wait is to be given up.

    Raises:
        NeurozooError: Somebody else goes on training it.
    """
    begin = heard = time.monotonic()
    before = None
    while (sign := read_sign(state_folder)) is not None and sign.ended is None and sign.is_alive is not False:
        if sign.is_alive and sign.facts["process"] == os.getpid():
            return  # its end could not be written: the disk was full
        now = time.monotonic()
        if sign != before:
            before, heard = sign, now
        if sign.is_alive is None and (time.time() - sign.time > OLD or now - heard > SILENCE):
            return
        if now - begin > PATIENCE:
            raise NeurozooError(
                f"This run is being trained by {sign.author}, as {state_folder / 'process.json'} says. Two must not "
                "write into one folder: wait until it has ended, or end it, and start the same command again."
            )
        check()
        time.sleep(POLL)
