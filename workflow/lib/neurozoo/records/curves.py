"""Computes learning curves: which scores make them, their medians and intervals, the best so far, and references."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from neurozoo.environments.games import reference_scores
from neurozoo.records.run_config import IDENTITY
from neurozoo.records.run_log import EPISODES, STANDARD
from neurozoo.records.simple_dqn_csv import read_reference
from neurozoo.records.statistics import Statistic, bootstrap_intervals

INTERVALS: dict[str, Statistic | None] = {
    "mean": lambda games: games[0].mean(axis=-1),
    "median": lambda games: np.median(games[0], axis=-1),
    "none": None,
}

_RUN_CURVE = ["game", "curve", "one_run", "frames", "score"]
_POINTS = 200  # points of a curve, evenly spaced
_RESAMPLES = 5_000  # bootstrap resamples of a ribbon, as in the published figure


def scores_to_draw(metrics: pd.DataFrame) -> pd.DataFrame:
    """Chooses the scores of each run: its test scores, or its own scores if its tests make no curve.

    One test, at the end of many reports, is a point and no curve.

    Returns:
        Its rows with a score and frames. `score` and `episodes` (behind it; NA if unknown) are the chosen ones, and
        `is_test` tells which.
    """
    metrics = metrics.reindex(columns=dict.fromkeys([*metrics.columns, *STANDARD, *EPISODES]))
    known = metrics[["test_score", "score"]].notna()
    counts = known.groupby([metrics[name] for name in IDENTITY], sort=False).transform("sum")
    tested = is_curve_of_tests(counts["test_score"], counts["score"])
    chosen = {
        name: metrics[f"test_{name}"].where(tested, metrics[own]).astype(kind)
        for name, own, kind in (("score", "score", "Float64"), ("episodes", "score_episodes", "Int64"))
    }
    drawn = metrics.assign(**chosen, is_test=tested).dropna(subset=["frames", "score"])
    return drawn.astype({"frames": float, "score": float})


def is_curve_of_tests(tests: Any, own: Any) -> Any:
    """Tells whether a run is drawn with its test scores, by its reports with a test score and with one of its own."""
    return (tests > 1) | ((tests == 1) & (own <= 1))


def median_curves(reports: pd.DataFrame, *, interval: str, confidence: float, seed: int) -> pd.DataFrame:
    """Computes the median and its interval, a key of `INTERVALS`, over the runs of each curve.

    Takes rows with `game`, `curve`, `run`, `frames`, `score`; returns rows with `game`, `curve`, `runs`, `frames`,
    `median`, `low`, `high`. Without an interval its ends are NaN.
    """
    parts = []
    for (game, curve), group in _by_curve(reports):
        runs = _runs_of(group)
        frames, scores = common_grid([(run["frames"].to_numpy(), run["score"].to_numpy()) for run in runs])
        low: float | np.ndarray = np.nan
        high: float | np.ndarray = np.nan
        if (statistic := INTERVALS[interval]) is not None:
            low, high = bootstrap_intervals(
                [scores], {"": statistic}, replications=_RESAMPLES, confidence=confidence, seed=seed
            )[""]
        part = {"game": game, "curve": curve, "runs": len(runs), "frames": frames}
        parts.append(pd.DataFrame(part | {"median": np.median(scores, axis=-1), "low": low, "high": high}))
    return pd.concat(parts, ignore_index=True)


def run_curves(reports: pd.DataFrame) -> pd.DataFrame:
    """Computes a line for each run behind a median, with as many points as the median has.

    Takes rows with `game`, `curve`, `algo`, `model`, `protocol`, `run`, `frames`, `score`; returns rows with `game`,
    `curve`, `one_run` (a number for each line), `frames`, `score`; none for a curve of one run.
    """
    parts: list[pd.DataFrame] = []
    for (game, curve), group in _by_curve(reports):
        runs = _runs_of(group)
        for run in runs if len(runs) > 1 else []:
            frames, scores = common_grid([(run["frames"].to_numpy(), run["score"].to_numpy())])
            part = {"game": game, "curve": curve, "one_run": len(parts), "frames": frames, "score": scores[:, 0]}
            parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=_RUN_CURVE)


def common_grid(runs: Sequence[tuple[np.ndarray, np.ndarray]], points: int = _POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Interpolates runs, (frames, score) of shape (reports,) each, on a common grid of frames.

    Returns:
        Frames, shape (points,), and scores, shape (points, runs), linear between reports. Nothing is extrapolated: the
        grid goes from the latest first report to the earliest last report, so it ends with the shortest run. If there
        is no such range (one report each), the grid is the earliest last report, with each run's nearest score.
    """
    start = max(frames.min() for frames, _ in runs)
    end = min(frames.max() for frames, _ in runs)
    grid = np.linspace(start, end, points) if start < end else np.array([end])
    scores = []
    for frames, score in runs:
        order = np.argsort(frames, kind="stable")
        scores.append(np.interp(grid, frames[order], score[order]))
    return grid, np.stack(scores, axis=-1)


