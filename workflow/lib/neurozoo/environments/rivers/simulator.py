"""Plays many worlds of the river crossing task side by side, one step of all at a time."""

from dataclasses import dataclass

import numpy as np

from neurozoo.environments.river_crossing import DIRECTIONS, EMPTY, RESOURCE, SIDE, STONE, TRAP, WATER
from neurozoo.environments.rivers.agents import EDGE, LandscapeAgent
from neurozoo.environments.rivers.worlds import START, starts

TIME_LIMIT = 200  # steps, as in the published test of robustness
_COLUMNS, _ROWS = np.array(DIRECTIONS).T
_FATAL = (EDGE, TRAP, WATER)
_TOGETHER = 32  # landscapes that are computed at once, which fit into a cache


@dataclass(frozen=True)
class Walks:
    """One episode in each of several worlds."""

    cells: np.ndarray  # int16, shape (worlds, limit): row * 20 + column after each step; -1 after the last one
    steps: np.ndarray  # int, shape (worlds,)
    stones: np.ndarray  # int, shape (worlds,): stones dropped into water
    ends: np.ndarray  # uint8, shape (worlds,): kind of the cell that the last step led to, or `EDGE`
    carries: np.ndarray  # bool, shape (worlds, limit): whether the agent carries a stone after each step

    @property
    def is_solved(self) -> np.ndarray:
        """Whether the agent reached the resource: bool, shape (worlds,)."""
        return self.ends == RESOURCE

    @property
    def is_dead(self) -> np.ndarray:
        """Whether it died: bool, shape (worlds,)."""
        return np.isin(self.ends, _FATAL)

    def visits(self) -> np.ndarray:
        """Returns how often the agent came to each cell: int, shape (worlds, 20, 20)."""
        found = np.zeros((len(self.cells), SIDE * SIDE), int)
        world, step = np.nonzero(self.cells >= 0)
        np.add.at(found, (world, self.cells[world, step]), 1)
        return found.reshape(-1, SIDE, SIDE)


def play(agent: LandscapeAgent, worlds: np.ndarray, *, step_limit: int = TIME_LIMIT) -> Walks:
    """Plays each world once, by the fixed rules of `RiverCrossing`; the result does not depend on the other worlds."""
    count = len(worlds)
    grids = np.pad(np.where(worlds == START, EMPTY, worlds), ((0, 0), (1, 1), (1, 1)), constant_values=EDGE)
    rows, columns = (place + 1 for place in starts(worlds))
    carries, ends = np.zeros(count, bool), np.full(count, EMPTY, np.uint8)
    stones, steps = (np.zeros(count, int) for _ in range(2))
    cells, carried = np.full((count, step_limit), -1, np.int16), np.zeros((count, step_limit), bool)
    # A landscape changes only with the agent's desires or a stone.
    heights, desires, is_stale = np.zeros(grids.shape), np.zeros((count, 5)), np.ones(count, bool)
    for step in range(step_limit):
        now = np.flatnonzero(~np.isin(ends, (RESOURCE, *_FATAL)))
        desired = agent.desires[carries[now].astype(int), grids[now, rows[now], columns[now]]]
        new = is_stale[now] | (desired != desires[now]).any(axis=1)
        if new.any():
            changed = now[new]
            desires[changed], is_stale[changed] = desired[new], False
            for some in np.array_split(changed, -(-len(changed) // _TOGETHER)):
                kinds = grids[some, 1:-1, 1:-1].reshape(len(some), -1)
                maps = np.take_along_axis(desires[some], kinds, axis=1).reshape(-1, SIDE, SIDE)
                heights[some, 1:-1, 1:-1] = agent.spread(maps)
        around = now[:, None], rows[now, None] + _ROWS, columns[now, None] + _COLUMNS
        kinds = grids[around]
        direction, uses_hands = agent.climb(heights[around], kinds, carries[now])
        row, column = rows[now] + _ROWS[direction], columns[now] + _COLUMNS[direction]
        kind = grids[now, row, column]
        changes = uses_hands & (kind == np.where(carries[now], WATER, STONE))
        changed = now[changes]
        stones[changed] += carries[changed]
        carries[changed] ^= True
        is_stale[changed] = True
        kind[changes] = grids[changed, row[changes], column[changes]] = EMPTY
        stays_inside = kind != EDGE
        rows[now], columns[now] = np.where(stays_inside, (row, column), (rows[now], columns[now]))
        ends[now] = kind
        cells[now, step] = (rows[now] - 1) * SIDE + columns[now] - 1
        carried[now, step] = carries[now]
        steps[now] += 1
    return Walks(cells, steps, stones, ends, carried)
