"""Mazes to learn in: first easy ones, later all kinds.

Source: section 13.1 of the description of DSAGE.
"""

import os
from dataclasses import dataclass

import numpy as np

from neurozoo.environments.mazes.endpoints import CELLS, SIDE, find_endpoints
from neurozoo.environments.mazes.episodes import find_endpoints_in_op

_FIRST_COLUMN = sum(1 << SIDE * row for row in range(SIDE))
_LAST_COLUMN = _FIRST_COLUMN << SIDE - 1


@dataclass(frozen=True)
class MazeLevel:
    """A maze with an agent in it.

    Attributes:
        walls: bool, shape (16, 16).
        start: Cell as row * 16 + column.
        goal: The same for the goal.
        direction: Where the agent looks at first: 0 right, 1 down, 2 left, 3 up.
    """

    walls: np.ndarray
    start: int
    goal: int
    direction: int


@dataclass(frozen=True)
class Phase:
    """What mazes of a part of the training are like.

    Attributes:
        end: Share of the budget at which the phase ends.
        least_walls: Lower end of the range from which a maze's probability of a wall is drawn.
        most_walls: Upper end.
        farthest: Share of mazes whose endpoints are as far apart as possible, as in evaluations. Those of the others
            are drawn among cells that can be reached from each other: 11 steps on average in an open maze.
    """

    end: float
    least_walls: float
    most_walls: float
    farthest: float


PHASES = (Phase(0.1, 0.0, 0.25, 0.0), Phase(1.0, 0.0, 0.6, 0.5))
TESTED = Phase(1.0, 0.1, 0.5, 1.0)  # mazes of tests and rollouts


@dataclass(frozen=True)
class Curriculum:
    """How mazes change while agents learn.

    Attributes:
        steps: Steps of an environment in the whole training.
        phases: What mazes are like, one after the other.
    """

    steps: int
    phases: tuple[Phase, ...] = PHASES

    def phase_after(self, steps: int) -> Phase:
        """Returns the phase when an environment has played some steps."""
        return phase_at(steps / self.steps, self.phases)


def phase_at(progress: float, phases: tuple[Phase, ...] = PHASES) -> Phase:
    """Returns the phase of the training when a share of the budget is spent, from 0 to 1."""
    return next((phase for phase in phases if progress < phase.end), phases[-1])


def draw_level(rng: np.random.Generator, phase: Phase, *, ops: str | os.PathLike | None = None) -> MazeLevel:
    """Draws a maze that can be solved.

    Args:
        rng: Draws; give each episode one of its own, and its maze depends on nothing else.
        phase: What it is like.
        ops: The op library, which finds the farthest endpoints faster; the maze is the same.
    """
    while True:
        walls = rng.random((SIDE, SIDE)) < rng.uniform(phase.least_walls, phase.most_walls)
        is_farthest, direction = rng.random() < phase.farthest, int(rng.integers(4))
        if is_farthest:
            found = find_endpoints(walls[None]) if ops is None else find_endpoints_in_op(walls[None], ops=ops)
            if found.is_solvable[0]:
                return MazeLevel(walls, int(found.start[0]), int(found.goal[0]), direction)
            continue
        free = np.flatnonzero(~walls)
        if not len(free):
            continue
        start = int(rng.choice(free))
        others = reachable_cells(walls, start)
        others = others[others != start]
        if len(others):
            return MazeLevel(walls, start, int(rng.choice(others)), direction)


def reachable_cells(walls: np.ndarray, start: int) -> np.ndarray:
    """Finds the cells that can be reached.

    Args:
        walls: bool, shape (16, 16).
        start: A free cell, row * 16 + column.

    Returns:
        int64, the cells in ascending order, `start` among them.
    """
    free = int.from_bytes(np.packbits(~walls.reshape(-1), bitorder="little").tobytes(), "little")
    front = seen = 1 << start
    while front:
        sideways = (front & ~_LAST_COLUMN) << 1 | (front & ~_FIRST_COLUMN) >> 1
        front = (sideways | front << SIDE | front >> SIDE) & free & ~seen
        seen |= front
    bits = np.frombuffer(seen.to_bytes(CELLS // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little"))
