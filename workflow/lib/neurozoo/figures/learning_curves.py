"""Learning curves: how good the agents are after so many frames."""

import math
import os
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import plotnine as p9
from plotnine.composition import Compose

from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files import written_whole
from neurozoo.statistics import bootstrap_intervals

COLOUR_BY = {"model": ("model",), "algo": ("algo",), "algo_model": ("algo", "model")}
INTERVALS = {
    "mean": lambda games: games[0].mean(axis=-1),
    "median": lambda games: np.median(games[0], axis=-1),
    "none": None,
}
FRAMES_AXES = {"linear": p9.scale_x_continuous, "log": p9.scale_x_log10}
FORMATS = ("pdf", "svg", "png")

# Okabe and Ito 2008, told apart by people with any colour vision; yellow, too pale for lines, is left out.
_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D5D5D")
_CHOOSES_BY_SCORE = ("ga", "rs", "ga_ns")  # of many individuals the one with the best score is what they report
_INK, _QUIET = "#222222", "#6B6B6B"
_POINTS = 200  # of a curve, evenly spaced
_RESAMPLES = 5_000  # of a ribbon, as in the published figure
_DOTS_PER_INCH = 200
_NO_DATES = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}


def plot_learning_curves(
    metrics: pd.DataFrame,
    outputs: Sequence[str | os.PathLike],
    *,
    colour_by: str = "model",
    columns: int = 4,
    panel_width: float = 3.0,
    panel_height: float = 3.0,
    interval: str | None = "mean",
    best: bool = True,
    frames_axis: str = "linear",
    confidence: float = 0.95,
    seed: int = 0,
    references: pd.DataFrame | None = None,
    reference_frames: float | None = None,
) -> None:
    """Draws one panel per game: the median over runs, how sure it is, and the best that any run has reached.

    Args:
        metrics: The merged table.
        outputs: The files to write; the suffix says the format, one of `FORMATS`. The same data give the same bytes.
        colour_by: `model`, `algo` or `algo_model`. Runs that differ in something else besides (say, the protocol) never
            share a curve: what differs is added to the label.
        columns: Panels beside each other.
        panel_width: Inches, with axes.
        panel_height: Inches, with axes and title.
        interval: What the ribbon is the bootstrap interval of: `mean` (as in the published figure), `median`, or
            `none`. There is no ribbon around a single run.
        best: Whether to draw the best score so far of any run as a dashed line.
        frames_axis: `linear`, from 0 on, or `log`, for runs and references of very different lengths.
        confidence: Of the ribbon.
        seed: Of the bootstrap.
        references: Curves of others, see `neurozoo.reference_curves.read_references`; drawn in grey in the panels of
            games that have runs, and part of no median, interval or best score.
        reference_frames: Up to which frame they are drawn; None for the last one of the runs in the same panel.

    Raises:
        NeurozooError: A setting is unknown, or there is no score to draw.
    """
    interval = interval or "none"
    for kind, name, allowed in (
        ("colour_by", colour_by, COLOUR_BY),
        ("interval", interval, INTERVALS),
        ("frames_axis", frames_axis, FRAMES_AXES),
    ):
        if name not in allowed:
            raise unknown_name(kind, name, allowed)
    check_formats(outputs)
    reports = metrics.dropna(subset=["frames", "score"])
    if reports.empty:
        raise NeurozooError("The metrics hold no score to draw. Let a run reach its first report.")
    reports = reports.assign(
        frames=reports["frames"].astype(float),
        score=reports["score"].astype(float),
        curve=curve_labels(reports, colour_by),
    )
    curves = median_curves(reports, interval=interval, confidence=confidence, seed=seed)
    records = best_so_far(reports) if best else None
    labels = list(dict.fromkeys(reports["curve"]))
    others = _shown_references(references, reports, up_to=reference_frames)
    games = sorted(reports["game"].unique())
    columns = min(columns, len(games))
    width, height = columns * panel_width, math.ceil(len(games) / columns) * panel_height + 1.1
    figure = _figure(curves, records, others, labels=labels, columns=columns, axis=frames_axis, size=(width, height))
    figure += p9.labs(
        title=textwrap.fill(
            "Learning curves" if len(labels) > 1 else f"Learning curves: {labels[0]}", int(6.5 * width)
        ),
        subtitle=textwrap.fill(
            _explained(curves, others, interval=interval, best=best, confidence=confidence), int(13 * width)
        ),
        caption=textwrap.fill(_score_caption(reports), int(16 * width)),
    )
    save_figure(figure, outputs)


