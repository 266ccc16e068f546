"""Compares all searches: archives with one colour bar, histograms of objectives, and predictions of levels."""

import os
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import plotnine as p9

from neurozoo.algorithms.agent_names import agent_name
from neurozoo.environments.level_domains import measure_title
from neurozoo.errors import NeurozooError
from neurozoo.figures.archives import filled_cells
from neurozoo.figures.style import figure_theme, number_labels, panels_per_row, save_figure
from neurozoo.records.level_table import read_levels
from neurozoo.records.run_config import start_hashes
from neurozoo.records.run_result import LEVELS, read_run_result
from neurozoo.records.stored_archive import StoredArchive, read_stored_archive

BINS = 100  # of the histograms
_COLUMNS = 4
_PANEL = (2.6, 2.4)  # inches
_LINE = 30  # letters of a title that fit above a panel


def draw_archive_rows(archives: Sequence[str | os.PathLike], outputs: Sequence[str | os.PathLike]) -> None:
    """Draws the archive of the first run of each search beside those of the others, with one colour bar.

    Equal data give equal bytes.

    Raises:
        NeurozooError: A file is missing or damaged, or there is none.
    """
    found = _by_search(archives)
    first = {_panel(found, kind): stored[0] for kind, stored in found.items()}
    tables = [filled_cells(stored).assign(search=panel) for panel, stored in first.items()]
    corners = [
        pd.DataFrame({"x": stored.ranges[0], "y": stored.ranges[1], "objective": np.nan, "search": panel})
        for panel, stored in first.items()
    ]
    points = pd.concat(tables, ignore_index=True)
    ends = pd.concat(corners, ignore_index=True)
    for table in (points, ends):
        table["search"] = pd.Categorical(table["search"], list(first))
    kinds = list(dict.fromkeys((game, axes) for game, axes, _ in found))
    game, axes = kinds[0]
    titles = [measure_title(game, axis) for axis in axes] if len(kinds) == 1 else ["First measure", "Second measure"]
    scales: Literal["fixed", "free"] = "fixed" if len(kinds) == 1 else "free"
    figure = (
        p9.ggplot(points, p9.aes("x", "y", fill="objective"))
        + p9.geom_tile(p9.aes(width="width", height="height"))
        + p9.geom_blank(p9.aes("x", "y"), ends, inherit_aes=False)
        + p9.scale_fill_cmap("viridis", limits=(0, 1), name="Objective")
        + p9.facet_wrap("search", ncol=panels_per_row(len(first), most=_COLUMNS), scales=scales)
        + p9.labs(title="Archives", subtitle="The first run of each search.", x=titles[0], y=titles[1])
        + p9.coord_cartesian(expand=False)
        + figure_theme(_size(list(first)), has_legend=False)
        + p9.theme(legend_position="right", legend_title=p9.element_text(size=8))
    )
    save_figure(figure, outputs)


def draw_objective_histograms(archives: Sequence[str | os.PathLike], outputs: Sequence[str | os.PathLike]) -> None:
    """Draws how many elites of each search have which objective, on average over its runs."""
    found = _by_search(archives)
    bars = pd.concat(
        [histogram(stored).assign(search=_panel(found, kind)) for kind, stored in found.items()], ignore_index=True
    )
    bars["search"] = pd.Categorical(bars["search"], list(dict.fromkeys(bars["search"])))
    figure = (
        p9.ggplot(bars, p9.aes("objective", "elites"))
        + p9.geom_col(width=1 / BINS, fill="#0072B2")
        + p9.facet_wrap("search", ncol=panels_per_row(len(found), most=_COLUMNS))
        + p9.scale_y_continuous(labels=number_labels)
        + p9.labs(title="Objectives of the elites", subtitle="Mean over runs.", x="Objective", y="Elites")
        + figure_theme(_size(list(dict.fromkeys(bars["search"]))), has_legend=False)
    )
    save_figure(figure, outputs)


def histogram(archives: Sequence[StoredArchive]) -> pd.DataFrame:
    """Counts elites in bins from 0 to 1: rows with `objective` (middle) and `elites` (mean over archives)."""
    edges = np.linspace(0, 1, BINS + 1)
    counts = np.mean([np.histogram(np.clip(each.objectives, 0, 1), edges)[0] for each in archives], axis=0)
    return pd.DataFrame({"objective": (edges[:-1] + edges[1:]) / 2, "elites": counts})


