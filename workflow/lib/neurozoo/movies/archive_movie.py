"""Films how an archive fills, iteration after iteration."""

import functools
import os
from collections.abc import Iterator, Sequence

import numpy as np

from neurozoo.environments.level_domains import measure_title
from neurozoo.movies.lettering import fitted, write
from neurozoo.movies.screens import even
from neurozoo.movies.themes import THEMES, colour_table, packed
from neurozoo.movies.video import video_written_whole
from neurozoo.records.level_table import read_levels
from neurozoo.records.stored_archive import StoredArchive, read_stored_archive

_HEAD, _FOOT, _SIDE, _EDGE = 56, 48, 48, 20  # pixels above, below, left and right of the cells
_TITLE, _TEXT = 20, 15  # points
_KEY = 90  # pixels of the colours of objectives
_LEAST = 600, 400  # pixels of the archive: width, height
_MOST_PIXELS = 2000  # of the archive along an axis; ffmpeg refuses very long ones
_MOST_FRAMES, _FPS = 250, 20  # as in the paper's movies
_LEAST_SECONDS, _LAST_SECONDS = 6, 2  # of the movie, and of its last picture
_THEME = THEMES["dark"]
_write = functools.partial(write, ink=_THEME.quiet, paper=_THEME.paper)


def film_archive(archive: str | os.PathLike, levels: str | os.PathLike, output: str | os.PathLike) -> int:
    """Films how the archive of a run filled: a picture per iteration, at most 250, by the run's own records.

    Few pictures are shown longer, and the last one stays for two seconds. The first measure runs to the right, the
    second upwards. Returns the number of pictures.

    Raises:
        NeurozooError: `archive.npz` or `levels.parquet` is missing or damaged, or ffmpeg fails.
    """
    stored = read_stored_archive(archive)
    columns = read_levels(levels, ["iteration", "objective", "failed", *stored.measures])
    numbers = shown_iterations(columns["iteration"])
    canvas = _Canvas(stored)
    height, width = canvas.frame.shape
    times = max(1, round(_LEAST_SECONDS * _FPS / max(1, len(numbers))))
    with video_written_whole(output, width=width, height=height, fps=_FPS, is_packed=True, poster_at=1) as show:
        for number, grid in zip(numbers, replayed(stored, columns, numbers), strict=True):
            picture = canvas.draw(grid, number)
            for _ in range(times if number < numbers[-1] else times + _LAST_SECONDS * _FPS):
                show(picture)
    return len(numbers)


def shown_iterations(iterations: np.ndarray) -> list[int]:
    """Returns the numbers, from 1, of the iterations after which there is a picture: all, or 250 of them.

    `iterations` are those of all levels, from 0.
    """
    count = int(iterations.max()) + 1 if len(iterations) else 0
    return (np.unique(np.linspace(0, count - 1, min(count, _MOST_FRAMES)).round().astype(int)) + 1).tolist()


def replayed(stored: StoredArchive, levels: dict[str, np.ndarray], numbers: Sequence[int]) -> Iterator[np.ndarray]:
    """Fills the archive again from the levels: `iteration`, `objective`, `failed` and both measures of each.

    Yields the objectives on the grid after each iteration of `numbers`, from 1 and ascending; NaN where there is no
    elite.
    """
    measures = np.stack([levels[name] for name in stored.measures], axis=1)
    good = ~levels["failed"].astype(bool)
    places = np.zeros(measures.shape, int)
    places[good] = stored.places(measures[good])
    grid = np.full(stored.dims, np.nan)
    begin = 0
    for number in numbers:
        is_new = (levels["iteration"] >= begin) & (levels["iteration"] < number)
        for level in np.flatnonzero(good & is_new):
            place = tuple(places[level])
            if not levels["objective"][level] <= grid[place]:
                grid[place] = levels["objective"][level]
        yield grid.copy()
        begin = number


class _Canvas:
    """What all frames share: the axes with their titles and bounds.

    A cell has at least one pixel, unless there are too many of them: then several share one.
    """

    def __init__(self, stored: StoredArchive):
        self.sharing = [-(-cells // _MOST_PIXELS) for cells in stored.dims]  # cells along each measure
        shown = [-(-cells // sharing) for cells, sharing in zip(stored.dims, self.sharing, strict=True)]
        self.zooms = [-(-least // places) for least, places in zip(_LEAST, shown, strict=True)]
        width, height = (places * zoom for places, zoom in zip(shown, self.zooms, strict=True))
        self.frame = np.full((even(_HEAD + height + _FOOT), even(_SIDE + width + _EDGE)), packed(_THEME.paper))
        self.frame[_HEAD - 1 : _HEAD + height + 1, _SIDE - 1 : _SIDE + width + 1] = packed(_THEME.line)
        self.cells = slice(_HEAD, _HEAD + height), slice(_SIDE, _SIDE + width)
        game = str(stored.facts.get("game", ""))
        across, upwards = (measure_title(game, measure) for measure in stored.measures)
        bounds = [[f"{bound:g}" for bound in pair] for pair in stored.ranges]
        self._write_axis(self.frame, across, bounds[0], _SIDE, width, _HEAD + height + _FOOT // 2)
        turned = np.full((_SIDE, height), packed(_THEME.paper))
        self._write_axis(turned, upwards, bounds[1], 0, height, _SIDE // 2)
        self.frame[_HEAD : _HEAD + height, : _SIDE - 1] = np.rot90(turned)[:, : _SIDE - 1]
        # In the upper right corner: which colour stands for which objective.
        x, y = self.cells[1].stop, _HEAD // 2
        x -= _write(self.frame, " 1", x, y, _TEXT, align="right")
        bar = colour_table("viridis")[np.linspace(0, 255, _KEY).astype(int)]
        self.frame[y - _TEXT // 2 : y + _TEXT // 2, x - _KEY : x] = bar
        x -= _KEY
        x -= _write(self.frame, "Objective 0 ", x, y, _TEXT, align="right")
        self.text_width = x - _SIDE - _TITLE

    @staticmethod
    def _write_axis(image: np.ndarray, title: str, bounds: list[str], start: int, length: int, y: int) -> None:
        low = _write(image, bounds[0], start, y, _TEXT)
        high = _write(image, bounds[1], start + length, y, _TEXT, align="right")
        line = fitted(title, _TEXT, length - 2 * max(low, high) - _TEXT)
        _write(image, line, start + length // 2, y, _TEXT, align="middle")

    def draw(self, grid: np.ndarray, number: int) -> np.ndarray:
        """Returns a frame: packed pixels, uint32, shape (height, width)."""
        frame = self.frame.copy()
        best = grid
        for axis, sharing in enumerate(self.sharing):  # the best elite of the cells that share a pixel
            best = np.fmax.reduceat(best, np.arange(0, best.shape[axis], sharing), axis=axis)
        colours = colour_table("viridis")[(np.clip(np.nan_to_num(best), 0, 1) * 255).astype(int)]
        colours[np.isnan(best)] = packed(_THEME.paper)
        frame[self.cells] = colours.T[::-1].repeat(self.zooms[0], axis=1).repeat(self.zooms[1], axis=0)
        filled = int(np.isfinite(grid).sum())
        text = f"Iteration {number}: {filled:,} of {grid.size:,} cells"
        line = fitted(text, _TITLE, self.text_width)
        write(frame, line, _SIDE, _HEAD // 2, _TITLE, ink=_THEME.ink, paper=_THEME.paper)
        return frame