def basis(protocols: Iterable[str], episodes: Iterable[int], *, of: str) -> str:
    """Says under a figure how its scores were measured.

    Args:
        protocols: Of each run.
        episodes: How many episodes each score is the mean of; NA where that is unknown.
        of: What each of these scores is, such as `each run's test score`.
    """
    numbers = pd.Series(episodes, dtype="Int64")
    known = numbers.dropna()
    said = number_range(known, "episode") if len(known) else "a number of episodes that the logs do not say"
    also = ", of some unknown" if 0 < len(known) < len(numbers) else ""
    return f"Protocol: {', '.join(dict.fromkeys(protocols))}. {of[0].upper()}{of[1:]} is the mean of {said}{also}."


def number_range(numbers: Iterable[int], noun: str) -> str:
    """Writes how many there are of something: `1 run`, `2 runs`, `2 to 5 runs`."""
    fewest, most = min(numbers), max(numbers)
    plural = noun if most == 1 else f"{noun}s"
    return f"{most:,} {plural}" if fewest == most else f"{fewest:,} to {most:,} {plural}"


def _score_caption(reports: pd.DataFrame) -> str:
    said = basis(reports["protocol"], reports.get("score_episodes", [pd.NA]), of="each report's score")
    chosen = [algo for algo in dict.fromkeys(reports["algo"]) if algo in _CHOOSES_BY_SCORE]
    if chosen:
        names = ", ".join(algo_name(algo) for algo in chosen)
        said += f" {names}: the elite's, which was chosen by it, and so too high; tables/scores.csv has fair ones."
    return said


def check_formats(outputs: Iterable[str | os.PathLike]) -> None:
    """Raises `NeurozooError` if the suffix of a file is none of `FORMATS`, before anything is drawn."""
    for output in outputs:
        if Path(output).suffix[1:] not in FORMATS:
            raise unknown_name("figure format", Path(output).suffix[1:], FORMATS)


def curve_labels(reports: pd.DataFrame, colour_by: str) -> pd.Series:
    """Names the curve that each row belongs to, such as `GA, large`, and keeps unlike runs of a game apart."""
    named = [*COLOUR_BY[colour_by]]
    named += [name for name in ("algo", "model") if name not in named and reports[name].nunique() > 1]
    if reports.groupby("game")["protocol"].nunique().max() > 1:
        named.append("protocol")
    shown = {name: reports[name].astype(str).str.replace("_", " ") for name in named}
    if "algo" in shown:
        shown["algo"] = reports["algo"].astype(str).map(algo_name)
    first, *others = shown.values()
    return first.str.cat(others, sep=", ")


def algo_name(algo: str) -> str:
    """Writes an algorithm as people do: NSRA-ES."""
    return algo.replace("_", "-").upper()


def median_curves(reports: pd.DataFrame, *, interval: str, confidence: float, seed: int) -> pd.DataFrame:
    """Condenses the runs of each curve.

    Args:
        reports: Rows with `game`, `curve`, `run`, `frames`, `score`.
        interval: Key of `INTERVALS`.
        confidence: Of the interval.
        seed: Of the bootstrap.

    Returns:
        Rows with `game`, `curve`, `runs`, `frames`, `median`, `low`, `high`; the ends are NaN without an interval.
    """
    parts = []
    for (game, curve), group in reports.groupby(["game", "curve"], sort=False):
        runs = [run for _, run in group.groupby(["algo", "model", "protocol", "run"], sort=False)]
        frames, scores = common_grid([(run["frames"].to_numpy(), run["score"].to_numpy()) for run in runs])
        low = high = np.nan
        if INTERVALS[interval]:
            low, high = bootstrap_intervals(
                [scores], {"": INTERVALS[interval]}, replications=_RESAMPLES, confidence=confidence, seed=seed
            )[""]
        part = {"game": game, "curve": curve, "runs": len(runs), "frames": frames}
        parts.append(pd.DataFrame(part | {"median": np.median(scores, axis=-1), "low": low, "high": high}))
    return pd.concat(parts, ignore_index=True)


