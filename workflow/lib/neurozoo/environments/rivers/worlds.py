"""Worlds of the river crossing task as levels: what solutions stand for, their repair, and ways through them.

A world is uint8, shape (20, 20), [row, column], with the cells of `environments.river_crossing` and `START`.
"""

import numpy as np

from neurozoo.environments.river_crossing import (
    EMPTY,
    RESOURCE,
    RESOURCE_ROW,
    RIVER_COLUMN,
    SIDE,
    STONE,
    TRAP,
    WATER,
    resource_column,
)  # fmt: skip

START = 5  # the agent's first cell, which is grass
NUM_KINDS = 6
RIVER_COLUMNS = slice(RIVER_COLUMN, RIVER_COLUMN + 3)
# Kinds of cells by the entry of a solution: on the banks, and in the columns of the river.
BANKS = np.array([WATER] * 2 + [EMPTY] * 13 + [STONE] * 2 + [TRAP, START, RESOURCE], np.uint8)
RIVER = np.array([WATER] * 19 + [EMPTY], np.uint8)
NUM_VALUES = len(BANKS)
NEVER = 200  # for cells that no way leads to: more than any number of stones
_FAR = 2 * NEVER + 1  # steps to no target
_DEFAULT_START = RESOURCE_ROW, 1
_DEFAULT_RESOURCE = RESOURCE_ROW, resource_column(0)


def decode(solutions: np.ndarray) -> np.ndarray:
    """Returns repaired worlds: uint8, shape (worlds, 20, 20).

    Each of the 400 entries of a solution says what kind of cell is there: 0 to 19, real numbers are rounded, and NaN is
    0. Three columns are mostly water, so random solutions have a river with a few gaps.
    """
    entries = np.clip(np.nan_to_num(np.rint(solutions)), 0, NUM_VALUES - 1).astype(np.intp).reshape(-1, SIDE, SIDE)
    worlds = BANKS[entries]
    worlds[..., RIVER_COLUMNS] = RIVER[entries[..., RIVER_COLUMNS]]
    return repaired(worlds)


def repaired(worlds: np.ndarray) -> np.ndarray:
    """Returns worlds with one start left of the river, one resource in or behind it, and enough stones.

    Of several starts the leftmost counts, of several resources the rightmost; others become grass. A world that has
    none gets them where the game has them. If the agent can reach fewer stones than a bridge needs, the reachable grass
    nearest to the right edge becomes stones, as far as there is any.
    """
    worlds = _with_one(worlds, START, first=True, default=_DEFAULT_START)
    worlds = _with_one(worlds, RESOURCE, first=False, default=_DEFAULT_RESOURCE)
    lengths = bridge_lengths(worlds, START)
    needed = lengths[worlds == RESOURCE].astype(int)
    is_near = lengths == 0
    missing = np.where(needed < NEVER, needed, 0) - (is_near & (worlds == STONE)).sum(axis=(1, 2))
    grass = _by_columns(is_near & (worlds == EMPTY))[:, ::-1]
    chosen = grass & (grass.cumsum(axis=1) <= missing[:, None])
    return np.where(chosen[:, ::-1].reshape(-1, SIDE, SIDE).swapaxes(1, 2), np.uint8(STONE), worlds)


def _with_one(worlds: np.ndarray, kind: int, *, first: bool, default: tuple[int, int]) -> np.ndarray:
    """Keeps the leftmost cell of a kind left of the river, or the rightmost one from there on; upper ones first."""
    is_kind = worlds == kind
    own = is_kind.copy()
    own[..., slice(RIVER_COLUMN, None) if first else slice(RIVER_COLUMN)] = False
    own[~own.any(axis=(1, 2)), *default] = True
    ordered = _by_columns(own if first else own[..., ::-1])
    column, row = np.divmod(ordered.argmax(axis=1), SIDE)
    found = np.where(is_kind, EMPTY, worlds).astype(np.uint8)
    found[np.arange(len(worlds)), row, column if first else SIDE - 1 - column] = kind
    return found


def _by_columns(worlds: np.ndarray) -> np.ndarray:
    """Returns cells column by column: shape (worlds, 400)."""
    return worlds.swapaxes(1, 2).reshape(len(worlds), -1)


def starts(worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows and columns of the starts: int, shape (worlds,) each."""
    return np.divmod((worlds == START).reshape(len(worlds), -1).argmax(axis=1), SIDE)


def bridge_lengths(worlds: np.ndarray, kind: int) -> np.ndarray:
    """Returns the fewest water cells on a way from the cell of a kind to each cell, both included.

    uint8, shape (worlds, 20, 20); `NEVER` where traps bar every way.
    """
    return _cheapest((worlds == WATER).astype(np.uint8), worlds == TRAP, worlds == kind)


def planned_steps(worlds: np.ndarray) -> np.ndarray:
    """Returns the steps that a greedy planner takes to the resource: int, shape (worlds,); 0 if it has no plan.

    It builds a shortest bridge. For each cell of it, it fetches the stone and then goes to the water that are nearest,
    counting also the way from there to the resource, as if water were grass.
    """
    lengths, step = bridge_lengths(worlds, RESOURCE), np.uint8(1)
    rest = _cheapest(step, worlds == TRAP, worlds == RESOURCE).astype(int)
    rows, columns = starts(worlds)
    missing = lengths[np.arange(len(worlds)), rows, columns]
    total, has_plan, grids = np.zeros(len(worlds), int), missing < NEVER, worlds.copy()

    def walk(some: np.ndarray, is_target: np.ndarray) -> None:
        """Lets agents walk to targets, which become grass."""
        numbers, is_here = np.arange(len(some)), np.zeros(is_target.shape, bool)
        is_here[numbers, rows[some], columns[some]] = True
        reached = _cheapest(step, np.isin(grids[some], (WATER, TRAP)), is_here)
        steps = _least_around(reached).astype(int) + 1
        costs = np.where(is_target & (steps <= NEVER), steps + rest[some], _FAR)
        costs = costs.reshape(len(some), SIDE * SIDE)
        rows[some], columns[some] = np.divmod(costs.argmin(axis=1), SIDE)
        total[some] += steps[numbers, rows[some], columns[some]]
        has_plan[some] = costs.min(axis=1) < _FAR
        grids[some, rows[some], columns[some]] = EMPTY

    while len(some := np.flatnonzero(has_plan & (missing > 0))):
        walk(some, grids[some] == STONE)
        some = some[has_plan[some]]
        walk(some, (grids[some] == WATER) & (lengths[some] == missing[some, None, None]))
        missing[some] -= 1
    some = np.flatnonzero(has_plan)
    walk(some, grids[some] == RESOURCE)
    return np.where(has_plan, total, 0)


def _cheapest(toll: np.ndarray | np.uint8, is_barred: np.ndarray, is_source: np.ndarray) -> np.ndarray:
    """Returns the least toll on a way from a source to each cell, paid where one enters: uint8, `NEVER` where none."""
    least = np.where(is_source, 0, NEVER).astype(np.uint8)
    while True:
        cheaper = np.minimum(least, _least_around(least) + toll)
        cheaper[is_barred] = NEVER
        if (cheaper == least).all():
            return least
        least = cheaper


def _least_around(values: np.ndarray) -> np.ndarray:
    """Returns the least value of each cell and its eight neighbours."""
    padded = np.pad(values, ((0, 0), (1, 1), (1, 1)), constant_values=NEVER)
    rows = np.minimum(np.minimum(padded[:, :-2], padded[:, 1:-1]), padded[:, 2:])
    return np.minimum(np.minimum(rows[..., :-2], rows[..., 1:-1]), rows[..., 2:])
