"""The river crossing task as a `World`."""

import numpy as np

from neurozoo.environments.protocols import Protocol
from neurozoo.environments.river_crossing import RiverCrossing, RiverRules
from neurozoo.environments.river_views import SCREEN_SHAPE, picture, view
from neurozoo.environments.single_frame import SingleFrameWorld, largest


class RiverCrossingWorld(SingleFrameWorld):
    """The river crossing task under one protocol, see `World`.

    Args:
        game: `river_crossing`.
        protocol: How episodes are played.
        rules: Parameters of the task; None for those of the protocol, which the native op has, too.

    Attributes:
        river: The game.
    """

    screen_shape = SCREEN_SHAPE

    def __init__(self, game: str, protocol: Protocol, rules: RiverRules | None = None):
        super().__init__(game, protocol)
        self.river = RiverCrossing(rules or RiverRules(is_faithful=protocol.rules == "faithful"))
        self.river.reset(seed=0)  # makes the first screen

    @property
    def screen(self) -> np.ndarray:
        """The world in colour: uint8, shape (160, 160, 3)."""
        return picture(self.river)

    @property
    def final_positions(self) -> np.ndarray:
        """(column, row, level) at the end of each attempt: float32, shape (attempts, 3)."""
        return np.array(self.river.final_positions, np.float32).reshape(-1, 3)

    @property
    def attempts_left(self) -> int:
        """Attempts that count and have not ended."""
        return max(0, self.river.rules.attempts - len(self.river.final_positions))

    def _start(self, seed: int) -> None:
        self.river.reset(seed=seed)

    def _play(self, outputs: np.ndarray, is_last: bool) -> tuple[float, bool]:
        reward = self.river.step(largest(outputs), is_last=is_last)
        return reward, self.river.is_over

    def _new_plane(self) -> np.ndarray:
        return view(self.river, self.protocol.observation)
