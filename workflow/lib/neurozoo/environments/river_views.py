"""Views of the river crossing task: observations for networks, pictures and text for people.

`COLOURS` and the like are indexed by the code of a cell, then 5 for the agent with free hands, 6 for one with a stone.
"""

import numpy as np

from neurozoo.environments.river_crossing import RESOURCE, SIDE, STONE, TRAP, WATER, RiverCrossing

FREE, CARRYING = 5, 6
COLOURS = np.array(
    [(0, 0, 0), (255, 255, 0), (128, 128, 128), (0, 128, 255), (255, 0, 0), (255, 0, 102), (102, 0, 255)], np.uint8
)
RGB = COLOURS.astype(np.float32) / np.float32(255)
GREYS = np.array([0.2989 * (r / 255) + 0.587 * (g / 255) + 0.114 * (b / 255) for r, g, b in COLOURS.tolist()]).astype(
    np.float32
)
OBJECTS = (
    RESOURCE,
    STONE,
    WATER,
    TRAP,
)  # first planes of `objects`; the last two are the agent with a stone, and the agent with free hands
SHAPES = {
    "pixels": (84, 84, 1), "rgb": (SIDE, SIDE, 3), "greyscale": (SIDE, SIDE, 1), "objects": (SIDE, SIDE, 6),
    "vector": (6,),
}  # fmt: skip
ENLARGEMENT, BORDER = 4, 2  # of `pixels`
CELL_PIXELS = 8  # side of a cell in the picture for people
SCREEN_SHAPE = (SIDE * CELL_PIXELS, SIDE * CELL_PIXELS, 3)
LETTERS = ".Ro~x"  # by code of the cell


def view(river: RiverCrossing, observation: str) -> np.ndarray:
    """Returns the current world as a network sees it.

    Under fixed rules a row of the picture is a row of the world. Faithful rules keep three bugs of the toolbox: the
    axes are swapped; the planes of `objects` lie one after the other in memory, although the shape says otherwise; and
    the agent's colour in `rgb` is at the flat offset 60 * column + row instead of 3 * (20 * column + row).

    Args:
        river: The game.
        observation: `pixels`, `rgb`, `greyscale`, `objects`, or `vector`: the cell under the agent (one-hot, five
            kinds) and whether the agent carries a stone.

    Returns:
        float32 in [0, 1], shape `SHAPES[observation]`.
    """
    is_faithful = river.rules.is_faithful
    agent = (river.column, river.row) if is_faithful else (river.row, river.column)
    cells = river.grid if is_faithful else river.grid.T
    agent_code = CARRYING if river.carries else FREE
    if observation == "vector":
        return np.array(
            [*(river.grid[river.column, river.row] == code for code in range(5)), river.carries], np.float32
        )
    if observation == "objects":
        planes = np.zeros((6, SIDE, SIDE), np.float32)
        for index, code in enumerate(OBJECTS):
            planes[index] = cells == code
        planes[(4 if river.carries else 5, *agent)] = 1
        return planes.reshape(SHAPES["objects"]) if is_faithful else np.ascontiguousarray(np.moveaxis(planes, 0, -1))
    if observation == "rgb":
        picture = RGB[cells]
        if is_faithful:
            offset = 3 * SIDE * river.column + river.row
            picture.reshape(-1)[offset : offset + 3] = RGB[agent_code]
        else:
            picture[agent] = RGB[agent_code]
        return picture
    greys = GREYS[cells]
    greys[agent] = GREYS[agent_code]
    if observation == "greyscale":
        return greys[..., None]
    enlarged = greys.repeat(ENLARGEMENT, axis=0).repeat(ENLARGEMENT, axis=1)
    return np.pad(enlarged, BORDER)[..., None]


def picture(river: RiverCrossing) -> np.ndarray:
    """Draws the world for people: uint8, shape (160, 160, 3). The cell under the agent shows as a border around it."""
    pixels = COLOURS[river.grid.T].repeat(CELL_PIXELS, axis=0).repeat(CELL_PIXELS, axis=1)
    top, left = river.row * CELL_PIXELS, river.column * CELL_PIXELS
    inside = slice(top + 1, top + CELL_PIXELS - 1), slice(left + 1, left + CELL_PIXELS - 1)
    pixels[inside] = COLOURS[CARRYING if river.carries else FREE]
    return pixels


def text(river: RiverCrossing) -> str:
    """Returns the world as text: `.` grass, `R` resource, `o` stone, `~` water, `x` trap, `A` agent, `C` carrying."""
    lines = [[LETTERS[code] for code in row] for row in river.grid.T]
    lines[river.row][river.column] = "C" if river.carries else "A"
    return "\n".join("".join(line) for line in lines)
