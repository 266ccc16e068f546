"""Mazes to learn in: first easy ones, later all kinds.

Source: section 13.1 of the description of DSAGE.
"""

import os
from dataclasses import dataclass

import numpy as np

from neurozoo.environments.mazes.endpoints import SIDE, find_endpoints


@dataclass(frozen=True)
class MazeLevel:
    """A maze with an agent in it."""

    walls: np.ndarray  # bool, shape (16, 16)
    start: int  # cell as row * 16 + column
    goal: int  # the same for the goal
    direction: int  # where the agent looks at first: 0 right, 1 down, 2 left, 3 up


@dataclass(frozen=True)
class Phase:
    """What mazes of a part of the training are like."""

    end: float  # share of the budget at which the phase ends
    least_walls: float  # lower end of the range from which a maze's probability of a wall is drawn
    most_walls: float  # upper end
    # Share of mazes whose endpoints are as far apart as possible, as in evaluations. Those of the others are drawn
    # among cells that can be reached from each other: 11 steps on average in an open maze.
    farthest: float


PHASES = (Phase(0.1, 0.0, 0.25, 0.0), Phase(1.0, 0.0, 0.6, 0.5))
TESTED = Phase(1.0, 0.1, 0.5, 1.0)  # mazes of tests and rollouts


@dataclass(frozen=True)
class Curriculum:
    """How mazes change while agents learn, over the steps of an environment in the whole training."""

    steps: int
    phases: tuple[Phase, ...] = PHASES

    def phase_after(self, steps: int) -> Phase:
        """Returns the phase when an environment has played some steps."""
        return next((phase for phase in self.phases if steps / self.steps < phase.end), self.phases[-1])


def draw_level(rng: np.random.Generator, phase: Phase, *, core: str | os.PathLike | None = None) -> MazeLevel:
    """Draws a maze that can be solved. Give each episode a generator, and its maze depends on nothing else."""
    while True:
        walls = rng.random((SIDE, SIDE)) < rng.uniform(phase.least_walls, phase.most_walls)
        is_farthest, direction = rng.random() < phase.farthest, int(rng.integers(4))
        if is_farthest:
            found = find_endpoints(walls[None], core=core)
            if found.is_solvable[0]:
                return MazeLevel(walls, int(found.start[0]), int(found.goal[0]), direction)
        elif len(free := np.flatnonzero(~walls)):
            start = int(rng.choice(free))
            others = reachable_cells(walls, start)
            others = others[others != start]
            if len(others):
                return MazeLevel(walls, start, int(rng.choice(others)), direction)


def reachable_cells(walls: np.ndarray, start: int) -> np.ndarray:
    """Returns the cells that can be reached from a free one, itself among them: int64, in ascending order."""
    from scipy import ndimage

    regions = ndimage.label(~walls)[0].ravel()
    return np.flatnonzero(regions == regions[start])
