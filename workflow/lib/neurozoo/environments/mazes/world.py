"""Mazes as a `World`: one episode after the other, in mazes that are drawn from the seeds of the episodes."""

import numpy as np

from neurozoo.environments.episode_seeds import is_for_test
from neurozoo.environments.mazes.curriculum import PHASES, TESTED, MazeLevel, draw_level
from neurozoo.environments.mazes.endpoints import SIDE
from neurozoo.environments.mazes.simulator import MazeEpisodes, reward_at
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.world import SingleFrameWorld, largest

PIXELS = 8  # of a cell, on each side
_RING = 1  # cells of wall around the maze
_FREE, _WALL, _GOAL, _AGENT = (240, 240, 240), (80, 80, 80), (60, 160, 80), (200, 60, 50)


class MazeWorld(SingleFrameWorld):
    """A maze with an agent in it, see `World`. The reward is 1 - 0.9 * steps / limit at the goal, and 0 otherwise.

    The limit is the protocol's, also for an episode that ends earlier: its score counts as that of any other.

    Mazes of tests and rollouts are those of `TESTED`. In others, every second goal is nearby, so that evolution finds
    its first goals by chance.

    Attributes:
        level: The maze of the episode.
    """

    level: MazeLevel
    screen_shape = ((SIDE + 2 * _RING) * PIXELS, (SIDE + 2 * _RING) * PIXELS, 3)

    def __init__(self, game: str, protocol: Protocol):
        super().__init__(game, protocol)
        self._time_limit = protocol.max_frames  # max_frames may be replaced between episodes
        self._start(0, 0)

    @property
    def screen(self) -> np.ndarray:
        """The maze in colour, with the agent as a red wedge that points ahead: uint8, `screen_shape`."""
        cells = np.full((SIDE + 2 * _RING, SIDE + 2 * _RING, 3), _WALL, np.uint8)
        inner = cells[_RING:-_RING, _RING:-_RING]
        inner[~self.level.walls] = _FREE
        inner[divmod(self.level.goal, SIDE)] = _GOAL
        picture = cells.repeat(PIXELS, axis=0).repeat(PIXELS, axis=1)
        row, column = divmod(int(self._maze.cell[0]), SIDE)
        top, left = (row + _RING) * PIXELS, (column + _RING) * PIXELS
        picture[top : top + PIXELS, left : left + PIXELS][_wedge(int(self._maze.direction[0]))] = _AGENT
        return picture

    def _start(self, seed: int, noops: int) -> None:
        phase = TESTED if is_for_test(seed) else PHASES[-1]
        level = self.level = draw_level(np.random.default_rng(seed), phase)
        start, goal, direction = (np.array([each]) for each in (level.start, level.goal, level.direction))
        self._maze = MazeEpisodes(level.walls[None], start, goal, direction)

    def _play(self, outputs: np.ndarray, is_last: bool) -> tuple[float, bool]:
        is_solved = bool(self._maze.step(np.array([largest(outputs)]))[0])
        return float(reward_at(self.steps + 1, time_limit=self._time_limit)) if is_solved else 0.0, is_solved

    def _new_plane(self) -> np.ndarray:
        return self._maze.observation[0].astype(np.float32)


def _wedge(direction: int) -> np.ndarray:
    """Returns which pixels of a cell are the agent's: bool, shape (PIXELS, PIXELS)."""
    rows, columns = np.indices((PIXELS, PIXELS))
    width = np.abs(2 * rows + 1 - PIXELS)  # distance from the middle, doubled
    points_right = (columns > 0) & (width < PIXELS - columns)
    return np.rot90(points_right, -direction)
