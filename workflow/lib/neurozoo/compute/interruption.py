"""Signals that ask a run to stop."""

import signal
import threading
from types import FrameType

from neurozoo.errors import NeurozooError

TIME_IS_UP = (signal.SIGUSR1, signal.SIGUSR2)  # what Grid Engine and Slurm send before the end of a job's time
FOR_GOOD = (signal.SIGTERM, signal.SIGINT)
SIGNALS = (*FOR_GOOD, *TIME_IS_UP)


class Interrupted(NeurozooError):
    """The run was asked to stop; everything up to the last finished episode is saved.

    Attributes:
        is_end_of_slice: The job's time is up, and the run is to go on in another; otherwise somebody stopped it.
    """

    def __init__(self, message: str, *, is_end_of_slice: bool = False) -> None:
        super().__init__(message)
        self.is_end_of_slice = is_end_of_slice


class Interruption:
    """Notes a signal instead of dying from it, so that the loop can stop at a good moment. A context manager.

    Grid Engine and Slurm announce the end of a job's time by SIGUSR1 or SIGUSR2; whoever ends a job for good sends
    SIGTERM or SIGINT. Outside of the main thread it watches nothing, since Python delivers signals only there.
    """

    def __init__(self) -> None:
        self._came: list[signal.Signals] = []
        self._before: dict[int, object] = {}

    def check(self) -> None:
        """Does nothing, or ends the run.

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
