"""Pictures of platform levels, put together from our own tiles and sprites: `data/platformer_sprites.png`."""

from functools import cache
from importlib import resources
from itertools import pairwise

import numpy as np
from PIL import Image

from neurozoo.environments.platformer import tiles as t
from neurozoo.environments.platformer.simulator import KINDS, TILES, Replay
from neurozoo.environments.platformer.tiles import TILE_SIZE

_SKY_TOP, _SKY_BOTTOM = (196, 226, 246), (238, 246, 248)
_WAY = (232, 60, 120)  # of the runner through the level
_USED = 17  # column of the sheet: a block that was hit
_SPRITES = {  # (height, width) in pixels, in the order of the sheet; they look to the right
    "runner": (12, 10), "goomba": (10, 12), "green_koopa": (13, 12), "red_koopa": (13, 12), "spiky": (10, 12),
    "shell": (7, 12), "bullet": (8, 12), "mushroom": (10, 12), "life_mushroom": (10, 12), "flower": (11, 12),
    "fireball": (7, 8), "wings": (5, 5),
}  # fmt: skip


def draw_level(level: np.ndarray) -> np.ndarray:
    """Draws a level (numbers of tiles) with everything that is in it at first: uint8, shape (256, 896, 3)."""
    picture = _background(level, np.zeros(level.shape, bool))
    looks = {t.SPIKY: "spiky", t.GOOMBA: "goomba", t.GREEN_KOOPA: "green_koopa", t.RED_KOOPA: "red_koopa"}
    for row, column in np.argwhere(np.isin(level, t.ENEMIES)):
        name = looks[int(level[row, column])]
        _stamp(picture, name, column * TILE_SIZE + 8, row * TILE_SIZE + 15, facing=-1)
    return picture


def draw_way(level: np.ndarray, replay: Replay, *, every: int = 12) -> np.ndarray:
    """Draws a level with the runner's way through it: a line of its feet, and the runner every few ticks.

    The picture is uint8, shape (256, 896, 3), as in `draw_level`.
    """
    picture, last = draw_level(level), len(replay.status) - 1
    _draw_line(picture, replay.position)
    for tick in (*range(0, last + 1, every), last):
        x, y = replay.position[tick, :2]
        _stamp(picture, "runner", x, y, facing=int(replay.facing[tick]), is_large=replay.power[tick] > 0)
    return picture


def draw_tick(level: np.ndarray, replay: Replay, tick: int) -> np.ndarray:
    """Draws one tick of a game, of which 0 is the start: the level as it is now, and everything that moves.

    `level` is what it was at first. The picture is uint8, shape (256, 896, 3), as in `draw_level`.
    """
    now, does = np.array(level), replay.tiles[tick]
    now[(does == TILES.index("air")) & np.isin(level, (t.BRICK, t.COIN))] = t.AIR
    picture = _background(now, does == TILES.index("used"))
    _draw_line(picture, replay.position[: tick + 1])
    for sprite in reversed(replay.sprites[tick]):
        name = KINDS[int(sprite["kind"])]
        is_large = name == "runner" and replay.power[tick] > 0
        looks = {"facing": int(sprite["facing"]) or 1, "is_large": is_large, "has_wings": sprite["has_wings"] > 0}
        _stamp(picture, name, sprite["x"], sprite["y"], **looks)
    return picture


@cache
def _sheet() -> np.ndarray:
    """Returns all pictures as RGBA: uint8, shape (rows, columns, 16, 16, 4).

    A column of rows 0 to 3 has one kind of tile: its top, what is below its top, and both again for the right half of a
    pipe. Row 4 has the sprites, in the upper left corners.
    """
    with resources.files("neurozoo").joinpath("data/platformer_sprites.png").open("rb") as file:
        sheet = np.asarray(Image.open(file).convert("RGBA"))
    rows, columns = sheet.shape[0] // TILE_SIZE, sheet.shape[1] // TILE_SIZE
    return sheet.reshape(rows, TILE_SIZE, columns, TILE_SIZE, 4).swapaxes(1, 2)


def _background(level: np.ndarray, is_used: np.ndarray) -> np.ndarray:
    height, width = level.shape
    shade = np.linspace(0, 1, height * TILE_SIZE)[:, None, None]
    sky = np.array(_SKY_TOP) * (1 - shade) + np.array(_SKY_BOTTOM) * shade
    picture = np.repeat(sky.round().astype(np.uint8), width * TILE_SIZE, axis=1)
    for row, column in np.argwhere(level != t.AIR):
        tile = int(level[row, column])
        is_below = row == 0 or level[row - 1, column] == tile
        count = 0  # pieces of pipe at the left: the second piece is a right half
        while tile == t.PIPE and column - count > 0 and level[row, column - count - 1] == t.PIPE:
            count += 1
        look = _sheet()[is_below + 2 * (count % 2), _USED if is_used[row, column] else tile]
        _paste(picture, look, column * TILE_SIZE, row * TILE_SIZE)
    return picture


@cache
def _sprite(name: str, *, is_large: bool, has_wings: bool) -> np.ndarray:
    """Returns a sprite that looks to the right, as RGBA."""
    height, width = _SPRITES[name]
    look = _sheet()[4, list(_SPRITES).index(name), :height, :width]
    if is_large:
        look = np.repeat(look, 2, axis=0)
    if has_wings:
        look = look.copy()
        _paste(look, _sprite("wings", is_large=False, has_wings=False), 0, 2)
    return look


def _stamp(
    picture: np.ndarray, name: str, x: float, y: float, *, facing: int, is_large: bool = False, has_wings: bool = False
) -> None:
    """Draws a sprite whose feet are at (x, y)."""
    look = _sprite(name, is_large=bool(is_large), has_wings=bool(has_wings))
    height, width = look.shape[:2]
    _paste(picture, look[:, ::-1] if facing < 0 else look, round(float(x)) - width // 2, round(float(y)) + 1 - height)


def _paste(picture: np.ndarray, look: np.ndarray, left: int, top: int) -> None:
    """Puts one picture on another where it is not transparent; what lies outside is cut off."""
    look = look[max(0, -top) : max(0, len(picture) - top), max(0, -left) : max(0, picture.shape[1] - left)]
    top, left = max(0, top), max(0, left)
    place = picture[top : top + look.shape[0], left : left + look.shape[1]]
    shown = look[..., 3] > 0
    place[shown] = look[shown][:, : picture.shape[2]]


def _draw_line(picture: np.ndarray, position: np.ndarray) -> None:
    """Draws the way of the runner's middle."""
    points = position[:, :2] - (0, 6)
    steps = [np.linspace(a, b, 12) for a, b in pairwise(points)]
    if not steps:
        return
    x, y = np.rint(np.concatenate(steps)).astype(int).T
    inside = (x >= 0) & (x < picture.shape[1]) & (y >= 0) & (y < picture.shape[0])
    picture[y[inside], x[inside]] = _WAY
