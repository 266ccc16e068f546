"""Small pictures of many screens, in a few sheets that a page can carry."""

import base64
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

COLUMNS, ROWS = 12, 16  # of a sheet: few enough that it is decoded in an instant, enough to share what screens share
WIDTHS = (160, 120, 96, 80, 64, 48)  # that are tried
_QUALITY = 50  # of WebP, from 0 to 100


@dataclass(frozen=True)
class Sheets:
    """Pictures of one run.

    Attributes:
        width: Of a picture, in pixels.
        height: Of a picture, in pixels.
        sheets: Addresses with the data in them, `data:image/webp;base64,...`, each of 12 x 16 pictures by rows; the
            last one may have fewer rows.
    """

    width: int
    height: int
    sheets: tuple[str, ...]


def make_sheets(screens: Iterable[np.ndarray], *, width: int) -> Sheets:
    """Shrinks screens and puts them side by side.

    Args:
        screens: Each uint8, (height, width, 3); at least one.
        width: Of a picture in pixels.
    """
    from PIL import Image

    height, sheets, pictures = 0, [], []

    def close() -> None:
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
            close()
    if pictures:
        close()
    return Sheets(width, height, tuple(sheets))


def widest(samples: Sequence[np.ndarray], *, count: int, most_bytes: int) -> int:
    """Chooses the widest pictures of which so many fit into so many bytes.

    Args:
        samples: Some of the screens, from everywhere.
        count: Of all screens.
        most_bytes: Of all sheets' addresses together.
    """
    for width in WIDTHS[:-1]:
        if width <= samples[0].shape[1]:
            size = sum(map(len, make_sheets(samples, width=width).sheets))
            if size / len(samples) * count <= 0.92 * most_bytes:  # samples are not the whole
                return width
    return WIDTHS[-1]
