"""Pictures of platform levels: tiles of 16 x 16 pixels and sprites, all drawn here."""

from functools import cache
from itertools import pairwise

import numpy as np

from neurozoo.environments.platformer import tiles as t
from neurozoo.environments.platformer.simulator import KINDS, TILES, Replay
from neurozoo.environments.platformer.tiles import TILE_SIZE

_COLOURS = {
    ".": None,
    "k": (38, 35, 53),  # outlines
    "w": (250, 248, 240),
    "b": (64, 118, 214),
    "B": (40, 78, 158),
    "c": (126, 203, 235),
    "p": (148, 98, 196),
    "P": (104, 62, 150),
    "g": (88, 178, 92),
    "G": (52, 124, 66),
    "r": (222, 84, 74),
    "R": (160, 48, 52),
    "o": (244, 158, 66),
    "O": (198, 108, 36),
    "y": (252, 212, 92),
    "s": (122, 126, 142),
    "S": (78, 82, 100),
    "m": (238, 122, 158),
}
_SKY_TOP, _SKY_BOTTOM = (196, 226, 246), (238, 246, 248)
_WAY = (232, 60, 120)  # of the runner through the level

# Sprites look to the right; the lowest row stands on the ground.
_RUNNER = """
...kkkkk..
..kbbbbbk.
.kbbbcccck
.kbbbcwckk
.kbbbccccd
..kbbbbbk.
..kkyykk..
.kbbyybbk.
.kbBBBBbk.
..kBBBBk..
..kSkkSk..
..kkk.kkk.
"""
_SPRITES = {
    "runner": _RUNNER.replace("d", "k"),
    "goomba": """
....kkkk....
..kkppppkk..
.kppppppppk.
.kppwwppwwk.
kpppwkppwkpk
kppppppppppk
kpPPkkkkkPPk
kPPPPPPPPPPk
.kkPPkkPPkk.
...kkk.kkk..
""",
    "koopa": """
.......kkk..
......kyyyk.
......kykyk.
......kyyyyk
......kyyyk.
..kkkkkyyk..
.kxxXxxkyyk.
kxxXXXxxkyk.
kxXXwXXxkyk.
kxxXXXxxkk..
kwwwwwwwwk..
.kkyykkyyk..
..kkk..kkk..
""",
    "spiky": """
..k...k..k..
.kwk.kwkkwk.
.kwk.kwkkwk.
kowwkwwowwok
koooooooooyk
kOooooooywyk
kOOooooookyk
kOOOOOOOOOok
.kkOOkkOOkk.
...kk...kk..
""",
    "shell": """
....kkkk....
..kkgGggkk..
.kggGGGgggk.
kggGGwGGgggk
kgGGGGGGGggk
kwwwwwwwwwwk
.kkkkkkkkkk.
""",
    "bullet": """
..kkkkkkkk..
.kSSssssssk.
kSSSsssswwsk
kSSSsssswksk
kSSSSssssssk
kSSSSSsssssk
.kSSSSSSSsk.
..kkkkkkkk..
""",
    "mushroom": """
....kkkk....
..kkggggkk..
..kgwwwwgk..
..kgwggwgk..
..kgwggwgk..
..kgwwwwgk..
..kggwwggk..
..kggwwggk..
..kGGGGGGk..
...kkkkkk...
""",
    "life_mushroom": """
..kkk..kkk..
.kmmmkkmmmk.
kmwmmmmmmmmk
kmmmmmmmmmmk
kmmmmmmmmmmk
.kmmmmmmmmk.
..kmmmmmmk..
...kmmmmk...
....kmmk....
.....kk.....
""",
    "flower": """
.....kk.....
....krk.....
...kroork...
..krooyork..
..kroyyyork.
.kroywwyyork
.kroywwwyork
.krooywyyork
..krooyyork.
...kkrrrkk..
....kkkkk...
""",
    "fireball": """
..kkkk..
.krooyk.
krooyywk
krooywwk
krooyywk
.krooyk.
..kkkk..
""",
}
_LOOKS = {"green_koopa": ("koopa", "gG"), "red_koopa": ("koopa", "rR")}
_WINGS = """
.ww..
www..
wwww.
.www.
..w..
"""


