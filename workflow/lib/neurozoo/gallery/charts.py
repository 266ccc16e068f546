"""Charts for the pages' inline SVG, as coordinates: scores over frames, and intervals on a line.

Coordinates run from 0 to 100 in both directions. The pages stretch them to the available space. Lines keep their
width and labels their size, on a phone, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import MaxNLocator

from neurozoo.figures.style import number_labels, si_label
from neurozoo.records.curves import common_grid

_HEADROOM = 0.06  # share of the height above the highest line and below the lowest


@dataclass(frozen=True)
class Series:
    """Scores of one run, or the median of several."""

    label: str
    colour: int  # its index, from 0
    role: str  # `run`, `other` (drawn faintly), `median`, or `level` (a flat, dotted line)
    frames: np.ndarray  # shape (reports,), emulator frames, ascending
    scores: np.ndarray  # shape (reports,)


@dataclass(frozen=True)
class Line:
    """A series as the points of an SVG polyline; `is_point` if it is a single report."""

    series: Series
    points: str
    is_point: bool


@dataclass(frozen=True)
class Chart:
    """A chart of lines."""

    lines: tuple[Line, ...]  # from the back to the front
    x_ticks: tuple[tuple[float, str], ...]  # positions from 0 to 100 with their labels, left to right
    y_ticks: tuple[tuple[float, str], ...]  # the same from the bottom to the top
    summary: str  # what the chart shows, in words
    limits: tuple[float, float]  # the scores at its lower and upper edge

    def values(self) -> dict:
        """Returns the numbers behind the lines, with which a page reads values off the chart.

        Other runs, drawn faintly, are left out: they have pages of their own.

        Returns:
            `limits`, the `last` frame of the chart (1 if all reports are at 0), and `lines` from the front to the back,
            with `label`, `colour`, `role`, and `frames` and `scores`, both of shape (reports,), rounded to 7 digits.
        """
        lines = [
            vars(line.series) | {"frames": _rounded(line.series.frames), "scores": _rounded(line.series.scores)}
            for line in reversed(self.lines)
            if line.series.role != "other"
        ]
        last = max(float(line.series.frames[-1]) for line in self.lines)
        return {"limits": list(self.limits), "last": last or 1, "lines": lines}


def _rounded(values: np.ndarray) -> list[float]:
    short = (float(f"{value:.7g}") for value in values.tolist())
    return [int(value) if value.is_integer() else value for value in short]


def thinned(frames: np.ndarray, scores: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Leaves out reports of a long run that no drawing would show: of neighbours, the lowest and the highest stay.

    Of ascending frames and scores, both of shape (reports,), `most` are kept, with the first and the last.
    """
    if len(frames) <= most:
        return frames, scores
    ends = np.linspace(1, len(frames) - 1, (most - 2) // 2 + 1).astype(int)
    kept = {0, len(frames) - 1}
    for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        kept |= {start + int(scores[start:end].argmin()), start + int(scores[start:end].argmax())}
    places = sorted(kept)
    return frames[places], scores[places]


def median_of(runs: Sequence[tuple[np.ndarray, np.ndarray]], *, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the median of runs, (frames, scores) of each, up to the end of the shortest, as the learning curves do.

    It has `points` frames at regular distances. Those of the runs' reports are added if they are no more, so that the
    median is exact where somebody reads it.
    """
    grid, _ = common_grid(runs, points)
    if all(len(frames) <= points for frames, _ in runs):
        reports = np.unique(np.concatenate([frames for frames, _ in runs]))
        if len(reports) <= points:
            grid = np.union1d(grid, reports[(reports >= grid[0]) & (reports <= grid[-1])])
    scores = [np.interp(grid, frames, scores) for frames, scores in runs]
    return grid, np.median(scores, axis=0)


def draw_chart(series: Sequence[Series], *, points: int, summary: str) -> Chart:
    """Draws scores over frames, from the back to the front; no series may be empty.

    Lines of more than so many `points` are interpolated. `summary` is what the chart shows, in words.
    """
    last = max(line.frames[-1] for line in series)
    low, high = (pick(pick(line.scores) for line in series) for pick in (min, max))
    room = _HEADROOM * ((high - low) or abs(high) or 1.0)
    bottom, top = low - room, high + room
    lines = []
    for line in series:
        frames, scores = line.frames, line.scores
        if len(frames) > points:
            frames, columns = common_grid([(frames, scores)], points)
            scores = columns[:, 0]
        x, y = 100 * frames / (last or 1), 100 - 100 * (scores - bottom) / (top - bottom)
        if len(x) == 1:  # a line of length 0 with round ends is drawn as a dot
            x, y = np.repeat(x, 2), np.repeat(y, 2)
        points_text = " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(x, y, strict=True))
        lines.append(Line(line, points_text, len(frames) == 1))
    ticks = _ticks(bottom, top, 4)
    scale = zip(ticks, number_labels(ticks), strict=True)
    return Chart(
        tuple(lines),
        tuple((100 * tick / (last or 1), si_label(tick)) for tick in _ticks(0, last, 5)),
        tuple((100 * (tick - bottom) / (top - bottom), label) for tick, label in scale),
        summary,
        (float(bottom), float(top)),
    )


def _ticks(low: float, high: float, count: int) -> list[float]:
    ticks = MaxNLocator(count, steps=[1, 2, 5, 10]).tick_values(low, high)
    return [float(tick) for tick in ticks if low <= tick <= high]


@dataclass(frozen=True)
class Strip:
    """An interval on a line, as scores or as positions from 0 to 100."""

    low: float | None  # end of the interval; None if there is no interval, and so `high`
    high: float | None
    mean: float
    own: float | None  # the run that the page is about; None if the strip is about all runs
    others: tuple[float, ...]  # the scores of all runs that the mean is over


def draw_strip(scores: Strip, limits: tuple[float, float]) -> Strip:
    """Places scores between two limits, which all strips of a game share."""
    start, end = limits

    def place(value: float) -> float:  # with a margin, so that dots at the ends are not cut off
        return round(3 + 94 * (value - start) / ((end - start) or 1.0), 2)

    low, high, own = (None if value is None else place(value) for value in (scores.low, scores.high, scores.own))
    return Strip(low, high, place(scores.mean), own, tuple(map(place, scores.others)))
