"""One game of a level, played tick by tick by whoever presses the buttons."""

import os

import numpy as np

from neurozoo.environments.platformer.drawing import draw_tick
from neurozoo.environments.platformer.simulator import CORE, RUNNING, Replay, replay
from neurozoo.environments.platformer.tiles import ends_of, to_characters

TICKS_PER_SECOND = 24


class PlatformerGame:
    """A game in a level. Every press plays the whole game again, which takes less than 1 us for each tick of it.

    `level` is uint8, shape (16, 56), numbers of tiles; `now` is the newest tick, and `finish_column` where it is won.

    Raises:
        NeurozooError: The native core is missing or does not fit.
    """

    def __init__(self, level: np.ndarray, *, core: str | os.PathLike = CORE) -> None:
        self._level, self._core = np.asarray(level, np.uint8), core
        self._characters = to_characters(self._level)
        self.finish_column = ends_of(self._level)[1]
        self._buttons: list[int] = []
        self.now: Replay = self._replay(newest_only=True)

    def press(self, buttons: int, *, ticks: int = 1) -> None:
        """Holds buttons (bits, see `simulator.LEFT` to `JUMP`) for some ticks, or until the game is over."""
        if not self.is_over:
            self._buttons += [buttons] * ticks
            self.now = self._replay(newest_only=True)
            del self._buttons[self.tick :]

    @property
    def ticks(self) -> Replay:
        """All ticks so far."""
        return self._replay(newest_only=False)

    @property
    def tick(self) -> int:
        """Decisions so far."""
        return int(self.now.tick[-1])

    @property
    def status(self) -> int:
        """`simulator.RUNNING`, `WON`, `LOST` or `TIME_OUT`."""
        return int(self.now.status[-1])

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.status != RUNNING

    @property
    def completion(self) -> float:
        """Share of the way to the finish, 0 to 1."""
        return float(self.now.completion[-1])

    def picture(self) -> np.ndarray:
        """Draws the level as it is now: uint8, shape (256, 896, 3)."""
        return draw_tick(self._level, self.ticks, self.tick)

    def screen(self) -> np.ndarray:
        """Draws the part of the level that a screen shows: uint8, shape (256, 256, 3)."""
        left = int(self.now.camera[-1])
        return np.ascontiguousarray(self.picture()[:, left : left + 256])

    def _replay(self, *, newest_only: bool) -> Replay:
        return replay(self._characters, np.array(self._buttons, np.uint8), newest_only=newest_only, core=self._core)
