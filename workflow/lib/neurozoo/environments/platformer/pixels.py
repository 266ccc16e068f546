"""A small grey picture of the platform game, for networks that were made for Atari games."""

import numpy as np

from neurozoo.environments.games import PICTURE_SHAPE
from neurozoo.environments.platformer.simulator import KINDS, TILES, Replay
from neurozoo.environments.platformer.tiles import HEIGHT, TILE_SIZE, WIDTH

SCALE = 5  # pixels of a tile; a screen is 16.8 tiles wide, and there are two rows of air above and below the level
BEHIND = 5  # tiles at the left of the runner, unless the level ends there
_TILE_GREYS = {
    "air": 0, "solid": 150, "used": 150, "cannon": 190, "brick": 130, "coin_block": 170, "power_block": 180,
    "life_block": 180, "hidden_coin": 0, "hidden_life": 0, "platform": 110, "coin": 50,
}  # fmt: skip
_GREYS = np.array([_TILE_GREYS[name] for name in TILES], np.uint8)
_FINISH = 30
_SPRITE_GREYS = {"runner": 80, "mushroom": 60, "life_mushroom": 60, "flower": 60, "fireball": 40}
_ENEMY = 255
_TALL = ("green_koopa", "red_koopa")
_MARGIN = (PICTURE_SHAPE[0] - HEIGHT * SCALE) // 2


def draw_pixels(now: Replay, finish_column: int) -> np.ndarray:
    """Draws the newest tick as networks see it: the whole height of the level, and its columns around the runner.

    Tiles are squares of 5 x 5 pixels; a platform, which stops only what falls, is flat. What moves is a rectangle as
    wide as a tile and, if large, two tiles high. Enemies are white, the runner is darker than what blocks. The air from
    the finish on is a little brighter.

    Args:
        now: The game.
        finish_column: Where the level is won.

    Returns:
        uint8, shape (84, 84).
    """
    tiles = _GREYS[now.tiles[-1]]
    tiles[:, finish_column:] = np.maximum(tiles[:, finish_column:], _FINISH)
    level = tiles.repeat(SCALE, axis=0).repeat(SCALE, axis=1)
    is_platform = now.tiles[-1] == TILES.index("platform")
    for row, column in np.argwhere(is_platform):
        level[row * SCALE + 2 : (row + 1) * SCALE, column * SCALE : (column + 1) * SCALE] = 0
    for sprite in reversed(now.sprites[-1]):  # newest last, on top
        name = KINDS[int(sprite["kind"])]
        is_tall = name in _TALL or (name == "runner" and now.power[-1] > 0)
        bottom = _pixels(sprite["y"]) + 1
        left = _pixels(sprite["x"]) - SCALE // 2
        rows = slice(max(0, bottom - SCALE * (1 + is_tall)), max(0, bottom))
        level[rows, max(0, left) : max(0, left + SCALE)] = _SPRITE_GREYS.get(name, _ENEMY)
    picture = np.zeros(PICTURE_SHAPE, np.uint8)
    first = min(max(0, _pixels(now.position[-1, 0]) - BEHIND * SCALE), WIDTH * SCALE - PICTURE_SHAPE[1])
    picture[_MARGIN : _MARGIN + HEIGHT * SCALE] = level[:, first : first + PICTURE_SHAPE[1]]
    return picture


def _pixels(position: float) -> int:
    return int(position * SCALE // TILE_SIZE)
