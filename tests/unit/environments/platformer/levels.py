"""Levels that several tests play."""

import numpy as np
from neurozoo.environments.platformer.tiles import ALPHABET

BUTTONS = {"L": 1, "R": 2, "D": 4, "S": 8, "J": 16}


def flat(edits: str = "") -> np.ndarray:
    """A flat level with edits such as `#@3-3/10-13` (tile, columns, rows), parted by `;`: characters, (16, 56)."""
    level = np.full((16, 56), ord("-"), np.uint8)
    level[14:] = ord("X")
    for edit in filter(None, edits.split(";")):
        columns, rows = edit[2:].split("/")
        left, right = map(int, columns.split("-"))
        top, bottom = map(int, rows.split("-"))
        level[top : bottom + 1, left : right + 1] = ord(edit[0])
    return level


def level_of(edits: str = "") -> np.ndarray:
    """The level `flat` as numbers of tiles."""
    return np.array([[ALPHABET.index(chr(tile)) for tile in row] for row in flat(edits)], np.uint8)


def decisions(program: str, *, length: int = 700) -> np.ndarray:
    """The decisions of a program such as `2:,12:J,*:RS`: until 2 nothing, until 12 JUMP, then RIGHT and SPEED."""
    made: list[int] = []
    for part in program.split(","):
        until, names = part.split(":")
        end = length if until == "*" else int(until)
        made += [sum(BUTTONS[name] for name in names)] * (end - len(made))
    return np.array(made, np.uint8)


def wild(rng: np.random.Generator) -> np.ndarray:
    """A level full of everything: characters, (16, 56)."""
    level = flat()
    place = rng.random((13, 56))
    level[:13][place < 0.16] = rng.choice(list(b"S!@%o#LU12CX"), size=np.count_nonzero(place < 0.16))
    level[:13, 8:][place[:, 8:] > 0.96] = rng.choice(list(b"gkryGKRY*"), size=np.count_nonzero(place[:, 8:] > 0.96))
    for column in rng.integers(10, 54, size=4):
        level[14:, column : column + rng.integers(1, 4)] = ord("-")
    level[9:14, :3] = ord("-")
    return level


def hilly(rng: np.random.Generator) -> np.ndarray:
    """A level of gaps, pipes, enemies, bricks and steps that can nearly always be won: characters, (16, 56)."""
    level, column = flat(), 4
    while column < 50:
        match rng.integers(6):
            case 0:
                width = rng.integers(1, 5)
                level[14:, column : column + width] = ord("-")
                column += width + 3
            case 1:
                level[14 - rng.integers(2, 5) : 14, column : column + 2] = ord("t")
                column += 4
            case 2:
                level[13, column] = rng.choice(list(b"gkry"))
                column += 2
            case 3:
                level[10, column : column + 3] = list(b"S!S")
                column += 4
            case 4:
                for step in range(4):
                    level[13 - step : 14, column + step] = ord("#")
                column += 6
            case _:
                column += 3
    return level
