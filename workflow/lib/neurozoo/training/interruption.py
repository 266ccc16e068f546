"""Signals that ask a run to stop."""

import signal
import threading
from types import FrameType

from neurozoo.errors import NeurozooError

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)


class Interrupted(NeurozooError):
    """The run was asked to stop; everything up to the last finished episode is saved."""


class Interruption:
    """Notes a signal instead of dying from it, so that the loop can stop at a good moment. A context manager.

    Grid Engine and Slurm announce the end of a job's time by SIGUSR1, SIGUSR2 or SIGTERM. Outside of the main thread
    it watches nothing, since Python delivers signals only there.
    """

    def __init__(self) -> None:
        self._came: str | None = None
        self._before: dict[int, object] = {}

    def check(self) -> None:
        """Does nothing, or ends the run.

        Raises:
            Interrupted: A signal came.
        """
        if self._came:
            raise Interrupted(f"Stopped by {self._came}; the state is saved. Start the same command again to continue.")

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._came = signal.Signals(number).name

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
