"""What a runner that learns senses of the platform game, and what it can do."""

import numpy as np

from neurozoo.environments.platformer.simulator import JUMP, KINDS, LEFT, RIGHT, SPEED, TILES, Replay
from neurozoo.environments.platformer.tiles import HEIGHT, TILE_SIZE, WIDTH

ACTIONS = {
    "NOOP": 0, "RIGHT": RIGHT, "RIGHT+JUMP": RIGHT | JUMP, "RIGHT+SPEED": RIGHT | SPEED,
    "RIGHT+SPEED+JUMP": RIGHT | SPEED | JUMP, "JUMP": JUMP, "LEFT": LEFT, "LEFT+JUMP": LEFT | JUMP,
}  # fmt: skip
TICKS_PER_STEP = 4
# What the runner sees, in tiles from the one with its feet
ABOVE, BELOW, BEHIND, AHEAD = 6, 3, 2, 8
VIEW = (ABOVE + 1 + BELOW, BEHIND + 1 + AHEAD)
NUM_SENSED = 2 * VIEW[0] * VIEW[1] + 7
_SEE_THROUGH = ("air", "coin", "hidden_coin", "hidden_life")
_ENEMIES = ("goomba", "green_koopa", "red_koopa", "spiky", "shell", "bullet")
_ITEMS = ("mushroom", "life_mushroom", "flower")
_BLOCKS = np.array([0.5 if name == "platform" else float(name not in _SEE_THROUGH) for name in TILES], np.float32)
_MEANS = np.array([float(name in _ENEMIES) - float(name in _ITEMS) for name in KINDS], np.float32)
_FASTEST = (11.0, 16.0)  # pixels per tick, along and down


def look_around(now: Replay, *, holds_jump: bool) -> np.ndarray:
    """Returns what a runner senses at the newest tick: float32, shape (227,), from -1 to 1.

    The first 110 numbers say what blocks in 10 x 11 tiles around its feet, row by row, from 6 rows above to 3 below
    and from 2 columns behind to 8 ahead: 1 blocks, 0.5 stops only what falls. The next 110 say what moves there: 1 for
    what hurts, -1 for what helps. Then there are the speed along and down, how strong the runner is, whether it is
    protected, whether JUMP is held, and where in its tile its feet are, along and down.
    """
    x, y, vx, vy = now.position[-1].tolist()
    row, column = int(y // TILE_SIZE), int(x // TILE_SIZE)
    rows = np.arange(row - ABOVE, row + BELOW + 1)
    columns = np.arange(column - BEHIND, column + AHEAD + 1)
    is_inside = (rows >= 0) & (rows < HEIGHT)  # above and below the level there is nothing
    tiles = now.tiles[-1][np.ix_(np.clip(rows, 0, HEIGHT - 1), np.clip(columns, 0, WIDTH - 1))]
    moving = np.zeros(VIEW, np.float32)
    for sprite in now.sprites[-1]:
        place = int(sprite["y"] // TILE_SIZE) - rows[0], int(sprite["x"] // TILE_SIZE) - columns[0]
        if _MEANS[int(sprite["kind"])] and 0 <= place[0] < VIEW[0] and 0 <= place[1] < VIEW[1]:
            moving[place] = _MEANS[int(sprite["kind"])]
    numbers = (
        vx / _FASTEST[0], vy / _FASTEST[1], now.power[-1] / 2, now.is_protected[-1], holds_jump,
        x % TILE_SIZE / TILE_SIZE, y % TILE_SIZE / TILE_SIZE,
    )  # fmt: skip
    sensed = np.concatenate([(_BLOCKS[tiles] * is_inside[:, None]).ravel(), moving.ravel(), numbers])
    return np.clip(sensed, -1, 1).astype(np.float32)
