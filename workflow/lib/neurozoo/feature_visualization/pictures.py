"""Turns arrays into small pictures, and small pictures into labelled sheets."""

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from neurozoo.environments.observations import ObservationShape
from neurozoo.files import written_whole

GAP = (70, 110, 200)  # between the parts of a picture: a blue that no greyscale contains
_INK, _PAPER = (20, 20, 20), (255, 255, 255)
_TITLE, _TEXT, _LABEL = 17, 13, 12  # points
_MARGIN, _SPACE = 14, 8  # pixels
_MIN_WIDTH = 620  # pixels; room for title and note
_OVERSAMPLING = 4  # curves are drawn this many times larger and then reduced, which smooths them


@dataclass(frozen=True)
class Row:
    """A labelled row of a sheet: the label may have several lines, and the cells are uint8, (height, width, 3)."""

    label: str
    cells: Sequence[np.ndarray]


def grey(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Draws a plane with `low` as black and `high` as white: uint8, shape (height, width, 3)."""
    return np.repeat(colour(values, low, high)[..., None], 3, axis=-1)


def colour(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Draws red, green and blue, shape (height, width, 3), from `low` (dark) to `high` (bright): uint8."""
    share = (np.asarray(values, np.float64) - low) / max(high - low, 1e-12)
    return np.rint(255 * np.clip(share, 0, 1)).astype(np.uint8)


def signed(values: np.ndarray, largest: float) -> np.ndarray:
    """Draws a plane with zero as white, `largest` as red and its negative as blue: uint8, shape (height, width, 3)."""
    share = np.clip(np.asarray(values, np.float64) / max(largest, 1e-30), -1, 1)[..., None]
    red, blue = np.array([178, 24, 43]), np.array([33, 102, 172])
    return np.rint(255 + np.abs(share) * (np.where(share > 0, red, blue) - 255)).astype(np.uint8)


def side_by_side(pictures: Sequence[np.ndarray], factor: int) -> np.ndarray:
    """Joins pictures of equal height, enlarged by a factor, in a row, with blue lines between and around them."""
    pictures = [picture.repeat(factor, axis=0).repeat(factor, axis=1) for picture in pictures]
    line = np.broadcast_to(np.array(GAP, np.uint8), (pictures[0].shape[0], 1, 3))
    joined = np.concatenate([part for picture in pictures for part in (line, picture)] + [line], axis=1)
    edge = np.broadcast_to(np.array(GAP, np.uint8), (1, joined.shape[1], 3))
    return np.concatenate([edge, joined, edge], axis=0)


def framed(pictures: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
    """Enlarges each picture by the largest whole factor with which it fits into `size` pixels, and frames it."""
    return [side_by_side([picture], max(1, size // max(picture.shape[:2]))) for picture in pictures]


def blocks_within(width: int, rows: Sequence[Row], *, label: int, least: int) -> int:
    """Returns how many blocks of rows fit side by side, each of at least `least` rows with labels of `label` pixels."""
    block = sum(cell.shape[1] + 4 for cell in rows[0].cells) + label
    return max(1, min(width // block, len(rows) // least))


def channel_names(shape: ObservationShape) -> list[str]:
    """Names the channels of an observation: `T-3` to `Now` for frames, otherwise colours or numbers."""
    if shape.stack > 1:
        frames = [f"T-{back}" if back else "Now" for back in range(shape.stack - 1, -1, -1)]
        inner = [f" {i}" for i in range(shape.channels)] if shape.channels > 1 else [""]
        return [frame + channel for frame in frames for channel in inner]
    if shape.is_in_colour:
        return ["red", "green", "blue"]
    return ["grey"] if shape.channels == 1 else [f"channel {i}" for i in range(shape.channels)]


def planes_of(shape: ObservationShape) -> dict[str, list[int]]:
    """Groups an observation's channels into pictures: colours together, every other channel alone."""
    if shape.is_in_colour:
        return {"colours": [0, 1, 2]}
    return {name: [i] for i, name in enumerate(channel_names(shape))}


def draw_planes(values: np.ndarray, shape: ObservationShape, high: float) -> list[np.ndarray]:
    """Draws an observation, (height, width, channels), as its planes, see `planes_of`; 0 is black, `high` is white."""
    draw = colour if shape.is_in_colour else lambda plane, low, high: grey(plane[..., 0], low, high)
    return [draw(values[..., channels], 0, high) for channels in planes_of(shape).values()]


def newest_plane(values: np.ndarray, shape: ObservationShape, high: float) -> np.ndarray:
    """Draws the newest frame of an observation. Several channels that are not colours become their maximum."""
    if shape.is_in_colour:
        return colour(values, 0, high)
    return grey(values[..., -shape.channels :].max(axis=-1), 0, high)


def draw_curve(values: np.ndarray, *, width: int = 120, height: int = 60) -> np.ndarray:
    """Draws a curve, with its lowest value at the bottom and its highest at the top."""
    image = Image.new("RGB", (_OVERSAMPLING * width, _OVERSAMPLING * height), _PAPER)
    low, high = float(np.min(values)), float(np.max(values))
    x = np.linspace(0.04, 0.96, len(values)) * image.width
    y = (0.93 - 0.86 * (np.asarray(values, np.float64) - low) / max(high - low, 1e-12)) * image.height
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, image.width - 1, image.height - 1), outline=(170, 170, 170), width=_OVERSAMPLING)
    draw.line([*zip(x.tolist(), y.tolist(), strict=True)], fill=(0, 90, 170), width=_OVERSAMPLING + 1, joint="curve")
    return np.asarray(image.resize((width, height), Image.Resampling.BOX))


def write_sheet(
    path: str | os.PathLike, *, title: str, note: str, rows: Sequence[Row], headers: Sequence[str] = (), blocks: int = 1
) -> None:
    """Writes a PNG with a title, an explanation and rows of pictures; the same arguments give the same bytes.

    The rows go from top to bottom, block by block; `headers` stand above each column of cells.
    """
    font, small = ImageFont.load_default(_TEXT), ImageFont.load_default(_LABEL)
    columns = max(len(row.cells) for row in rows)
    widths = [max([row.cells[i].shape[1] for row in rows if i < len(row.cells)]) for i in range(columns)]
    for i, header in enumerate(headers):
        widths[i] = max(widths[i], int(small.getlength(header)) + 2)
    label_width = int(max(small.getlength(line) for row in rows for line in row.label.split("\n"))) + _SPACE
    line = _LABEL + 3
    heights = [max([cell.shape[0] for cell in row.cells] + [line * len(row.label.split("\n"))]) for row in rows]
    block_width = label_width + sum(widths) + (_SPACE // 2) * (columns - 1)
    per_block = -(-len(rows) // blocks)
    blocks = -(-len(rows) // per_block)
    width = max(_MIN_WIDTH, 2 * _MARGIN + blocks * block_width + 3 * _SPACE * (blocks - 1))
    letters = int((width - 2 * _MARGIN) / font.getlength("abcdefghij klmnopqrst") * 21)
    notes = textwrap.wrap(note, letters)
    top = _MARGIN + _TITLE + 8 + len(notes) * (_TEXT + 4) + _SPACE + (line + 2 if headers else 0)
    block_heights = [
        sum(heights[start : start + per_block]) + _SPACE * (per_block - 1) for start in range(0, len(rows), per_block)
    ]
    image = Image.new("RGB", (width, top + max(block_heights) + _MARGIN), _PAPER)
    draw = ImageDraw.Draw(image)
    draw.text((_MARGIN, _MARGIN), title, fill=_INK, font=ImageFont.load_default(_TITLE))
    for i, words in enumerate(notes):
        draw.text((_MARGIN, _MARGIN + _TITLE + 8 + i * (_TEXT + 4)), words, fill=_INK, font=font)
    for block in range(blocks):
        left = _MARGIN + block * (block_width + 3 * _SPACE)
        lefts = [left + label_width + sum(widths[:i]) + (_SPACE // 2) * i for i in range(columns)]
        for x, header in zip(lefts, headers, strict=False):
            draw.text((x, top - line - 2), header, fill=_INK, font=small)
        y = top
        for row, height in list(zip(rows, heights, strict=True))[block * per_block : (block + 1) * per_block]:
            draw.multiline_text((left, y + height // 2), row.label, fill=_INK, font=small, anchor="lm", spacing=3)
            for x, cell in zip(lefts, row.cells, strict=False):
                image.paste(Image.fromarray(cell), (x, y + (height - cell.shape[0]) // 2))
            y += height + _SPACE
    with written_whole(path) as temporary:
        image.save(temporary, format="PNG")