def draw_predictions(run_dirs: Sequence[str | os.PathLike], outputs: Sequence[str | os.PathLike]) -> None:
    """Draws what surrogates predicted of levels before these were evaluated, over what then happened.

    Finished runs without predictions are left out. Equal data give equal bytes.

    Raises:
        NeurozooError: A file is missing or damaged, or no run has predictions.
    """
    points = prediction_points(run_dirs)
    points["panel"] = pd.Categorical(points["panel"], list(dict.fromkeys(points["panel"])))
    count = points["panel"].nunique()
    figure = (
        p9.ggplot(points, p9.aes("true", "predicted"))
        + p9.geom_line(p9.aes("end", "end"), _diagonals(points), colour="#999999")
        + p9.geom_point(size=0.6, colour="#0072B2")
        + p9.facet_wrap("panel", ncol=2, scales="free")
        + p9.labs(
            title="Predictions of the surrogate",
            subtitle="Mean prediction for the levels that turned out to lie in each cell; the line is a perfect one.",
            x="Evaluated",
            y="Predicted",
        )
        + figure_theme((8.0, 1.2 + 2.6 * -(-count // 2)), has_legend=False)
    )
    save_figure(figure, outputs)


def prediction_points(run_dirs: Sequence[str | os.PathLike]) -> pd.DataFrame:
    """Averages the predictions for levels whose measure lies in the same cell of the archive.

    Returns:
        Rows with `search`, `measure`, `true` (middle of the cell), `predicted`, `levels` (their number), `error` (mean
        absolute error over all levels of the search, in the measure's unit) and `panel`, a title.

    Raises:
        NeurozooError: A file is missing or damaged, or no run has predictions.
    """
    parts: dict[tuple[str, str, str], list[pd.DataFrame]] = {}
    folders = [Path(folder) for folder in run_dirs]
    every = [read_run_result(folder) for folder in folders]
    for folder, facts, name in zip(folders, every, _search_names(every, folders), strict=True):
        stored = read_stored_archive(folder / "archive.npz")
        levels = read_levels(folder / LEVELS, ["predicted", *stored.measures])
        measured = np.stack([levels[measure] for measure in stored.measures], axis=1)
        known = np.isfinite(measured).all(axis=1) & np.isfinite(levels["predicted"][:, 1:]).all(axis=1)
        predictions, measured = levels["predicted"][known, 1:].astype(float), measured[known]
        places = stored.places(measured)
        for number, measure in enumerate(stored.measures):
            low, high = stored.ranges[number]
            width = (high - low) / stored.dims[number]
            part = {"true": low + (places[:, number] + 0.5) * width, "predicted": predictions[:, number]}
            part["error"] = np.abs(part["predicted"] - measured[:, number].astype(float))
            if len(places):
                parts.setdefault((str(facts["game"]), name, measure), []).append(pd.DataFrame(part))
    if not parts:
        raise NeurozooError("No run has predictions of levels, so there is nothing to show. Plan a run of dsage.")
    found = []
    for (game, name, measure), tables in parts.items():
        table = pd.concat(tables, ignore_index=True)
        error = table["error"].mean()
        points = table.groupby("true", as_index=False).agg(predicted=("predicted", "mean"), levels=("true", "size"))
        about = f"{name}, {game}" if len({each for each, _, _ in parts}) > 1 else name
        panel = f"{about}: {measure.replace('_', ' ')}\nmean absolute error {error:,.3g}"
        found.append(points.assign(search=name, measure=measure, error=error, panel=panel))
    return pd.concat(found, ignore_index=True)


def _diagonals(points: pd.DataFrame) -> pd.DataFrame:
    """Returns both ends of a perfect prediction in each panel, so that its axes have one range."""
    ends = points.groupby("panel", observed=True, sort=False)[["true", "predicted"]].agg(["min", "max"])
    low, high = ends.xs("min", axis=1, level=1).min(axis=1), ends.xs("max", axis=1, level=1).max(axis=1)
    return pd.concat([low, high]).rename("end").reset_index()


_Kind = tuple[str, tuple[str, str], str]  # game, measures, name of the search


def _by_search(paths: Sequence[str | os.PathLike]) -> dict[_Kind, list[StoredArchive]]:
    found: dict[_Kind, list[StoredArchive]] = {}
    every = [read_stored_archive(path) for path in paths]
    names = _search_names([stored.facts for stored in every], [Path(path).parent for path in paths])
    for stored, name in zip(every, names, strict=True):
        found.setdefault((str(stored.facts.get("game", "")), stored.measures, name), []).append(stored)
    if not found:
        raise NeurozooError("There is no archive to show; plan at least one run of quality diversity.")
    games = list(dict.fromkeys(game for game, _, _ in found))
    return dict(sorted(found.items(), key=lambda each: games.index(each[0][0])))


def _search_names(every: Sequence[Mapping[str, object]], folders: Sequence[Path]) -> list[str]:
    """Returns the name of each run's search: runs have the same one if and only if they may be pooled.

    It has the hash of the settings, agent or generator, or the number of evaluations, if a search of this name has
    several for this game and these measures. `every` is what each run's result says of itself.
    """
    kinds = [tuple(str(facts.get(name, "")) for name in ("game", "measures", "algo", "model")) for facts in every]
    found: dict[tuple[str, ...], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    differences = []
    for kind, facts, folder in zip(kinds, every, folders, strict=True):
        starts = {name.removesuffix("_sha256"): digest for name, digest in start_hashes(folder).items()}
        hashes = {"settings": str(facts.get("settings_hash", ""))} | starts
        texts = {name: f"{name} {digest[:6]}" for name, digest in hashes.items()}
        texts["evaluations"] = f"{facts.get('evaluations') or 0:,} evaluations"
        differences.append(texts)
        for name, text in texts.items():
            found[kind][name].add(text)
    return [
        agent_name(kind[2], kind[3], *(text for name, text in known.items() if len(found[kind][name]) > 1))
        for kind, known in zip(kinds, differences, strict=True)
    ]


def _panel(found: dict[_Kind, list[StoredArchive]], kind: _Kind) -> str:
    """Returns the name of the search, with lines for what else differs among all."""
    game, measures, name = kind
    has_games = len({each[0] for each in found}) > 1
    has_measures = len({each[1] for each in found}) > 1
    about = [game] if has_games else []
    about += [" / ".join(measure_title(game, measure) for measure in measures)] if has_measures else []
    return "\n".join(textwrap.fill(line, _LINE) for line in (name, *([": ".join(about)] if about else [])))


def _size(panels: Sequence[str]) -> tuple[float, float]:
    columns = panels_per_row(len(panels), most=_COLUMNS)
    lines = max(panel.count("\n") for panel in panels)
    return 1.6 + _PANEL[0] * columns, 1.2 + (_PANEL[1] + 0.17 * lines) * -(-len(panels) // columns)
