"""The river crossing task as a `World`, and what is seen of it: observations for networks, picture and text for people.

`COLOURS` and the like are indexed by the code of a cell, then 5 for the agent with free hands, 6 for one with a stone.
"""

import numpy as np

from neurozoo.environments.protocols import Protocol
from neurozoo.environments.river_crossing import RESOURCE, SIDE, STONE, TRAP, WATER, RiverCrossing, RiverRules
from neurozoo.environments.world import SingleFrameWorld, largest

FREE, CARRYING = 5, 6
COLOURS = np.array(
    [(0, 0, 0), (255, 255, 0), (128, 128, 128), (0, 128, 255), (255, 0, 0), (255, 0, 102), (102, 0, 255)], np.uint8
)
RGB = COLOURS.astype(np.float32) / np.float32(255)
GREYS = np.array([0.2989 * (r / 255) + 0.587 * (g / 255) + 0.114 * (b / 255) for r, g, b in COLOURS.tolist()]).astype(
    np.float32
)
OBJECTS = (RESOURCE, STONE, WATER, TRAP)  # planes of `objects`; then the agent with a stone, the one with free hands
SHAPES = {
    "pixels": (84, 84, 1), "rgb": (SIDE, SIDE, 3), "greyscale": (SIDE, SIDE, 1), "objects": (SIDE, SIDE, 6),
    "vector": (6,),
}  # fmt: skip
ENLARGEMENT, BORDER = 4, 2  # of `pixels`
CELL_PIXELS = 8  # side of a cell in the picture for people
LETTERS = ".Ro~x"  # by code of the cell


class RiverCrossingWorld(SingleFrameWorld):
    """The river crossing task under one protocol, see `World`; `river` is the game.

    `rules` are parameters of the task; without them it has those of the protocol, as the native core has them.
    """

    screen_shape = (SIDE * CELL_PIXELS, SIDE * CELL_PIXELS, 3)

    def __init__(self, game: str, protocol: Protocol, rules: RiverRules | None = None):
        super().__init__(game, protocol)
        self.river = RiverCrossing(rules or RiverRules(is_faithful=protocol.rules == "faithful"))
        self.river.reset(seed=0)  # makes the first screen

    @property
    def screen(self) -> np.ndarray:
        """The world in colour: uint8, shape (160, 160, 3)."""
        return picture(self.river)

    @property
    def final_positions(self) -> np.ndarray:
        """(column, row, level) at the end of each attempt: float32, shape (attempts, 3)."""
        return np.array(self.river.final_positions, np.float32).reshape(-1, 3)

    @property
    def attempts_left(self) -> int:
        """Attempts that count and have not ended."""
        return max(0, self.river.rules.attempts - len(self.river.final_positions))

    def _start(self, seed: int, noops: int) -> None:
        self.river.reset(seed=seed)

    def _play(self, outputs: np.ndarray, is_last: bool) -> tuple[float, bool]:
        reward = self.river.step(largest(outputs), is_last=is_last)
        return reward, self.river.is_over

    def _new_plane(self) -> np.ndarray:
        return view(self.river, self.protocol.observation)


def view(river: RiverCrossing, observation: str) -> np.ndarray:
    """Returns the current world as a network sees it.

    Under fixed rules a row of the picture is a row of the world. Faithful rules keep three bugs of the toolbox: the
    axes are swapped; the planes of `objects` lie one after the other in memory, although the shape says otherwise; and
    the agent's colour in `rgb` is at the flat offset 60 * column + row instead of 3 * (20 * column + row).

    A `vector` is the cell under the agent (one-hot, five kinds) and whether the agent carries a stone.

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
        planes[:4] = [cells == code for code in OBJECTS]
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
