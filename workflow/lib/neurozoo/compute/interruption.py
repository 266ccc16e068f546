"""Handles the signals that ask a run to stop."""

import signal
import threading
from types import FrameType
from typing import Any

from neurozoo.errors import NeurozooError

TIME_IS_UP = (signal.SIGUSR1, signal.SIGUSR2)  # Grid Engine and Slurm send these before a job's time limit
FOR_GOOD = (signal.SIGTERM, signal.SIGINT)
SIGNALS = (*FOR_GOOD, *TIME_IS_UP)


class Interrupted(NeurozooError):
    """The run was asked to stop; everything up to the last finished episode is saved.

    Attributes:
        is_end_of_slice: Whether the job reached its time limit, so that the run should continue in another job.
            Otherwise somebody stopped the run.
    """

    def __init__(self, message: str, *, is_end_of_slice: bool = False) -> None:
        super().__init__(message)
        self.is_end_of_slice = is_end_of_slice


class Interruption:
    """Notes a signal instead of dying from it, so that a run can save its state first. Use as a context manager.

    SIGUSR1 and SIGUSR2 announce a job's time limit (Grid Engine, Slurm); SIGTERM and SIGINT end a run for good. Outside
    of the main thread it does nothing, because Python delivers signals only there.
    """

    def __init__(self) -> None:
        self._came: list[signal.Signals] = []
        self._before: dict[int, Any] = {}  # the handlers that `signal.signal` returned

    def check(self) -> None:
        """Ends the run if a signal came.

        Raises:
            Interrupted: A signal came.
        """
        if self._came:
            for_good = [number for number in self._came if number in FOR_GOOD]
            raise Interrupted(
                f"Stopped by {(for_good or self._came)[0].name}; the state is saved. Start the same command again to "
                "continue.",
                is_end_of_slice=not for_good,
            )

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._came.append(signal.Signals(number))

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
