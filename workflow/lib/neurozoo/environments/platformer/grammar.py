"""A decoder that has not learned anything: seven chunks, chosen and shaped by the entries of a solution.

It takes the place of a trained generator in tests, and wherever a search should run in seconds.

Source: section 13.5 of the description of DSAGE (decoder without learning).
"""

import numpy as np

from neurozoo.environments.platformer import tiles as t
from neurozoo.environments.platformer.chunks import CHUNKS, GROUND_ROW, WIDTH, ground

SOLUTION_SIZE = 32
_FIRST = 3  # columns before the first chunk
_NUM_CHUNKS = 7
_NUMBERS = 4  # of a chunk
# Plain chunks lie around 0, where a search begins; what cannot be passed lies far out.
_ORDER = (
    "abyss", "wall", "fort", "platforms", "gap", "meadow", "blocks", "pipe", "steps", "tunnel", "fort", "wall",
)  # fmt: skip
_SPREAD = 1.2  # entries from -1.2 to 1.2 make a difference; a search begins with a standard deviation of 0.2
_ROOF_ROW = 0.3  # of its entry, for each row of a roof
_MARK = 0.5  # from where on the entries of start and finish put their tiles


def decode(solutions: np.ndarray) -> np.ndarray:
    """Draws levels of solutions, shape (levels, 32): uint8, shape (levels, 16, 56), numbers of tiles.

    The first 28 entries of a solution belong to seven chunks: the first of four chooses the chunk, and all four shape
    it. Entry 28 says how many rows a roof of bricks has, entry 29 how far it goes. Entry 30 puts a start tile into the
    level if it is above 0.5, and entry 31 a finish tile.
    """
    solutions = np.asarray(solutions, np.float64).reshape(-1, SOLUTION_SIZE)
    shares = np.clip((solutions + _SPREAD) / (2 * _SPREAD), 0, 1 - 1e-9)
    levels = np.repeat(ground(t.WIDTH)[None], len(solutions), axis=0)
    for level, solution, share in zip(levels, solutions, shares, strict=True):
        for number in range(_NUM_CHUNKS):
            numbers = share[number * _NUMBERS : (number + 1) * _NUMBERS]
            place = numbers[0] * len(_ORDER)
            first = _FIRST + number * WIDTH
            # Within its share of the first entry, a chunk still varies.
            shape = np.concatenate([[place % 1], numbers[1:]])
            CHUNKS[_ORDER[int(place)]](level[:, first : first + WIDTH], shape)
        if (rows := int(np.clip(solution[28] / _ROOF_ROW, 0, 4))) > 0:
            level[:rows, : round(float(share[29]) * t.WIDTH)] = t.BRICK
        if solution[30] > _MARK:
            level[GROUND_ROW - 1, 1] = t.START
        if solution[31] > _MARK:
            level[GROUND_ROW - 1, t.WIDTH - 2] = t.FINISH
    return levels
