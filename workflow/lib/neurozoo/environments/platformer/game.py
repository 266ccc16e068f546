"""One game of a level, played tick by tick by whoever presses the buttons."""

import os

import numpy as np

from neurozoo.environments.platformer.drawing import draw_tick
from neurozoo.environments.platformer.simulator import OPS, RUNNING, Replay, replay
from neurozoo.environments.platformer.tiles import to_characters

TICKS_PER_SECOND = 24


class PlatformerGame:
    """A game in a level. Every press plays the whole game again, which takes about 3 us for each tick of it.

    Args:
        level: uint8, shape (16, 56), numbers of tiles.
        ops: The op library.

    Raises:
        NeurozooError: The op library is missing or does not fit.

    Attributes:
        seen: The game so far.
    """

    def __init__(self, level: np.ndarray, *, ops: str | os.PathLike = OPS) -> None:
        self._level, self._ops = np.asarray(level, np.uint8), ops
        self._characters = to_characters(self._level)
        self._buttons: list[int] = []
        self.seen: Replay = replay(self._characters, np.zeros(0, np.uint8), ops=ops)

    def press(self, buttons: int, *, ticks: int = 1) -> None:
        """Holds buttons for some ticks, or until the game is over.

        Args:
            buttons: Bits, see `simulator.LEFT` to `JUMP`.
            ticks: How long.
        """
        if self.is_over:
            return
        self._buttons += [buttons] * ticks
        self.seen = replay(self._characters, np.array(self._buttons, np.uint8), ops=self._ops)
        del self._buttons[self.tick :]

    @property
    def tick(self) -> int:
        """Decisions so far."""
        return len(self.seen.status) - 1

    @property
    def status(self) -> int:
        """`simulator.RUNNING`, `WON`, `LOST` or `TIME_OUT`."""
        return int(self.seen.status[-1])

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.status != RUNNING

    @property
    def completion(self) -> float:
        """Share of the way to the finish, 0 to 1."""
        return float(self.seen.completion[-1])

    def picture(self) -> np.ndarray:
        """Draws the level as it is now: uint8, shape (256, 896, 3)."""
        return draw_tick(self._level, self.seen, self.tick)

    def screen(self) -> np.ndarray:
        """Draws the part of the level that a screen shows: uint8, shape (256, 256, 3)."""
        left = int(self.seen.camera[-1])
        return np.ascontiguousarray(self.picture()[:, left : left + 256])