def draw_level(level: np.ndarray) -> np.ndarray:
    """Draws a level with everything that is in it at first.

    Args:
        level: uint8, shape (16, 56), numbers of tiles.

    Returns:
        uint8, shape (256, 896, 3).
    """
    picture = _background(level, np.zeros(level.shape, bool))
    looks = {t.SPIKY: "spiky", t.GOOMBA: "goomba", t.GREEN_KOOPA: "green_koopa", t.RED_KOOPA: "red_koopa"}
    for row, column in np.argwhere(np.isin(level, t.ENEMIES)):
        name = looks[int(level[row, column])]
        _stamp(picture, name, column * TILE_SIZE + 8, row * TILE_SIZE + 15, facing=-1)
    return picture


def draw_way(level: np.ndarray, replay: Replay, *, every: int = 12) -> np.ndarray:
    """Draws a level with the runner's way through it: a line of its feet, and the runner every few ticks.

    Args:
        level: uint8, shape (16, 56), numbers of tiles.
        replay: A game in this level.
        every: Ticks between two runners.

    Returns:
        uint8, shape (256, 896, 3).
    """
    picture = draw_level(level)
    _draw_line(picture, replay.position)
    for tick in range(0, len(replay.status), every):
        x, y = replay.position[tick, :2]
        _stamp(picture, "runner", x, y, facing=int(replay.facing[tick]), is_large=replay.power[tick] > 0)
    x, y = replay.position[-1, :2]
    _stamp(picture, "runner", x, y, facing=int(replay.facing[-1]), is_large=replay.power[-1] > 0)
    return picture


def draw_tick(level: np.ndarray, replay: Replay, tick: int) -> np.ndarray:
    """Draws one tick of a game: the level as it is now, and everything that moves.

    Args:
        level: uint8, shape (16, 56), numbers of tiles at first.
        replay: A game in this level.
        tick: Which one; 0 is the start.

    Returns:
        uint8, shape (256, 896, 3).
    """
    now = np.array(level)
    does = replay.tiles[tick]
    was_solid_now_air = (does == TILES.index("air")) & np.isin(level, (t.BRICK, t.COIN))
    now[was_solid_now_air] = t.AIR
    picture = _background(now, does == TILES.index("used"))
    _draw_line(picture, replay.position[: tick + 1])
    for sprite in reversed(replay.sprites[tick]):
        name = KINDS[int(sprite["kind"])]
        is_large = name == "runner" and replay.power[tick] > 0
        facing = int(sprite["facing"]) or 1
        _stamp(
            picture, name, sprite["x"], sprite["y"], facing=facing, is_large=is_large, has_wings=sprite["has_wings"] > 0
        )
    return picture


# ---- inside


def _background(level: np.ndarray, is_used: np.ndarray) -> np.ndarray:
    height, width = level.shape
    shade = np.linspace(0, 1, height * TILE_SIZE)[:, None, None]
    sky = np.array(_SKY_TOP) * (1 - shade) + np.array(_SKY_BOTTOM) * shade
    picture = np.repeat(sky.round().astype(np.uint8), width * TILE_SIZE, axis=1)
    for row, column in np.argwhere(level != t.AIR):
        tile = int(level[row, column])
        above = int(level[row - 1, column]) if row else tile
        left = int(level[row, column - 1]) if column else t.AIR
        count = 0  # tiles of this kind at the left: of a pipe, the second is its right half
        while tile == t.PIPE and column - count > 0 and level[row, column - count - 1] == t.PIPE:
            count += 1
        look = _tile(tile, is_top=above != tile, is_odd=bool(count % 2), is_edge=left != tile)
        if is_used[row, column]:
            look = _block(_COLOURS["s"], _COLOURS["S"])
        place = picture[row * TILE_SIZE : (row + 1) * TILE_SIZE, column * TILE_SIZE : (column + 1) * TILE_SIZE]
        shown = look[..., 3] > 0
        place[shown] = look[shown][:, :3]
    return picture


