"""What a learner sees of the platform game, in numbers or as a small grey picture, and what it can do."""

import numpy as np

from neurozoo.environments.gymnasium_games import PICTURE_SHAPE
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
# Of the picture
SCALE = 5  # pixels of a tile; a screen is 16.8 tiles wide, and there are two rows of air above and below the level
COLUMNS_BEHIND = 5  # tiles at the left of the runner, unless the level ends there
_TILE_GREYS = {
    "solid": 150, "used": 150, "cannon": 190, "brick": 130, "coin_block": 170, "power_block": 180, "life_block": 180,
    "platform": 110, "coin": 50,
}  # fmt: skip
_GREYS = np.array([_TILE_GREYS.get(name, 0) for name in TILES], np.uint8)
_FINISH = 30
_SPRITE_GREYS = {"runner": 80, "mushroom": 60, "life_mushroom": 60, "flower": 60, "fireball": 40}
_ENEMY = 255
_TALL = ("green_koopa", "red_koopa")
_MARGIN = (PICTURE_SHAPE[0] - HEIGHT * SCALE) // 2


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


def draw_pixels(now: Replay, finish_column: int) -> np.ndarray:
    """Draws the newest tick as networks see it: the whole height of the level, and its columns around the runner.

    Tiles are squares of 5 x 5 pixels; a platform, which stops only what falls, is flat. What moves is a rectangle as
    wide as a tile and, if large, two tiles high. Enemies are white, the runner is darker than what blocks. The air from
    the finish on is a little brighter.

    Returns:
        uint8, shape (84, 84).
    """
    tiles = _GREYS[now.tiles[-1]]
    tiles[:, finish_column:] = np.maximum(tiles[:, finish_column:], _FINISH)
    level = tiles.repeat(SCALE, axis=0).repeat(SCALE, axis=1)
    for row, column in np.argwhere(now.tiles[-1] == TILES.index("platform")):
        level[row * SCALE + 2 : (row + 1) * SCALE, column * SCALE : (column + 1) * SCALE] = 0
    for sprite in reversed(now.sprites[-1]):  # newest last, on top
        name = KINDS[int(sprite["kind"])]
        is_tall = name in _TALL or (name == "runner" and now.power[-1] > 0)
        bottom = _pixels(sprite["y"]) + 1
        left = _pixels(sprite["x"]) - SCALE // 2
        rows = slice(max(0, bottom - SCALE * (1 + is_tall)), max(0, bottom))
        level[rows, max(0, left) : max(0, left + SCALE)] = _SPRITE_GREYS.get(name, _ENEMY)
    picture = np.zeros(PICTURE_SHAPE, np.uint8)
    first = min(max(0, _pixels(now.position[-1, 0]) - COLUMNS_BEHIND * SCALE), WIDTH * SCALE - PICTURE_SHAPE[1])
    picture[_MARGIN : _MARGIN + HEIGHT * SCALE] = level[:, first : first + PICTURE_SHAPE[1]]
    return picture


def _pixels(position: float) -> int:
    return int(position * SCALE // TILE_SIZE)
