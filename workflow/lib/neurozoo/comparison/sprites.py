"""Sprite sheets: small pictures of many screens, in a few images that a page can embed."""

import base64
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

COLUMNS, ROWS = 12, 16  # of a sheet: few enough to decode at once, enough to profit from similar screens
WIDTHS = (160, 120, 96, 80, 64, 48)  # candidates, in pixels
_QUALITY = 50  # of WebP, from 0 to 100


@dataclass(frozen=True)
class Sheets:
    """Pictures of one run.

    Attributes:
        width: Of a picture, in pixels.
        height: Of a picture, in pixels.
        sheets: Data URLs, `data:image/webp;base64,...`, each of 12 x 16 pictures row by row; the last one may have
            fewer rows.
    """

    width: int
    height: int
    sheets: tuple[str, ...]


def make_sheets(screens: Iterable[np.ndarray], *, width: int) -> Sheets:
    """Shrinks screens and arranges them on sheets.

    Args:
        screens: Each uint8, (height, width, 3); at least one.
        width: Of a picture, in pixels.
    """
    from PIL import Image

    height = 0
    sheets: list[str] = []
    pictures: list[Image.Image] = []

    def finish_sheet() -> None:
        rows = -(-len(pictures) // COLUMNS)
        sheet = Image.new("RGB", (COLUMNS * width, rows * height))
        for place, picture in enumerate(pictures):
            sheet.paste(picture, (place % COLUMNS * width, place // COLUMNS * height))
        data = io.BytesIO()
        sheet.save(data, "WEBP", quality=_QUALITY, method=4)
        sheets.append("data:image/webp;base64," + base64.b64encode(data.getvalue()).decode())
        pictures.clear()

    for screen in screens:
        height = max(1, round(screen.shape[0] * width / screen.shape[1]))
        pictures.append(Image.fromarray(screen).resize((width, height), Image.Resampling.BOX))
        if len(pictures) == COLUMNS * ROWS:
            finish_sheet()
    if pictures:
        finish_sheet()
    return Sheets(width, height, tuple(sheets))


def widest(samples: Sequence[np.ndarray], *, count: int, most_bytes: int) -> int:
    """Chooses the largest picture width with which all screens fit into `most_bytes`; the smallest if none does.

    Args:
        samples: Some of the screens, from all parts of the rollouts.
        count: Number of all screens.
        most_bytes: Maximum length of all sheets' data URLs together.
    """
    for width in WIDTHS[:-1]:
        if width <= samples[0].shape[1]:
            size = sum(map(len, make_sheets(samples, width=width).sheets))
            if size / len(samples) * count <= 0.92 * most_bytes:  # a margin: samples are only an estimate
                return width
    return WIDTHS[-1]
