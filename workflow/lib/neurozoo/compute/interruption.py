"""Lets a run save its state when a signal asks it to stop."""

import signal
import threading
from types import FrameType
from typing import Any

from neurozoo.errors import NeurozooError
from neurozoo.signals import FOR_GOOD, OF_TERMINALS, SIGNALS, TIME_IS_UP


class Interrupted(NeurozooError):
    """The run was asked to stop; everything up to the last finished episode is saved.

    At the end of a slice, the job reached its time limit, so that the run should continue in another job. Otherwise
    somebody stopped the run.
    """

    def __init__(self, message: str, *, is_end_of_slice: bool = False) -> None:
        super().__init__(message)
        self.is_end_of_slice = is_end_of_slice


class Interruption:
    """Notes a signal instead of dying from it, so that a run can save its state first. Use as a context manager.

    `TIME_IS_UP` announces a job's time limit (Grid Engine, Slurm); `FOR_GOOD` ends a run for good. A run that ignores
    signals of terminals, as with `nohup`, goes on ignoring them. Outside of the main thread it does nothing, because
    Python delivers signals only there.
    """

    def __init__(self) -> None:
        self._came: list[signal.Signals] = []
        self._before: dict[int, Any] = {}  # the handlers that `signal.signal` returned

    def check(self) -> None:
        """Raises Interrupted if a signal came."""
        if self._came:
            number = next((number for number in self._came if number in FOR_GOOD), self._came[0])
            raise Interrupted(
                f"Stopped by {number.name}; the state is saved. Start the same command again to continue.",
                is_end_of_slice=number in TIME_IS_UP,
            )

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._came.append(signal.Signals(number))

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if number not in OF_TERMINALS or signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