def best_so_far(reports: pd.DataFrame) -> pd.DataFrame:
    """Finds the best score of any run up to each frame, to the end of the longest run.

    Scores are linear between reports, as in `median_curves`, so that no median is above the best. Takes its rows;
    returns rows with `game`, `curve`, `frames`, `best`, in the order in which lines join them.
    """
    parts = []
    for (game, curve), group in _by_curve(reports):
        runs = [_rises(run) for run in _runs_of(group)]
        frames = np.unique(np.concatenate([frames for frames, _ in runs]))
        best = np.max([np.interp(frames, *run, left=-np.inf) for run in runs], axis=0)
        # A run that begins later may begin above the others; the line goes straight up there.
        late = np.unique([run[0][0] for run in runs])[1:]
        before = np.max([np.where(late > run[0][0], np.interp(late, *run), -np.inf) for run in runs], axis=0)
        both = pd.DataFrame({"frames": np.concatenate([late, frames]), "best": np.concatenate([before, best])})
        parts.append(both.sort_values("frames", kind="stable").assign(game=game, curve=curve))
    return pd.concat(parts, ignore_index=True)


def _rises(run: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Returns where the best score of a run begins and ends to rise: frames and the best so far, in order."""
    order = np.argsort(run["frames"].to_numpy(), kind="stable")
    frames, best = run["frames"].to_numpy()[order], np.maximum.accumulate(run["score"].to_numpy()[order])
    has_risen = np.concatenate([[True], np.diff(best) > 0])
    is_end = np.arange(len(best)) == len(best) - 1
    is_shown = has_risen | np.concatenate([has_risen[1:], [False]]) | is_end
    return frames[is_shown], best[is_shown]


def _runs_of(curve: pd.DataFrame) -> list[pd.DataFrame]:
    """Divides the reports of a curve by runs."""
    return [run for _, run in curve.groupby(["algo", "model", "protocol", "run"], sort=False)]


def _by_curve(reports: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yields the reports of each curve. pandas would copy all of them, in the order of the curves, first."""
    for (game, curve), rows in reports.groupby(["game", "curve"], sort=False).indices.items():
        yield (game, curve), reports.iloc[rows]


def reference_levels(reports: pd.DataFrame) -> pd.DataFrame:
    """Lists the scores of `random` play and of a `human`, by which a curve can be judged: `game`, `level` and `score`.

    A human's score that is more than twice as far from random play as the best report is left out, because nothing else
    could be seen beside it.
    """
    rows = []
    for game, best in reports.groupby("game")["score"].max().items():
        if game in reference_scores():
            random, human = reference_scores()[game]
            rows.append((game, "random", random))
            if human - random <= 2 * (best - random):
                rows.append((game, "human", human))
    return pd.DataFrame(rows, columns=["game", "level", "score"])


def read_references(files: Mapping[str, Mapping[str, str | os.PathLike]], *, phase: str = "train") -> pd.DataFrame:
    """Reads curves of simple_dqn for the panels of several games: a CSV for each name in the legend and each game.

    They stand beside ours and are never mixed with them. Returns rows with `game`, `curve`, `frames` and `score`.
    """
    empty = pd.DataFrame({"game": [], "curve": [], "frames": [], "score": []})
    curves = [
        read_reference(path, phase=phase).assign(game=game, curve=f"{name} ({phase})")
        for name, games in files.items()
        for game, path in games.items()
    ]
    return pd.concat(curves, ignore_index=True)[[*empty]] if curves else empty


def shown_references(references: pd.DataFrame | None, reports: pd.DataFrame, *, up_to: float | None) -> pd.DataFrame:
    """Returns the part of reference curves that stands beside a game's runs, up to a frame, or to the last of the runs.

    Between their reports, they are linear. Games without runs have no references.
    """
    if references is None:
        return reports.iloc[:0]
    ends = reports.groupby("game")["frames"].max()
    last = references["game"].map(ends) if up_to is None else up_to
    references = references.assign(last=last)[references["game"].isin(ends.index)]
    parts = [
        _cut(curve, float(curve["last"].iloc[0])) for _, curve in references.groupby(["game", "curve"], sort=False)
    ]
    return pd.concat(parts).drop(columns="last") if parts else references.drop(columns="last")


def _cut(curve: pd.DataFrame, last: float) -> pd.DataFrame:
    curve = curve.sort_values("frames", kind="stable")
    shown = curve[curve["frames"] <= last]
    if len(shown) in (0, len(curve)) or shown["frames"].iloc[-1] == last:
        return shown
    end = curve.iloc[[len(shown)]]  # the first report beyond
    score = np.interp(last, curve["frames"].astype(float), curve["score"].astype(float))
    return pd.concat([shown, end.assign(frames=last, score=score)])
