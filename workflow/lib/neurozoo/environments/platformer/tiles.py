"""The tiles of platform levels, and levels as text.

Source: section 5.1 of the description of DSAGE.
"""

import os

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.files import open_text, written_whole

HEIGHT, WIDTH = 16, 56  # tiles
TILE_SIZE = 16  # pixels
ALPHABET = "-*ygkrtS!@FX%M|o#"  # the tiles of levels, by number
AIR, CANNON, SPIKY, GOOMBA, GREEN_KOOPA, RED_KOOPA, PIPE, BRICK, COIN_BLOCK, POWER_BLOCK, FINISH, GROUND, PLATFORM = (
    range(13)
)
START, BACKGROUND, COIN, PYRAMID = range(13, 17)
TILE_COLOURS = (  # on pages
    "#dbecf6", "#48485c", "#f49e42", "#9462c4", "#58b25c", "#de544a", "#369692", "#c46854", "#eeb64c", "#f06276",
    "#303038", "#966c48", "#be8e5c", "#78a0d6", "#cfcfd9", "#facf50", "#b6aa9e",
)  # fmt: skip
ENEMIES = (SPIKY, GOOMBA, GREEN_KOOPA, RED_KOOPA)

_CHARACTERS = np.frombuffer(ALPHABET.encode(), np.uint8)
_NUMBERS = np.full(256, 255, np.uint8)
_NUMBERS[_CHARACTERS] = np.arange(len(ALPHABET))


def to_characters(levels: np.ndarray) -> np.ndarray:
    """Returns the characters of tiles: uint8, of the same shape, as the game takes them.

    Raises:
        NeurozooError: A tile is unknown.
    """
    if (highest := int(levels.max(initial=0))) >= len(_CHARACTERS):
        raise NeurozooError(
            f"A level has a tile of kind {highest}, but kinds end at {len(_CHARACTERS) - 1}. Its file is damaged."
        )
    return _CHARACTERS[levels]


def to_text(level: np.ndarray) -> str:
    """Returns a level as 16 lines of 56 characters; `from_text` reads them.

    Args:
        level: uint8, shape (16, 56), numbers of tiles.
    """
    return "\n".join(row.tobytes().decode() for row in to_characters(np.asarray(level))) + "\n"


def from_text(text: str, *, source: str = "The level") -> np.ndarray:
    """Reads a level.

    Args:
        text: Lines of characters; empty lines around them and spaces at their ends do not count.
        source: What messages call it.

    Returns:
        uint8, shape (16, 56), numbers of tiles.

    Raises:
        NeurozooError: It has another size or unknown tiles, or its finish does not lie at the right of its start.
    """
    lines = [line.rstrip() for line in text.removeprefix("\ufeff").rstrip().splitlines()]
    first = next((number for number, line in enumerate(lines) if line), 0)
    lines = lines[first:]
    widths = sorted({len(line) for line in lines})
    if len(lines) != HEIGHT or widths != [WIDTH]:
        between = f"{widths[0]} to {widths[-1]}" if len(widths) > 1 else "".join(map(str, widths)) or "0"
        wrong = [number for number, line in enumerate(lines, first + 1) if len(line) != WIDTH]
        is_long = wrong and len(lines[wrong[0] - first - 1]) > WIDTH
        odd = f" Line {wrong[0]} is too {'long' if is_long else 'short'}." if wrong else ""
        raise NeurozooError(
            f"{source} has {len(lines)} lines of {between} characters, but should have {HEIGHT} lines of {WIDTH}."
            f"{odd} Cut what is too long, and fill up with {ALPHABET[AIR]!r}, which is air."
        )
    for row, line in enumerate(lines):
        for column, character in enumerate(line):
            if character not in ALPHABET:
                raise NeurozooError(
                    f"{source} has the unknown tile {character!r} in line {first + row + 1}, column {column + 1}. "
                    f"Known tiles: {ALPHABET}"
                )
    level = _NUMBERS[np.frombuffer("".join(lines).encode(), np.uint8)].reshape(HEIGHT, WIDTH)
    return checked_levels(level[None], source=source)[0]


def checked_levels(levels: np.ndarray, *, source: str) -> np.ndarray:
    """Returns levels from elsewhere, if they can be played.

    Args:
        levels: Numbers of tiles.
        source: What messages call the file that they come from.

    Returns:
        uint8, shape (levels, 16, 56).

    Raises:
        NeurozooError: They have another shape or type or unknown tiles, or a finish is not at the right of its start.
    """
    if levels.ndim != 3 or levels.shape[1:] != (HEIGHT, WIDTH) or levels.dtype.kind not in "iu":
        raise NeurozooError(
            f"{source} should hold platform levels, whole numbers of shape ({HEIGHT}, {WIDTH}), but holds "
            f"{levels.dtype} of shape {levels.shape[1:]}. It should come from a run of the game mario."
        )
    if levels.size and not 0 <= levels.min() <= levels.max() < len(ALPHABET):
        raise NeurozooError(
            f"{source} has tiles from {levels.min()} to {levels.max()}, but they are numbered from 0 to "
            f"{len(ALPHABET) - 1}. The file is damaged."
        )
    for number in np.flatnonzero(((levels == START) | (levels == FINISH)).any(axis=(1, 2))):
        start, finish = ends_of(levels[number])
        if finish <= start:
            which = f"{source}, level {number + 1}," if len(levels) > 1 else source
            raise NeurozooError(
                f"{which} has its finish in column {finish + 1}, but its start in column {start + 1}. Put the finish "
                "(F) at the right of the start (M), or leave it out: then it is the last column."
            )
    return levels.astype(np.uint8)


def read_level(path: str | os.PathLike) -> np.ndarray:
    """Reads a level from a text file; see `from_text`.

    Raises:
        NeurozooError: The file is missing or no text, or its level cannot be played.
    """
    try:
        with open_text(path) as file:
            text = file.read()
    except FileNotFoundError as error:
        raise NeurozooError(f"The level {path} is missing. Check the path.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise NeurozooError(
            f"{path} is not a text file, as a level should be. For a level of an archive, name the folder of its run."
        ) from error
    return from_text(text, source=f"The level {path}")


def write_level(path: str | os.PathLike, level: np.ndarray) -> None:
    """Writes a level as a text file, which `read_level` reads."""
    with written_whole(path) as temporary:
        temporary.write_text(to_text(level), encoding="utf-8")


def ends_of(level: np.ndarray) -> tuple[int, int]:
    """Returns the columns of start and finish: the last such tiles, row by row, or else the first and last column."""
    columns = [np.nonzero(level == tile)[1] for tile in (START, FINISH)]
    return (int(columns[0][-1]) if len(columns[0]) else 0), (int(columns[1][-1]) if len(columns[1]) else WIDTH - 1)


def without_wrong_ends(levels: np.ndarray) -> np.ndarray:
    """Returns levels whose finish lies at the right of their start, as levels of a generator should.

    A finish at the left of the start would win at once. Where it lies wrong, start and finish tiles become air, so that
    the first and last column take their place.

    Args:
        levels: uint8, shape (levels, 16, 56).
    """
    levels = np.array(levels, np.uint8)
    for number in np.flatnonzero(((levels == START) | (levels == FINISH)).any(axis=(1, 2))):
        start, finish = ends_of(levels[number])
        if finish <= start:
            levels[number][(levels[number] == START) | (levels[number] == FINISH)] = AIR
    return levels
