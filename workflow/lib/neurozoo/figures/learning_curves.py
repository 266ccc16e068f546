"""Draws learning curves: scores over frames, one panel per game."""

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from neurozoo.algorithms.agent_names import algo_name, called
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.environments.game_titles import game_title
from neurozoo.environments.games import world_of
from neurozoo.errors import NeurozooError
from neurozoo.figures import style
from neurozoo.records.comparability import VARIANT, distinct_rows, is_fact, with_names
from neurozoo.records.curves import (
    best_so_far,
    median_curves,
    reference_levels,
    run_curves,
    scores_to_draw,
    shown_references,
)
from neurozoo.records.run_config import IDENTITY

FRAMES_AXES = {"linear": p9.scale_x_continuous, "log": p9.scale_x_log10}

_OF_REPORTS = ("frames", "score", "episodes", "is_test")  # columns of `scores_to_draw` that figures use
_OWN_SCORE = ", own score"  # end of a label, where other runs of the same kind have a curve of tests


def plot_learning_curves(
    metrics: pd.DataFrame,
    outputs: Sequence[str | os.PathLike],
    *,
    colour_by: str = "model",
    columns: int = 4,
    panel_width: float = 3.0,
    panel_height: float = 3.0,
    interval: str = "median",
    best: bool = True,
    runs: bool = False,
    frames_axis: str = "linear",
    over: str = "frames",
    confidence: float = 0.95,
    seed: int = 0,
    references: pd.DataFrame | None = None,
    reference_frames: float | None = None,
) -> None:
    """Draws one panel per game: the median over runs, its bootstrap interval, and the best score of any run.

    The score is the test score. Runs whose tests make no curve, because there is none or one at the end, are
    drawn with their own score, as curves of their own, and the caption names them.

    From `colour_by` to `frames_axis`, the arguments are the settings `figures.learning_curves` of the configuration.
    Runs that also differ in something else (say, the protocol) never share a curve; the label names the difference. The
    axis is `over` frames, or hours of the processor, for which the table needs the column `ProcessorTimeTotal`.

    The `references`, see `records.curves.read_references`, are grey, appear only in the panels of games with
    runs, and count in no median, interval or best score. They end at `reference_frames`, or with the runs in the same
    panel. Equal data give equal bytes.

    Raises:
        NeurozooError: There is no score to draw.
    """
    if over == "hours":
        metrics = metrics.assign(frames=metrics["ProcessorTimeTotal"].astype("Float64") / 3600)
    reports, kinds = _labelled(metrics, colour_by)
    del metrics
    curves = median_curves(reports, interval=interval, confidence=confidence, seed=seed)
    records = best_so_far(reports) if best else None
    single = run_curves(reports) if runs and curves["runs"].max() > 1 else None
    labels = list(dict.fromkeys(reports["curve"]))
    others = shown_references(references, reports, up_to=reference_frames)
    games = sorted(reports["game"].unique())
    columns = style.panels_per_row(len(games), most=columns)
    width = columns * panel_width
    named = "Test score" if reports["is_test"].all() else "Score" if reports["is_test"].any() else "The run's own score"
    levels = reference_levels(reports)
    explanation = _legend_text(curves, others, levels, interval=interval, best=best, runs=runs, confidence=confidence)
    words = {
        "title": style.wrapped(_title(kinds, labels), int(6.5 * width)),
        "subtitle": style.wrapped(explanation, int(13 * width)),
        "caption": style.wrapped(_score_caption(reports, kinds), int(16 * width)),
    }
    height = math.ceil(len(games) / columns) * panel_height + style.words_height(**words)
    figure = _figure(
        curves, records, single, others, levels, labels=labels, columns=columns, axis=frames_axis, size=(width, height)
    )
    figure += p9.labs(**words, x=_axis_title(over, set(reports["game"])), y=named)
    style.save_figure(figure, outputs)


