"""Sprite sheets: small pictures of many screens, in a few images that a page can embed."""

import base64
import io
import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from PIL import Image

COLUMNS, ROWS = 12, 16  # of a sheet: few enough to decode at once, enough to profit from similar screens
WIDTHS = (160, 120, 96, 80, 64, 48)  # candidates, in pixels
_QUALITY = 50  # of WebP, from 0 to 100


def height_at(width: int, screen_shape: tuple[int, ...]) -> int:
    """Returns the height of a screen's picture of some width, in pixels."""
    return max(1, round(screen_shape[0] * width / screen_shape[1]))


def make_sheets(screens: Iterable[np.ndarray], *, width: int) -> list[str]:
    """Shrinks screens, uint8 (height, width, 3), to pictures of some width, and arranges them on sheets.

    Returns:
        Data URLs, `data:image/webp;base64,...`, each of 12 x 16 pictures row by row; the last one may have fewer rows.
    """
    sheets: list[str] = []
    left = iter(screens)
    while batch := list(itertools.islice(left, COLUMNS * ROWS)):
        height = height_at(width, batch[0].shape)
        sheet = Image.new("RGB", (COLUMNS * width, -(-len(batch) // COLUMNS) * height))
        for place, screen in enumerate(batch):
            picture = Image.fromarray(screen).resize((width, height), Image.Resampling.BOX)
            sheet.paste(picture, (place % COLUMNS * width, place // COLUMNS * height))
        data = io.BytesIO()
        sheet.save(data, "WEBP", quality=_QUALITY, method=4)
        sheets.append("data:image/webp;base64," + base64.b64encode(data.getvalue()).decode())
    return sheets


def widest(samples: Sequence[np.ndarray], *, count: int, most_bytes: int) -> int:
    """Chooses the largest picture width with which `count` screens fit into `most_bytes`; the smallest if none does.

    The `samples` are some of the screens, from all parts of the rollouts; the bytes are those of the data URLs.
    """
    for width in WIDTHS[:-1]:
        if width <= samples[0].shape[1]:
            size = sum(map(len, make_sheets(samples, width=width)))
            if size / len(samples) * count <= 0.92 * most_bytes:  # a margin: samples are only an estimate
                return width
    return WIDTHS[-1]
