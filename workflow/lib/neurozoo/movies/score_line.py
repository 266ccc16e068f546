"""The score line of a wide movie, which grows with the game."""

import itertools
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from neurozoo.movies.themes import Theme, packed, packed_picture
from neurozoo.number_text import number_label

_FINE = 3  # lines are drawn this many times as large, and then reduced


class ScoreLine:
    """A chart of the score so far.

    The whole line is drawn once. Each frame shows its beginning, up to the step, with a dot at its end.

    Attributes:
        labels: Values that stand beside the chart, each with its row.
    """

    def __init__(
        self,
        scores: Sequence[float] | np.ndarray,
        starts: Sequence[int],
        *,
        theme: Theme,
        width: int,
        height: int,
        unit: float,
    ):
        """Draws the line.

        Args:
            scores: Score that each step shows.
            starts: Numbers of the steps with which episodes begin.
            theme: The colours.
            width: Pixels.
            height: Pixels.
            unit: Pixels of the movie per pixel of one with 720 rows.
        """
        scores = np.asarray(scores, np.float64)
        self._dot = max(2, round(4 * unit))
        low, high = min(0.0, scores.min()), max(0.0, scores.max())
        span = (high - low) or 1.0
        left, right, top, bottom = self._dot, width - self._dot - 1, self._dot + round(4 * unit), height - self._dot - 2
        self._x = np.rint(np.linspace(left, right, max(2, len(scores)))).astype(int)[: len(scores)]
        self._y = np.rint(bottom - (scores - low) / span * (bottom - top)).astype(int)
        self._empty = np.full((height, width), packed(theme.card), np.uint32)
        for value in dict.fromkeys((0.0, low, high)):
            y = round(bottom - (value - low) / span * (bottom - top))
            self._empty[y, :] = packed(theme.line)
        canvas = Image.new("L", (_FINE * width, _FINE * height), 0)
        pen = ImageDraw.Draw(canvas)
        edges = [0, *(start for start in starts if 0 < start < len(scores)), len(scores)]
        for first, last in itertools.pairwise(edges):
            points = [
                (_FINE * x + 1, _FINE * y + 1)
                for x, y in zip(self._x[first:last].tolist(), self._y[first:last].tolist(), strict=True)
            ]
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
        self.labels = [
            (number_label(value).replace("-", "−"), round(bottom - (value - low) / span * (bottom - top)))
            for value in dict.fromkeys((high, low))
        ]

    def draw(self, image: np.ndarray, step: int) -> None:
        """Draws the line up to a step into packed pixels, uint32, shape (height, width)."""
        x, y = self._x[step], self._y[step]
        image[:, : x + 1] = self._full[:, : x + 1]
        image[:, x + 1 :] = self._empty[:, x + 1 :]
        dot = image[y - self._dot : y + self._dot + 1, x - self._dot : x + self._dot + 1]
        dot[self._disc] = self._sprite