def _labelled(metrics: pd.DataFrame, colour_by: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns the reports with their `curve`, and one row per kind of run with all that tells it from others.

    A million reports have few kinds of runs, so what these differ in is not copied with the reports.
    """
    metrics = metrics.set_axis(range(len(metrics)))
    facts = [name for name in metrics if is_fact(name) or name in ("algo", "game", "model", "protocol")]
    kinds, _ = distinct_rows(metrics, facts)
    drawn = scores_to_draw(metrics[[name for name in metrics if not is_fact(name)]].assign(kind=kinds))
    if drawn.empty:
        raise NeurozooError("The metrics contain no score to draw. Let a run reach its first report.")
    ids, _ = pd.factorize(drawn["kind"])
    runs = with_names(metrics.loc[drawn.index[~drawn["kind"].duplicated()], facts])
    drawn = drawn[[*IDENTITY, *_OF_REPORTS]].assign(curve=style.curve_labels(runs, colour_by).array.take(ids))
    tested, own = (set(drawn.loc[drawn["is_test"] == is_test, "curve"].unique()) for is_test in (True, False))
    for curve in tested & own:
        drawn.loc[~drawn["is_test"] & (drawn["curve"] == curve), "curve"] = curve + _OWN_SCORE
    return drawn, runs


def _title(runs: pd.DataFrame, labels: Sequence[str]) -> str:
    """Names what all curves have in common, so that the figure can stand alone."""
    names = list(dict.fromkeys(called(algo, label)[0] for algo, label in zip(runs["algo"], runs[VARIANT], strict=True)))
    common = names if len(names) == 1 and not any(label.startswith(names[0]) for label in labels) else []
    common += [labels[0].removesuffix(f", {names[0]}")] if len(labels) == 1 else []
    return f"Learning curves: {', '.join(common)}" if common else "Learning curves"


def _score_caption(reports: pd.DataFrame, runs: pd.DataFrame) -> str:
    tested, own = reports[reports["is_test"]], reports[~reports["is_test"]]
    sentences = [f"Protocol: {', '.join(dict.fromkeys(reports['protocol']))}."]
    if len(tested):
        sentences.append(style.mean_of(tested["episodes"], of="each report's test score"))
    if len(own):
        names = "; ".join(dict.fromkeys(own["curve"]))
        whose = f"each report's own score ({names}: no curve of tests)" if len(tested) else "each report's own score"
        sentences.append(style.mean_of(own["episodes"], of=whose))
    chosen = [
        algo for algo in dict.fromkeys(own["algo"]) if algo in ALGORITHMS and ALGORITHMS[algo].chooses == "individual"
    ]
    if chosen:
        names = ", ".join(algo_name(algo) for algo in chosen)
        sentences.append(f"{names}: the elite was selected by this score, so it is too high.")
    return " ".join([*sentences, *style.reservations(runs, of="curves")])


def _legend_text(
    curves: pd.DataFrame,
    others: pd.DataFrame,
    levels: pd.DataFrame,
    *,
    interval: str,
    best: bool,
    runs: bool,
    confidence: float,
) -> str:
    """Explains the lines, so that the figure can stand alone."""
    most = curves["runs"].max()
    if most == 1:
        parts = ["Line: the only run"] + (["no interval is known"] if interval != "none" else [])
    else:
        parts = [f"Line: median over {style.number_range(curves['runs'], 'run')}, up to the end of the shortest"]
        if curves["low"].notna().any():
            parts.append(f"band: {style.percent(confidence)} bootstrap interval of the {interval}, from five runs on")
    if runs and most > 1:
        parts.append("thin: single runs")
    if best:
        parts.append("dashed: best so far" if most == 1 else "dashed: best so far of any run")
    if len(levels):
        parts.append(f"dotted: {' and '.join(dict.fromkeys(levels['level']))} play")
    if len(others):
        parts.append("grey: one published run each, for comparison, with its own settings")
    return "; ".join(parts) + "."


def _greys(count: int) -> list[str]:
    """Returns `count` greys, from dark to light."""
    from matplotlib.colors import to_hex

    return [to_hex((share,) * 3) for share in np.linspace(0.45, 0.75, count)]


def _figure(
    curves: pd.DataFrame,
    records: pd.DataFrame | None,
    single: pd.DataFrame | None,
    others: pd.DataFrame,
    levels: pd.DataFrame,
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
    colours, types = style.line_styles(len(labels))
    colours, types = [*colours, *_greys(len(names))], [*types, *["solid"] * len(names)]
    legend = style.arrange_legend(entries, size[0])
    size = (size[0], size[1] + legend.height)
    lines = [table for table in (records, single) if table is not None]
    ends = pd.concat([curves, others, *lines]).groupby("game")["frames"].max()
    curves = ordered(curves)
    aesthetics = p9.aes(x="frames", colour="curve", fill="curve")
    figure = p9.ggplot(curves, aesthetics)
    if len(levels):
        levels = levels.assign(panel=levels["game"].map(game_title))
        figure += p9.geom_hline(p9.aes(yintercept="score"), levels, linetype="dotted", colour="#6B6B6B", size=0.6)
    if names:
        figure += p9.geom_line(p9.aes(y="score", linetype="curve"), ordered(others), size=0.6)
    ribbon = curves.dropna(subset=["low", "high"])
    if len(ribbon):
        figure += p9.geom_ribbon(p9.aes(ymin="low", ymax="high"), ribbon, alpha=0.18, colour="none", show_legend=False)
    if records is not None:
        figure += p9.geom_path(
            p9.aes(y="best"), ordered(records), linetype="dashed", size=0.45, alpha=0.8, show_legend=False
        )
    if single is not None:
        single = ordered(single)
        figure += p9.geom_line(p9.aes(y="score", group="one_run"), single, size=0.35, alpha=0.55, show_legend=False)
        dots = single[~single["one_run"].duplicated(keep=False)]
        if len(dots):
            figure += p9.geom_point(p9.aes(y="score"), dots, size=0.9, alpha=0.55, show_legend=False)
    dots = curves[curves.groupby(["game", "curve"], observed=True)["frames"].transform("size") == 1]
    if len(dots):
        figure += p9.geom_point(p9.aes(y="median"), dots, size=1.6, show_legend=False)
    return (
        figure
        + p9.geom_line(p9.aes(y="median", linetype="curve"), size=0.9)
        + (_names_of(levels, ends) if len(levels) else None)
        + p9.facet_wrap("panel", ncol=columns, scales="free_y" if _are_alike(curves) else "free")
        + (p9.expand_limits(x=0) if axis == "linear" else None)
        + FRAMES_AXES[axis](labels=lambda values: _frames_labels(values, size[0] / columns))
        + p9.scale_y_continuous(
            labels=style.number_labels, expand=(0.05, 0, 0.12, 0)
        )  # with room for a label at the top
        + style.line_scales(entries, legend, colours=colours, types=types)
        + p9.labs(colour="", linetype="")
        + style.figure_theme(size, has_legend=len(entries) > 1)
    )


def _frames_labels(values: Sequence[Any], width: float) -> list[str]:
    """Formats the numbers along a frames axis; in a narrow panel, only every other one or fewer."""
    step = math.ceil(len(values) / max(2, round(2 * width)))
    return [style.si_label(value) if place % step == 0 else "" for place, value in enumerate(values)]


def _names_of(levels: pd.DataFrame, ends: pd.Series) -> p9.geom_text:
    """Names the levels at the end of the longest curve, because most begin near random play, with a white outline."""
    from matplotlib.patheffects import withStroke

    return p9.geom_text(
        p9.aes(x="frames", y="score", label="level"),
        levels.assign(frames=levels["game"].map(ends)),
        inherit_aes=False, colour="#6B6B6B", size=7, ha="right", va="bottom",
        path_effects=[withStroke(linewidth=2, foreground="white")],
    )  # fmt: skip


def _axis_title(over: str, games: set[str]) -> str:
    if over == "hours":
        return "Processor hours of training and tests"
    worlds = {world_of(game) == "atari" for game in games}
    return "Frames" if len(worlds) > 1 else "Emulator frames" if worlds == {True} else "Frames, one per step"


def _are_alike(curves: pd.DataFrame) -> bool:
    """Checks whether all games were played for about equally long, so that their panels can share the frames axis."""
    ends = curves.groupby("game")["frames"].max()
    return ends.max() <= 1.5 * ends.min()
