"""Scripted agents of the river crossing task: yardsticks for learned ones.

They act on the game itself, of which they see everything, with `agent(river) -> action`.
"""

from collections import deque
from collections.abc import Callable

import numpy as np

from neurozoo.environments.river_crossing import (
    DIRECTIONS,
    EMPTY,
    HANDS,
    RESOURCE,
    RIVER_COLUMN,
    SIDE,
    STONE,
    TRAP,
    WATER,
    RiverCrossing,
)  # fmt: skip

CYCLES = 50  # of the shunting model, and
LARGEST_ACTIVITY = 15.0
# What is wanted, by cell (grass, resource, stone, water, trap), with free hands and carrying. While the agent carries,
# water is neutral: it walks straight to the resource and bridges the first water that is on its way.
DESIRES = ((0, 1, 1, -1, -1), (0, 1, 0, 0, -1))

Agent = Callable[[RiverCrossing], int]


def play(river: RiverCrossing, agent: Agent, *, seed: int) -> tuple[float, int]:
    """Plays an episode. Before the agent acts, it sees the world that it acts in, also under faithful rules.

    Returns:
        The sum of the rewards, and the number of steps.
    """
    river.reset(seed=seed)
    score, steps = 0.0, 0
    while not river.is_over:
        river.enter_next_world()
        score += river.step(agent(river))
        steps += 1
    return score, steps


class ShuntingAgent:
    """Climbs the landscape of the shunting model, in which wanted cells are peaks and feared ones holes.

    It uses its hands in every move and never stays: from a peak, such as a stone that it starts on, it goes to the
    highest neighbour.

    Source: Robinson, Ellis and Channon 2007, with desires that we set by hand instead of a decision network.
    """

    def __init__(self, desires: tuple[tuple[int, ...], tuple[int, ...]] = DESIRES):
        self._desires = np.array(desires, float)
        self._seen = None

    def __call__(self, river: RiverCrossing) -> int:
        """Returns the action that leads uphill."""
        seen = (river.carries, river.grid.tobytes())
        if seen != self._seen:  # the landscape changes only with a stone or a new world
            self._seen = seen
            self._heights = np.pad(
                shunting_landscape(self._desires[int(river.carries)][river.grid]), 1, constant_values=-np.inf
            )
        around = [self._heights[river.column + 1 + x, river.row + 1 + y] for x, y in DIRECTIONS[1:]]
        return HANDS + 1 + int(np.argmax(around))


def shunting_landscape(desires: np.ndarray) -> np.ndarray:
    """Spreads what is wanted over the grid, so that every step uphill leads to it around what is feared.

    Args:
        desires: 1 wanted, 0 neutral, -1 feared, shape (columns, rows).

    Returns:
        Activities, float64, (columns, rows): after 50 cycles of x <- min(desire + 1/8 of the sum of the eight
        neighbours' positive activities, 15); feared cells stay at -1.
    """
    activity = np.zeros((desires.shape[0] + 2, desires.shape[1] + 2))
    inside = activity[1:-1, 1:-1]
    for _ in range(CYCLES):
        positive = np.maximum(activity, 0)
        columns = positive[:-2] + positive[1:-1] + positive[2:]
        around = columns[:, :-2] + columns[:, 1:-1] + columns[:, 2:] - positive[1:-1, 1:-1]
        inside[...] = np.where(desires < 0, -1, np.minimum(desires + around / 8, LARGEST_ACTIVITY))
    return inside


class PlanningAgent:
    """Builds one straight bridge with the nearest stones, in the row where that takes the fewest steps.

    A plan is made when a world is entered. Without one (walled in by traps), the agent stays.
    """

    def __init__(self):
        self._plan: list[int] = []

    def __call__(self, river: RiverCrossing) -> int:
        """Returns the plan's next action."""
        if river.age == 0 or not self._plan:
            self._plan = plan_bridge(river) or [0]
        return self._plan.pop(0)


def plan_bridge(river: RiverCrossing) -> list[int] | None:
    """Returns the shortest of the 20 plans with one straight bridge each, as actions, or None."""
    plans = [plan for row in range(SIDE) if (plan := _plan_row(river, row)) is not None]
    return min(plans, key=len, default=None)


def _plan_row(river: RiverCrossing, row: int) -> list[int] | None:
    grid, place, plan = river.grid.copy(), (river.column, river.row), []
    carries = river.carries
    for column in range(RIVER_COLUMN, RIVER_COLUMN + river.width):
        if grid[column, row] != WATER:
            continue
        legs = [{(column, row)}] if carries else [None, {(column, row)}]
        for targets in legs:
            wanted = set(zip(*np.nonzero(grid == STONE), strict=True)) - {place} if targets is None else targets
            path = _shortest_path(grid, place, wanted)
            if path is None:
                return None
            place = path[-1][0]
            plan += [direction for _, direction in path]
            plan[-1] += HANDS
            grid[place] = EMPTY
        carries = False
    path = _shortest_path(grid, place, set(zip(*np.nonzero(grid == RESOURCE), strict=True)))
    return None if path is None else plan + [direction for _, direction in path]


def _shortest_path(grid: np.ndarray, start: tuple[int, int], targets: set) -> list[tuple[tuple[int, int], int]] | None:
    """Returns [(cell, direction that leads to it), ...] to the nearest target around water and traps, or None."""
    came_from = {start: None}
    queue = deque([start])
    while queue:
        place = queue.popleft()
        for direction, (x, y) in enumerate(DIRECTIONS[1:], 1):
            cell = (place[0] + x, place[1] + y)
            if cell in came_from or not (0 <= cell[0] < SIDE and 0 <= cell[1] < SIDE):
                continue
            if cell in targets:
                path = [(cell, direction)]
                while came_from[place] is not None:
                    path.append((place, came_from[place][1]))
                    place = came_from[place][0]
                return path[::-1]
            if grid[cell] not in (WATER, TRAP):
                came_from[cell] = (place, direction)
                queue.append(cell)
    return None