def common_grid(runs: Sequence[tuple[np.ndarray, np.ndarray]], points: int = _POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Brings runs that reported at different frames to the same frames.

    Args:
        runs: (frames, score) of each run, each of shape (reports,).
        points: Length of the grid.

    Returns:
        Frames, shape (points,), and scores, shape (points, runs), linear between reports. Nothing is extrapolated: the
        grid lies between the latest first report and the earliest last one, so it ends with the shortest run. Runs
        without such a stretch (one report each) give a single point at the latter, with each run's nearest score.
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
    """Finds the best score that any run has reported up to each frame, to the end of the longest run.

    Args:
        reports: Rows with `game`, `curve`, `frames`, `score`.

    Returns:
        Rows with `game`, `curve`, `frames`, `best` wherever it rises, and at the end.
    """
    ordered = reports.sort_values("frames", kind="stable")
    ordered = ordered.assign(best=ordered.groupby(["game", "curve"])["score"].cummax())
    groups = ordered.groupby(["game", "curve"])
    rises = groups["best"].diff().fillna(1) > 0
    is_last = groups.cumcount(ascending=False) == 0
    return ordered.loc[rises | is_last, ["game", "curve", "frames", "best"]]


def si_label(value: float) -> str:
    """Writes a number of frames as people say it: 500k, 1.5M, 4B."""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def number_label(value: float) -> str:
    """Writes a score: 4.536, 17, 4,536."""
    return f"{value:,.4g}" if abs(value) < 10 else f"{value:,.0f}"


def whole_breaks(limits: tuple[float, float]) -> list[int]:
    """Chooses about ten whole numbers between two limits, for an axis of things that are counted."""
    first, last = math.ceil(limits[0]), math.floor(limits[1])
    step = max(1, round((last - first) / 10))
    return list(range(first + -first % step, last + 1, step))


def game_title(game: str) -> str:
    """Writes a game as people do: Ms Pacman."""
    return game.replace("_", " ").title()


def _explained(curves: pd.DataFrame, others: pd.DataFrame, *, interval: str, best: bool, confidence: float) -> str:
    """Says what the lines are, so that the figure can stand alone."""
    most = curves["runs"].max()
    if most == 1:
        said = ["Line: the one run"] + (["no interval is known"] if interval != "none" else [])
    else:
        said = [f"Line: median over {number_range(curves['runs'], 'run')}, up to the end of the shortest"]
        if interval != "none":
            said.append(f"band: {100 * confidence:g} % bootstrap interval of the {interval}")
    if best:
        said.append("dashed: best so far" if most == 1 else "dashed: best so far of any run")
    if len(others):
        said.append("grey: one published run each, for comparison, with settings of its own")
    return "; ".join(said) + "."


def categorical_colours(count: int) -> list[str]:
    """Returns so many different colours; up to seven can be told apart by people with any colour vision."""
    if count <= len(_PALETTE):
        return list(_PALETTE[:count])
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["viridis"](share)) for share in np.linspace(0, 0.95, count)]


def _shown_references(references: pd.DataFrame | None, reports: pd.DataFrame, *, up_to: float | None) -> pd.DataFrame:
    """Returns the parts of reference curves that have a place in the figure."""
    if references is None:
        return reports.iloc[:0]
    ends = reports.groupby("game")["frames"].max()
    last = references["game"].map(ends) if up_to is None else up_to
    return references[references["game"].isin(ends.index) & (references["frames"] <= last)]


def _greys(count: int) -> list[str]:
    """Returns so many greys, from dark to light."""
    from matplotlib.colors import to_hex

    return [to_hex((share,) * 3) for share in np.linspace(0.45, 0.75, max(count, 1))][:count]


