"""Chunks that platform levels are put together from: ground, gaps, pipes, blocks, steps, platforms, tunnels and forts.

A chunk draws itself into some columns of a level that have ground in rows 14 and 15 and air above. Four numbers from 0
to 1 decide everything about it.

Source: section 13.5 of the description of DSAGE.
"""

from collections.abc import Callable

import numpy as np

from neurozoo.environments.platformer import tiles as t

GROUND_ROW = 14  # and the row below it
WIDTH = 7  # columns of a chunk

Chunk = Callable[[np.ndarray, np.ndarray], None]  # draws into columns (16, WIDTH), by numbers of shape (4,)

_WALKERS = (t.GOOMBA, t.GOOMBA, t.GREEN_KOOPA, t.RED_KOOPA)


def _whole(number: float, low: int, high: int) -> int:
    """Returns a whole number from `low` to `high` that grows with `number`."""
    return min(high, low + int(number * (high - low + 1)))


def _walker(number: float) -> int:
    return _WALKERS[_whole(number, 0, len(_WALKERS) - 1)]


def meadow(part: np.ndarray, u: np.ndarray) -> None:
    """Flat ground with none to three enemies, or a spiky one; sometimes coins."""
    count = _whole(u[0], 0, 3)
    for place in range(count):
        part[GROUND_ROW - 1, 1 + 2 * place] = t.SPIKY if u[1] > 0.9 else _walker((u[1] / 0.9 + place * 0.37) % 1)
    if u[2] > 0.7:
        part[_whole(u[3], 8, 11), 2:5] = t.COIN


def gap(part: np.ndarray, u: np.ndarray) -> None:
    """A gap of one to four columns; sometimes coins in the air."""
    width = _whole(u[0], 1, 4)
    first = _whole(u[1], 1, WIDTH - 1 - width)
    part[GROUND_ROW:, first : first + width] = t.AIR
    if u[2] > 0.75:
        part[9, first : first + width] = t.COIN


def pipe(part: np.ndarray, u: np.ndarray) -> None:
    """A pipe, two columns wide and two to four high, and perhaps an enemy before it."""
    column = _whole(u[1], 2, WIDTH - 3)
    part[GROUND_ROW - _whole(u[0], 2, 4) : GROUND_ROW, column : column + 2] = t.PIPE
    if u[2] > 0.6:
        part[GROUND_ROW - 1, 0] = _walker(u[3])


def blocks(part: np.ndarray, u: np.ndarray) -> None:
    """Bricks and question blocks in row 10, perhaps a second row in row 6, and an enemy below."""
    width = _whole(u[0], 2, 6)
    part[10, :width] = t.BRICK
    part[10, width // 2] = t.POWER_BLOCK if u[1] > 0.85 else t.COIN_BLOCK
    if u[2] > 0.6:
        part[6, 1 : _whole(u[3], 2, 6)] = t.BRICK
        part[6, 1] = t.COIN_BLOCK
    if u[3] > 0.45:
        part[GROUND_ROW - 1, WIDTH - 1] = _walker((u[3] - 0.45) / 0.55)


def steps(part: np.ndarray, u: np.ndarray) -> None:
    """Steps up, down, or up and down, as far as the chunk is wide."""
    height = _whole(u[0], 2, 5)
    shape = _whole(u[1], 0, 2)
    for column in range(WIDTH):
        up, down = column, WIDTH - 1 - column
        tall = min(height, (up, down, min(up, down))[shape] + (shape == 2))
        if tall:
            part[GROUND_ROW - tall : GROUND_ROW, column] = t.PYRAMID


def platforms(part: np.ndarray, u: np.ndarray) -> None:
    """No ground but a platform on pillars, perhaps a second one above it, with coins."""
    row, width = _whole(u[0], 9, 12), _whole(u[1], 5, 6)
    part[GROUND_ROW:] = t.AIR
    part[row, :width] = t.PLATFORM
    part[row + 1 :, 1 : width - 1] = t.BACKGROUND
    if u[2] > 0.6:
        upper = row - _whole(u[3], 3, 5)
        part[upper, 2:5] = t.PLATFORM
        part[upper - 1, 2:5] = t.COIN
    elif u[3] > 0.7:
        part[row - 1, width - 2] = _walker((u[3] - 0.7) / 0.3)


def tunnel(part: np.ndarray, u: np.ndarray) -> None:
    """A ceiling of one to four rows of bricks, with coins or enemies, and sometimes bricks that hang down."""
    part[: _whole(u[0], 1, 3)] = t.BRICK
    if u[1] > 0.6:
        part[9, 1:6] = t.BRICK
        part[8, 2:5] = t.COIN
    if u[2] > 0.5:
        part[GROUND_ROW - 1, 3] = _walker((u[2] - 0.5) * 2)
    if u[3] > 0.7:
        part[GROUND_ROW - 2 : GROUND_ROW, 5] = t.BRICK


def fort(part: np.ndarray, u: np.ndarray) -> None:
    """Solid masses: a roof, a low wall or a cannon, and a spiky enemy."""
    part[: _whole(u[0], 0, 2)] = t.GROUND
    if u[1] > 0.55:
        part[GROUND_ROW - _whole((u[1] - 0.55) / 0.45, 1, 3) : GROUND_ROW, 2:5] = t.GROUND
    elif u[1] > 0.2:
        part[GROUND_ROW - _whole(u[2], 1, 3) : GROUND_ROW, 4] = t.CANNON
    if u[3] > 0.7:
        part[GROUND_ROW - 1, 0] = t.SPIKY


def wall(part: np.ndarray, u: np.ndarray) -> None:
    """A wall that nobody gets over: five to eight high."""
    part[GROUND_ROW - _whole(u[0], 5, 8) : GROUND_ROW, 3] = t.GROUND if u[1] > 0.5 else t.PYRAMID


def abyss(part: np.ndarray, u: np.ndarray) -> None:
    """No ground at all; two of them in a row are too wide to be jumped over."""
    part[GROUND_ROW:] = t.AIR


CHUNKS: dict[str, Chunk] = {
    each.__name__: each for each in (meadow, gap, pipe, blocks, steps, platforms, tunnel, fort, wall, abyss)
}


def ground(columns: int) -> np.ndarray:
    """Returns flat ground under air: uint8, shape (16, columns)."""
    level = np.full((t.HEIGHT, columns), t.AIR, np.uint8)
    level[GROUND_ROW:] = t.GROUND
    return level
