"""Text in DejaVu Sans, which comes with Matplotlib: antialiased, with a cache of lines and of single glyphs."""

from functools import lru_cache
from pathlib import Path
from typing import Literal

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from neurozoo.movies.themes import Colour, packed_picture, shades

Align = Literal["left", "middle", "right"]
_FILES = {False: "DejaVuSans.ttf", True: "DejaVuSans-Bold.ttf"}
_DYNAMIC = frozenset("0123456789+-−.,% ")


def write(
    image: np.ndarray,
    text: str,
    x: int,
    y: int,
    size: int,
    *,
    ink: Colour,
    paper: Colour | None,
    bold: bool = False,
    align: Align = "left",
) -> int:
    """Writes a line of text.

    Args:
        image: Drawn into: packed pixels, uint32, shape (height, width).
        text: The line.
        x: Left end, middle or right end.
        y: The middle of capital letters.
        size: Points.
        ink: Colour of the text.
        paper: Colour of the surface; None for surfaces of several colours, which takes longer.
        bold: Whether letters are bold.
        align: What `x` means.

    Returns:
        Width of the line in pixels.
    """
    mask = _line(text, size, bold)
    _height, width = mask.shape
    left = x - {"left": 0, "middle": width // 2, "right": width}[align]
    top = y - _middle(size, bold)
    crop = mask[max(0, -top) : image.shape[0] - top, max(0, -left) : image.shape[1] - left]
    top, left = max(0, top), max(0, left)
    view = image[top : top + crop.shape[0], left : left + crop.shape[1]]
    view[:] = shades(paper, ink)[crop] if paper is not None else _blended(view, crop, ink)
    return width


def _blended(view: np.ndarray, coverage: np.ndarray, ink: Colour) -> np.ndarray:
    below = np.stack([view >> shift & 255 for shift in (0, 8, 16)], axis=-1).astype(float)
    share = coverage[..., None] / 255.0
    return packed_picture(np.rint(below * (1 - share) + np.array(ink) * share).astype(np.uint8))


def width_of(text: str, size: int, *, bold: bool = False) -> int:
    """Returns the width of a line in pixels."""
    return _line(text, size, bold).shape[1]


def fitted(text: str, size: int, width: int, *, bold: bool = False) -> str:
    """Returns a line, shortened with an ellipsis if it is wider than `width` pixels."""
    if width_of(text, size, bold=bold) <= width:
        return text
    for end in range(len(text) - 1, 0, -1):
        shorter = f"{text[:end].rstrip()}…"
        if width_of(shorter, size, bold=bold) <= width:
            return shorter
    return "…"


@lru_cache(maxsize=4096)
def _line(text: str, size: int, bold: bool) -> np.ndarray:
    """Returns the coverage of a line of text: uint8, shape (height, width)."""
    if text and _DYNAMIC.issuperset(text):  # numbers change all the time; their digits are equally wide
        return np.concatenate([_glyphs(letter, size, bold) for letter in text], axis=1)
    return _glyphs(text, size, bold)


@lru_cache(maxsize=2048)
def _glyphs(text: str, size: int, bold: bool) -> np.ndarray:
    font = _font(size, bold)
    ascent, descent = font.getmetrics()
    picture = Image.new("L", (max(1, round(font.getlength(text))), ascent + descent), 0)
    ImageDraw.Draw(picture).text((0, 0), text, fill=255, font=font)
    return np.asarray(picture)


@lru_cache
def _middle(size: int, bold: bool) -> int:
    """Returns the row in which the middle of capital letters lies."""
    _, top, _, bottom = _font(size, bold).getbbox("H")
    return round((top + bottom) / 2)


@lru_cache
def _font(size: int, bold: bool) -> ImageFont.FreeTypeFont:
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    return ImageFont.truetype(folder / _FILES[bold], size, layout_engine=ImageFont.Layout.BASIC)