def _figure(
    curves: pd.DataFrame,
    records: pd.DataFrame | None,
    others: pd.DataFrame,
    *,
    labels: Sequence[str],
    columns: int,
    axis: str,
    size: tuple[float, float],
) -> p9.ggplot:
    def ordered(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(curve=pd.Categorical(table["curve"], entries), panel=table["game"].map(game_title))

    names = list(dict.fromkeys(others["curve"]))
    entries = [*labels, *names]
    colours = [*categorical_colours(len(labels)), *_greys(len(names))]
    curves = ordered(curves)
    aesthetics = p9.aes(x="frames", colour="curve", fill="curve")
    figure = p9.ggplot(curves, aesthetics)
    if names:
        figure += p9.geom_line(p9.aes(y="score"), ordered(others), size=0.6)
    ribbon = curves.dropna(subset=["low", "high"])
    if len(ribbon):
        figure += p9.geom_ribbon(p9.aes(ymin="low", ymax="high"), ribbon, alpha=0.18, colour="none", show_legend=False)
    if records is not None:
        figure += p9.geom_step(
            p9.aes(y="best"), ordered(records), linetype="dashed", size=0.45, alpha=0.8, show_legend=False
        )
    single = curves[curves.groupby(["game", "curve"], observed=True)["frames"].transform("size") == 1]
    if len(single):
        figure += p9.geom_point(p9.aes(y="median"), single, size=1.6, show_legend=False)
    return (
        figure
        + p9.geom_line(p9.aes(y="median"), size=0.9)
        + p9.facet_wrap("panel", ncol=columns, scales="free_y" if _are_alike(curves) else "free")
        + (p9.expand_limits(x=0) if axis == "linear" else None)
        + FRAMES_AXES[axis](labels=lambda values: [si_label(value) for value in values])
        + p9.scale_y_continuous(labels=lambda values: [number_label(value) for value in values])
        + p9.scale_colour_manual(values=colours, limits=entries)
        + p9.guides(colour=p9.guide_legend(ncol=_legend_columns(entries, size[0])))
        + p9.scale_fill_manual(values=colours, limits=entries, guide=None)
        + p9.labs(x="Emulator frames", y="Score", colour="")
        + figure_theme(size, has_legend=len(entries) > 1)
    )


def _are_alike(curves: pd.DataFrame) -> bool:
    """Whether the games were played for about as long, so that their panels can share the axis of frames."""
    ends = curves.groupby("game")["frames"].max()
    return ends.max() <= 1.5 * ends.min()


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """Returns how many of the legend's entries fit side by side; `width` is in inches."""
    entry = 0.6 + 0.075 * max(map(len, labels))
    return max(1, min(len(labels), int((width - 0.8) / entry)))


def figure_theme(size: tuple[float, float], *, has_legend: bool) -> p9.theme:
    """Returns the look that all figures share; `size` is in inches."""
    return p9.theme_minimal(base_size=9, base_family="DejaVu Sans") + p9.theme(
        figure_size=size,
        legend_position="top" if has_legend else "none",
        legend_justification_top=0,
        legend_title=p9.element_blank(),
        legend_key_width=26,
        legend_text=p9.element_text(size=9, colour=_INK),
        plot_title=p9.element_text(size=13, weight="bold", colour=_INK, ha="left"),
        plot_subtitle=p9.element_text(
            size=8.5, colour=_QUIET, ha="left", linespacing=1.4, margin={"b": 8, "unit": "pt"}
        ),
        plot_caption=p9.element_text(size=7.5, colour=_QUIET, ha="right"),
        strip_text=p9.element_text(size=10, weight="bold", colour=_INK, ha="left"),
        axis_title=p9.element_text(size=9, colour=_INK),
        axis_text=p9.element_text(size=8, colour=_QUIET),
        panel_grid_minor=p9.element_blank(),
        panel_grid_major=p9.element_line(colour="#E6E6E6", size=0.5),
        panel_spacing_x=0.15 / size[0],
        panel_spacing_y=0.25 / size[1],
        plot_margin=0.1 / size[0],
    )


def save_figure(figure: p9.ggplot | Compose, outputs: Iterable[str | os.PathLike]) -> None:
    """Draws once and writes every format, without dates and random names, so that equal figures are equal files."""
    import matplotlib
    from matplotlib import pyplot

    with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "neurozoo"}):
        warnings.simplefilter("ignore", p9.exceptions.PlotnineWarning)
        drawn = figure.draw(show=False)
        try:
            for output in map(Path, outputs):
                format = output.suffix[1:]
                with written_whole(output) as temporary:
                    drawn.savefig(temporary, format=format, dpi=_DOTS_PER_INCH, metadata=_NO_DATES[format])
        finally:
            pyplot.close(drawn)
