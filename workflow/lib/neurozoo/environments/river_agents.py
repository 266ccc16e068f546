"""Scripted agents for the river crossing task: baselines for trained ones.

They see the whole state of the game. An agent is a function: `agent(river) -> action`.
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

CYCLES = 50  # of the shunting model
LARGEST_ACTIVITY = 15.0  # of the shunting model
# Desires by cell (grass, resource, stone, water, trap): with free hands, and while carrying a stone. While the agent
# carries, water is neutral: the agent walks straight to the resource and bridges the first water on its way.
DESIRES = ((0, 1, 1, -1, -1), (0, 1, 0, 0, -1))

Agent = Callable[[RiverCrossing], int]


def play(river: RiverCrossing, agent: Agent, *, seed: int) -> tuple[float, int]:
    """Plays an episode, and returns the sum of its rewards and its number of steps.

    Under faithful rules, too, the agent sees the new world before it acts in it.
    """
    river.reset(seed=seed)
    score, steps = 0.0, 0
    while not river.is_over:
        river.enter_next_world()
        score += river.step(agent(river))
        steps += 1
    return score, steps


class ShuntingAgent:
    """Climbs the activity landscape of the shunting model: desired cells are peaks, feared cells are holes.

    It uses its hands in every move and never stays. From a peak, such as a stone at the start, it moves to the highest
    neighbour.

    Source: Robinson, Ellis and Channon 2007, but with fixed desires instead of a decision network.
    """

    def __init__(self):
        self._desires = np.array(DESIRES, float)
        self._seen: tuple[bool, bytes] | None = None

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
    """Computes the activity landscape: every step uphill leads towards desired cells and around feared ones.

    Args:
        desires: 1 desired, 0 neutral, -1 feared, shape (..., columns, rows).

    Returns:
        Activities, float64, (..., columns, rows), after 50 cycles of x <- min(desire + 1/8 of the sum of the eight
        neighbours' positive activities, 15). Feared cells stay at -1.
    """
    *several, width, height = desires.shape
    activity = np.zeros((*several, width + 2, height + 2))
    inside = activity[..., 1:-1, 1:-1]
    for _ in range(CYCLES):
        positive = np.maximum(activity, 0)
        columns = positive[..., :-2, :] + positive[..., 1:-1, :] + positive[..., 2:, :]
        around = columns[..., :-2] + columns[..., 1:-1] + columns[..., 2:] - positive[..., 1:-1, 1:-1]
        inside[...] = np.where(desires < 0, -1, np.minimum(desires + around / 8, LARGEST_ACTIVITY))
    return inside


class PlanningAgent:
    """Builds one straight bridge with the nearest stones, in the row that takes the fewest steps.

    It plans once per world. If no plan exists (traps enclose the agent), it stays.
    """

    def __init__(self):
        self._plan: list[int] = []

    def __call__(self, river: RiverCrossing) -> int:
        """Returns the plan's next action."""
        if river.age == 0 or not self._plan:
            self._plan = plan_bridge(river) or [0]
        return self._plan.pop(0)


def plan_bridge(river: RiverCrossing) -> list[int] | None:
    """Returns the shortest plan with one straight bridge, one candidate per row, as actions; None if none exists."""
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
            path = _shortest_path(grid, place, targets or _cells(grid, STONE) - {place})
            if path is None:
                return None
            place = path[-1][0]
            plan += [direction for _, direction in path]
            plan[-1] += HANDS
            grid[place] = EMPTY
        carries = False
    path = _shortest_path(grid, place, _cells(grid, RESOURCE))
    return None if path is None else plan + [direction for _, direction in path]


def _cells(grid: np.ndarray, kind: int) -> set[tuple[int, int]]:
    return set(zip(*np.nonzero(grid == kind), strict=True))


def _shortest_path(grid: np.ndarray, start: tuple[int, int], targets: set) -> list[tuple[tuple[int, int], int]] | None:
    """Returns [(cell, direction of the move to it), ...] to the nearest target around water and traps, or None."""
    came_from: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {start: None}
    queue = deque([start])
    while queue:
        place = queue.popleft()
        for direction, (x, y) in enumerate(DIRECTIONS[1:], 1):
            cell = (place[0] + x, place[1] + y)
            if cell in came_from or not (0 <= cell[0] < SIDE and 0 <= cell[1] < SIDE):
                continue
            if cell in targets:
                path = [(cell, direction)]
                while (move := came_from[place]) is not None:
                    path.append((place, move[1]))
                    place = move[0]
                return path[::-1]
            if grid[cell] not in (WATER, TRAP):
                came_from[cell] = (place, direction)
                queue.append(cell)
    return None
