"""Keeps two trainings from writing into one folder, as after a double start, or when a node is lost but still runs.

No file is locked, because many shared file systems have no locks, or lose them with a node. Heartbeats decide instead.
A later training waits until the earlier one has ended or its heartbeats have stopped; otherwise it refuses to start.
Then it writes its own heartbeat, and only after that it reads the state. A training that finds another's heartbeat
stops before it writes a report or a state (`Heartbeat.check_owner`).

Two limits remain. Until the earlier training stops, both add episodes to the journal; these are the same for both. And
if a file system shows the other's heartbeat late, the earlier training goes on for that long.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from neurozoo.errors import NeurozooError
from neurozoo.files.times import time_in
from neurozoo.training.heartbeat import PERIOD, read_heartbeat

PATIENCE = 45.0  # seconds in which the earlier training may still end; Slurm gives a job 30 after SIGTERM
SILENCE = 2.5 * PERIOD  # seconds without a heartbeat after which a training on another host counts as gone
OLD = 120.0  # seconds after which a heartbeat does not count
POLL = 0.2  # seconds


def wait_for_earlier_training(state_folder: Path, *, check: Callable[[], None]) -> None:
    """Waits until no other process trains this run, and returns at once if none does.

    Args:
        state_folder: The run's `state/`.
        check: Called again and again; raises to end the wait.

    Raises:
        NeurozooError: Another process keeps training the run.
    """
    begin = heard = time.monotonic()
    before = None
    while (heartbeat := read_heartbeat(state_folder)) is not None and heartbeat.ended is None:
        if heartbeat.is_alive is False:
            return
        if heartbeat.is_alive and heartbeat.facts["process"] == os.getpid():
            return  # an earlier training of this process; a full disk kept it from noting its end
        now = time.monotonic()
        if heartbeat != before:
            before, heard = heartbeat, now
        if heartbeat.is_alive is None and (now - heard > SILENCE or time_in(state_folder) / 1e9 - heartbeat.time > OLD):
            return
        if now - begin > PATIENCE:
            raise NeurozooError(
                f"This run is being trained by {heartbeat.author}, as {state_folder / 'process.json'} says. Two "
                "trainings must not write into one folder: wait until it has ended, or end it, then start the same "
                "command again."
            )
        check()
        time.sleep(POLL)
