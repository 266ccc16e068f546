"""Fits a game's screen into a rectangle of a movie, with sharp pixels."""

import numpy as np
from PIL import Image

from neurozoo.environments.screen_shapes import ATARI_WIDTH
from neurozoo.movies.themes import packed_picture


def fitted_size(screen_shape: tuple[int, int, int], width: int, height: int) -> tuple[int, int]:
    """Returns the width and height of a screen that is enlarged, or reduced, to fit into a rectangle.

    Screens of an Atari fill the rectangle, as they filled a television; others keep their shape.
    """
    rows, columns = screen_shape[:2]
    if columns == ATARI_WIDTH:
        return width, height
    times = min(width / columns, height / rows)
    return max(2, round(columns * times)), max(2, round(rows * times))


class Enlarger:
    """Enlarges screens by repeating pixels, or reduces them by averaging."""

    def __init__(self, screen_shape: tuple[int, int, int], *, width: int, height: int):
        rows, columns = screen_shape[:2]
        self._size = (width, height)
        self._is_reduced = width < columns or height < rows
        self._rows = (np.arange(height) * rows // height).astype(np.intp)
        self._columns = (np.arange(width) * columns // width).astype(np.intp)

    def draw(self, view: np.ndarray, screen: np.ndarray) -> None:
        """Draws a screen, uint8 (height, width, 3), into packed pixels, uint32."""
        if self._is_reduced:
            view[:] = packed_picture(np.asarray(Image.fromarray(screen).resize(self._size, Image.Resampling.BOX)))
        else:
            wide = packed_picture(screen).take(self._columns, axis=1)
            view[:] = wide.take(self._rows, axis=0)
