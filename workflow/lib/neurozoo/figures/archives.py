"""Draws archives: heat maps, and QD score and coverage over evaluations."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from neurozoo.algorithms.agent_names import agent_name
from neurozoo.environments.level_domains import measure_title
from neurozoo.errors import NeurozooError
from neurozoo.figures import style
from neurozoo.records.comparability import with_names
from neurozoo.records.curves import common_grid
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games
from neurozoo.records.stored_archive import StoredArchive, read_stored_archive

PANELS = {"qd_score": "QD score", "coverage": "Coverage of the archive"}
_WIDTH, _ROW = 9.5, 3.0  # inches: of the figure, and of a game's panels
_RESAMPLES = 2_000


def draw_heatmap(archive: str | os.PathLike, outputs: Sequence[str | os.PathLike]) -> None:
    """Draws the objective of every elite at its place in a run's `archive.npz`. Equal data give equal bytes.

    Raises:
        NeurozooError: The file is missing, damaged, or no archive of two measures.
    """
    stored = read_stored_archive(archive)
    facts, (first, second) = stored.facts, stored.measures
    game = str(facts.get("game", ""))
    name = agent_name(str(facts.get("algo", "")), str(facts.get("model", "")), f"run {facts.get('run', '')}")
    text = (
        f"{len(stored.cells):,} of {stored.dims[0] * stored.dims[1]:,} cells after {facts.get('evaluations', 0):,} "
        f"evaluations; QD score {facts.get('qd_score') or 0:,.1f}"
    )
    figure = (
        p9.ggplot(filled_cells(stored), p9.aes("x", "y", fill="objective"))
        + p9.geom_tile(p9.aes(width="width", height="height"))
        + p9.scale_fill_cmap("viridis", limits=(0, 1), name="Objective")
        + p9.coord_cartesian(xlim=tuple(stored.ranges[0]), ylim=tuple(stored.ranges[1]), expand=False)
        + p9.labs(title=name, subtitle=text, x=measure_title(game, first), y=measure_title(game, second))
        + style.figure_theme((6.5, 4.2), has_legend=False)
        + p9.theme(legend_position="right", legend_title=p9.element_text(size=8))
    )
    style.save_figure(figure, outputs)


def filled_cells(stored: StoredArchive) -> pd.DataFrame:
    """Returns the filled cells of an archive: rows with `x` and `y` (middle), `width`, `height` and `objective`."""
    widths = (stored.ranges[:, 1] - stored.ranges[:, 0]) / np.array(stored.dims)
    row, column = np.divmod(stored.cells, stored.dims[1])
    return pd.DataFrame(
        {
            "x": stored.ranges[0, 0] + (row + 0.5) * widths[0],
            "y": stored.ranges[1, 0] + (column + 0.5) * widths[1],
            "objective": stored.objectives,
            "width": widths[0],
            "height": widths[1],
        }
    )


def draw_archive_curves(
    metrics: pd.DataFrame, outputs: Sequence[str | os.PathLike], *, confidence: float = 0.95, seed: int = 0
) -> None:
    """Draws QD score and coverage over evaluations: means over runs with their bootstrap intervals.

    Runs with other settings or another budget, or whose levels were played differently, never share a curve. Equal data
    give equal bytes.

    Raises:
        NeurozooError: No run has an archive.
    """
    curves = archive_curves(metrics, confidence=confidence, seed=seed)
    caption = " ".join(style.reservations(_named_reports(metrics), of="curves"))
    style.save_figure(_curves_figure(curves, confidence, caption), outputs)


def archive_curves(metrics: pd.DataFrame, *, confidence: float, seed: int) -> pd.DataFrame:
    """Computes the curves: rows with `panel`, `game`, `curve`, `runs`, `evaluations`, `mean`, `low` and `high`."""
    reports = _named_reports(metrics)
    reports = reports.assign(curve=style.curve_labels(reports, "algo_model"))
    whole = reports.groupby(["game", "curve", "run"], sort=False)["evaluations"].transform("max").astype(int)
    has_several = whole.groupby([reports["game"], reports["curve"]]).transform("nunique") > 1
    budgets = whole.map("{:,} evaluations".format).where(has_several, "")
    parts = []
    for (game, curve, budget), group in reports.groupby(["game", "curve", budgets], sort=False):
        runs = [run for _, run in group.groupby("run", sort=False)]
        for panel, title in PANELS.items():
            grid, values = common_grid(
                [(run["evaluations"].to_numpy(float), run[panel].to_numpy(float)) for run in runs]
            )
            low: float | np.ndarray = np.nan
            high: float | np.ndarray = np.nan
            if len(runs) > 1:
                low, high = bootstrap_intervals(
                    [values], {"": mean_over_games}, replications=_RESAMPLES, confidence=confidence, seed=seed
                )[""]
            part = {"panel": title, "game": game, "curve": ", ".join(filter(None, (str(curve), str(budget))))}
            points = {"runs": len(runs), "evaluations": grid, "mean": values.mean(axis=-1), "low": low, "high": high}
            parts.append(pd.DataFrame(part | points))
    return pd.concat(parts, ignore_index=True)


def _named_reports(metrics: pd.DataFrame) -> pd.DataFrame:
    """Returns the reports about archives, with what `with_names` adds."""
    wanted = ["evaluations", *PANELS]
    reports = metrics.dropna(subset=wanted) if set(wanted) <= set(metrics) else metrics.iloc[:0]
    if reports.empty:
        raise NeurozooError(
            "No run has an archive, so there is nothing to show. Plan runs such as map_elites or dsage."
        )
    # No search is pooled over games, and settings of mazes say nothing about platform levels.
    return pd.concat([with_names(of_game) for _, of_game in reports.groupby("game", sort=False)])


def _labels(values: Sequence[Any]) -> list[str]:
    return [style.si_label(value) for value in values]


def _curves_figure(curves: pd.DataFrame, confidence: float, caption: str) -> p9.ggplot:
    names = list(dict.fromkeys(curves["curve"]))
    games = list(dict.fromkeys(curves["game"]))
    runs = curves["runs"]
    curves = curves.assign(
        panel=curves["panel"] if len(games) == 1 else curves["panel"] + ", " + curves["game"],
        curve=pd.Categorical(curves["curve"], names),
    )
    panels = list(dict.fromkeys(curves["panel"]))
    if runs.max() == 1:
        text = "One run." if len(curves.groupby(["game", "curve"], observed=True)) == 1 else "One run each."
    else:
        text = f"Mean of {style.number_range(runs, 'run')}."
        if curves["low"].notna().any():
            text += f" Band: its {style.percent(confidence)} bootstrap interval, from five runs on."
    legend = style.arrange_legend(names, _WIDTH)
    colours, types = style.line_styles(len(names))
    words = {"title": "Archives", "subtitle": text, "caption": style.wrapped(caption, int(16 * _WIDTH))}
    height = _ROW * len(games) + style.words_height(**words) + legend.height
    is_single = curves.groupby(["panel", "curve"], observed=True)["mean"].transform("size") == 1
    return (
        p9.ggplot(
            curves.assign(panel=pd.Categorical(curves["panel"], panels)),
            p9.aes("evaluations", "mean", colour="curve", fill="curve"),
        )
        + p9.geom_ribbon(p9.aes(ymin="low", ymax="high"), alpha=0.2, colour="none", na_rm=True)
        + p9.geom_line(p9.aes(linetype="curve"), size=0.8)
        + p9.geom_point(data=lambda points: points[is_single.to_numpy()], size=1.6, show_legend=False)
        + p9.facet_wrap("panel", ncol=2, scales="free" if len(games) > 1 else "free_y")
        + p9.scale_x_continuous(labels=_labels)
        + p9.scale_y_continuous(labels=style.number_labels)
        + p9.scale_colour_manual(values=colours, labels=legend.labels)
        + p9.scale_fill_manual(values=colours, labels=legend.labels)
        + p9.scale_linetype_manual(values=types, labels=legend.labels)
        + style.legend_guides("colour", "fill", "linetype", columns=legend.columns)
        + p9.labs(**words, x="Evaluations", y="", colour="", fill="", linetype="")
        + style.figure_theme((_WIDTH, height), has_legend=True)
    )