@cache
def _tile(tile: int, *, is_top: bool, is_odd: bool, is_edge: bool) -> np.ndarray:
    """Returns a tile as RGBA, uint8, shape (16, 16, 4)."""
    look = np.zeros((TILE_SIZE, TILE_SIZE, 4), np.uint8)
    y, x = np.mgrid[:TILE_SIZE, :TILE_SIZE]
    radius = np.hypot(x - 7.5, y - 7.5)

    def paint(where, colour):
        look[where] = (*colour, 255)

    if tile == t.GROUND:
        paint(y >= 0, (150, 108, 72))
        paint((x * 7 + y * 11) % 23 == 0, (120, 84, 54))
        paint((x * 5 + y * 13) % 29 == 0, (176, 132, 92))
        if is_top:
            paint(y < 4, (96, 172, 84))
            paint((y == 4) & (x % 3 != 1), (96, 172, 84))
            paint(y == 0, (140, 206, 112))
    elif tile == t.PYRAMID:
        return _block((182, 170, 158), (132, 120, 112))
    elif tile == t.BRICK:
        paint(y >= 0, (196, 104, 84))
        paint(y % 8 == 7, (120, 60, 54))
        paint((x + 4 * (y // 8)) % 8 == 7, (120, 60, 54))
        paint((y % 8 == 0) & ((x + 4 * (y // 8)) % 8 != 7), (222, 140, 112))
    elif tile in (t.COIN_BLOCK, t.POWER_BLOCK):
        look = _block((238, 182, 76), (184, 124, 40)).copy()
        mark = radius < 4 if tile == t.COIN_BLOCK else np.abs(x - 7.5) + np.abs(y - 7.5) < 5.5
        paint(mark, (255, 240, 180) if tile == t.COIN_BLOCK else (240, 98, 118))
        paint(mark & (x + y < 13), (255, 252, 232) if tile == t.COIN_BLOCK else (255, 176, 180))
    elif tile == t.PIPE:
        along = x + (TILE_SIZE if is_odd else 0)  # 0 to 31 over both halves
        margin = 0 if is_top else 2
        inside = (along >= margin) & (along < 32 - margin)
        paint(inside, (54, 150, 146))
        paint(inside & (along > 4) & (along < 9), (120, 206, 196))
        paint(inside & (along > 22), (36, 110, 112))
        paint(inside & ((along == margin) | (along == 31 - margin)), _COLOURS["k"])
        if is_top:
            paint((y == 0) | (y == 7), _COLOURS["k"])
            paint((y > 7) & ((along < 2) | (along > 29)), (0, 0, 0))
            look[(y > 7) & ((along < 2) | (along > 29))] = 0
    elif tile == t.PLATFORM:
        paint(y < 6, (190, 142, 92))
        paint(y == 0, (226, 184, 132))
        paint((y == 5) | ((x % 8 == 7) & (y < 6)), (128, 88, 54))
    elif tile == t.BACKGROUND:
        paint((x % 8 > 1) & (x % 8 < 6), (206, 206, 216))
        paint(x % 8 == 2, (226, 226, 234))
    elif tile == t.COIN:
        oval = np.hypot((x - 7.5) * 1.3, y - 7.5)
        paint(oval < 6.2, (176, 124, 32))
        paint(oval < 5.2, (250, 206, 80))
        paint((oval < 3.5) & (x < 8), (255, 240, 172))
    elif tile == t.CANNON:
        paint((x > 0) & (x < 15), (72, 74, 92))
        paint((x > 2) & (x < 6), (112, 116, 136))
        if is_top:
            paint(y < 3, (48, 48, 64))
            paint(radius < 4.5, (28, 26, 40))
    elif tile == t.FINISH:
        paint((x == 3) | (x == 4), (96, 96, 112))
        flag = (x > 4) & (y > 0) & (y < 9) & (x < 15)
        paint(flag, (250, 250, 250))
        paint(flag & ((x - 5) // 2 + (y - 1) // 2) % 2 == 1, (48, 48, 60))
    elif tile == t.START:
        paint((np.abs(radius - 6) < 1) & (y < 15), (120, 160, 214))
    return look


@cache
def _block(colour: tuple[int, int, int], shadow: tuple[int, int, int]) -> np.ndarray:
    look = np.full((TILE_SIZE, TILE_SIZE, 4), 255, np.uint8)
    y, x = np.mgrid[:TILE_SIZE, :TILE_SIZE]
    look[..., :3] = colour
    look[(x + y >= TILE_SIZE) & ((x > 12) | (y > 12)), :3] = shadow
    look[(x + y < TILE_SIZE - 1) & ((x < 3) | (y < 3)), :3] = np.minimum(np.array(colour) + 34, 255)
    look[(x == 0) | (y == 0) | (x == 15) | (y == 15), :3] = np.array(shadow) * 3 // 4
    return look


@cache
def _sprite(name: str, *, is_large: bool, has_wings: bool) -> np.ndarray:
    """Returns a sprite that looks to the right, as RGBA."""
    drawing, colours = _LOOKS.get(name, (name, ""))
    text = _SPRITES[drawing]
    if colours:
        text = text.replace("x", colours[0]).replace("X", colours[1])
    look = _pixels(text)
    if is_large:
        look = np.repeat(look, 2, axis=0)
    if has_wings:
        wings = _pixels(_WINGS)
        place = look[2 : 2 + wings.shape[0], : wings.shape[1]]
        place[wings[..., 3] > 0] = wings[wings[..., 3] > 0]
    return look


def _pixels(text: str) -> np.ndarray:
    rows = text.strip("\n").split("\n")
    look = np.zeros((len(rows), max(map(len, rows)), 4), np.uint8)
    for y, row in enumerate(rows):
        for x, character in enumerate(row):
            if (colour := _COLOURS[character]) is not None:
                look[y, x] = (*colour, 255)
    return look


def _stamp(
    picture: np.ndarray, name: str, x: float, y: float, *, facing: int, is_large: bool = False, has_wings: bool = False
) -> None:
    """Draws a sprite whose feet are at (x, y); what lies outside of the picture is cut off."""
    look = _sprite(name, is_large=bool(is_large), has_wings=bool(has_wings))
    if facing < 0:
        look = look[:, ::-1]
    height, width = look.shape[:2]
    left, top = round(float(x)) - width // 2, round(float(y)) + 1 - height
    first_x, first_y = max(0, -left), max(0, -top)
    last_x, last_y = min(width, picture.shape[1] - left), min(height, picture.shape[0] - top)
    if first_x >= last_x or first_y >= last_y:
        return
    look = look[first_y:last_y, first_x:last_x]
    place = picture[top + first_y : top + last_y, left + first_x : left + last_x]
    place[look[..., 3] > 0] = look[look[..., 3] > 0][:, :3]


def _draw_line(picture: np.ndarray, position: np.ndarray) -> None:
    """Draws the way of the runner's middle."""
    points = position[:, :2] - (0, 6)
    steps = [np.linspace(a, b, 12) for a, b in pairwise(points)]
    if not steps:
        return
    x, y = np.rint(np.concatenate(steps)).astype(int).T
    inside = (x >= 0) & (x < picture.shape[1]) & (y >= 0) & (y < picture.shape[0])
    picture[y[inside], x[inside]] = _WAY
