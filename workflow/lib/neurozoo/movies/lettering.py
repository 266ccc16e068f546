"""Text in movies: DejaVu Sans, antialiased, in packed pictures, and Pillow's own font, black, in others.

DejaVu Sans comes with Matplotlib. Lines and single glyphs are cached.
"""

from functools import lru_cache
from pathlib import Path
from typing import Literal

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from neurozoo.movies.themes import Colour, packed_picture, shades

FITTING_SIZES = (20, 18, 16, 14, 12, 10)  # points of black text
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
    align: Literal["left", "middle", "right"] = "left",
) -> int:
    """Writes a line of text into packed pixels, uint32, shape (height, width), and returns its width in pixels.

    `x` is its left end, middle or right end, as `align` says; `y` is the middle of capital letters, and `size` is in
    points. `paper` is None on surfaces of several colours, which takes longer.
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


def write_centred(image: np.ndarray, text: str, x: int, y: int, size: int) -> None:
    """Writes a line of black text, centred at (x, y), into uint8 (height, width, 3)."""
    letters = black_letters(text, size)
    top, left = y - letters.shape[0] // 2, max(0, x - letters.shape[1] // 2)
    view = image[top : top + letters.shape[0], left : left + letters.shape[1]]
    view[:] = letters[: view.shape[0], : view.shape[1]]


def write_fitting(image: np.ndarray, text: str, x: int, y: int, width: int) -> None:
    """Writes a line like `write_centred`, in the largest size that fits into `width` pixels."""
    fitting = [size for size in FITTING_SIZES if black_letters(text, size).shape[1] <= width]
    write_centred(image, text, x, y, (fitting or FITTING_SIZES[-1:])[0])


@lru_cache(maxsize=1024)
def black_letters(text: str, size: int) -> np.ndarray:
    """Returns a line of text, black on white, in Pillow's own font: uint8, shape (height, width, 1)."""
    font = _black_font(size)
    image = Image.new("L", (int(font.getlength(text)) + 2, size + size // 4), 255)
    ImageDraw.Draw(image).text((1, image.height // 2), text, fill=0, font=font, anchor="lm")
    return np.asarray(image)[..., np.newaxis]


@lru_cache
def _black_font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)  # Pillow unpacks the font each time
