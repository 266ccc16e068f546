"""The score line of a wide movie, which grows with the game."""

import itertools
from collections.abc import Collection

import numpy as np
from PIL import Image, ImageDraw

from neurozoo.movies.themes import Theme, packed, packed_picture
from neurozoo.text import number_label

_FINE = 3  # lines are drawn this many times as large, and then reduced


class ScoreLine:
    """A chart of the score so far, of a width and height in pixels; `labels` are values beside it, with their rows.

    The whole line is drawn once: the score that each step shows, in pieces that begin at `starts`. Each frame shows its
    beginning, up to the step, with a dot at its end.
    """

    def __init__(
        self, scores: np.ndarray, starts: Collection[int], *, theme: Theme, size: tuple[int, int], unit: float
    ):
        width, height = size
        self._dot = max(2, round(4 * unit))
        low, high = min(0.0, scores.min()), max(0.0, scores.max())
        span = (high - low) or 1.0
        left, right, top, bottom = self._dot, width - self._dot - 1, self._dot + round(4 * unit), height - self._dot - 2
        self._x = np.rint(np.linspace(left, right, max(2, len(scores)))).astype(int)[: len(scores)]
        self._y = np.rint(bottom - (scores - low) / span * (bottom - top)).astype(int)

        def row_of(value: float) -> int:
            return round(bottom - (value - low) / span * (bottom - top))

        self._empty = np.full((height, width), packed(theme.card), np.uint32)
        for value in dict.fromkeys((0.0, low, high)):
            self._empty[row_of(value), :] = packed(theme.line)
        canvas = Image.new("L", (_FINE * width, _FINE * height), 0)
        pen = ImageDraw.Draw(canvas)
        edges = [0, *(start for start in starts if 0 < start < len(scores)), len(scores)]
        for first, last in itertools.pairwise(edges):
            places = np.stack([self._x, self._y], axis=1)[first:last]
            points = [tuple(point) for point in (_FINE * places + 1).tolist()]
            stepped = [point for before, now in itertools.pairwise(points) for point in (before, (now[0], before[1]))]
            if len(points) > 1:
                pen.line([*stepped, points[-1]], fill=255, width=round(_FINE * 2 * unit), joint="curve")
        for start in edges[1:-1]:
            self._empty[:, self._x[start]] = packed(theme.line)
        mask = np.asarray(canvas.resize((width, height), Image.Resampling.BOX))[..., None] / 255.0
        under = self._empty.view(np.uint8).reshape(height, width, 4)[..., :3]
        filled = under * (1 - mask) + np.array(theme.chosen) * mask
        self._full = packed_picture(np.rint(filled).astype(np.uint8))
        self._sprite = packed(theme.chosen)
        inside = np.arange(-self._dot, self._dot + 1)
        self._disc = inside[:, None] ** 2 + inside**2 <= self._dot**2 + 1
        values = dict.fromkeys((high, low))
        self.labels = [(number_label(value).replace("-", "−"), row_of(value)) for value in values]

    def draw(self, image: np.ndarray, step: int) -> None:
        """Draws the line up to a step into packed pixels, uint32, shape (height, width)."""
        x, y = self._x[step], self._y[step]
        image[:, : x + 1] = self._full[:, : x + 1]
        image[:, x + 1 :] = self._empty[:, x + 1 :]
        dot = image[y - self._dot : y + self._dot + 1, x - self._dot : x + self._dot + 1]
        dot[self._disc] = self._sprite
