"""The files that a configuration plans: those of each run, depending on its algorithm, and those over all runs."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.spec import AlgorithmSpec
from neurozoo.plan.planned_runs import (
    PlannedRun,
    classified_games,
    filmed_runs,
    filter_files,
    imported_runs,
    planned_runs,
    runs_with_layer,
    runs_with_levels,
    runs_with_network,
    runs_with_predictions,
)
from neurozoo.records.run_result import FILES

FIGURES = ("learning_curves", "performance_profile", "aggregates", "probability_of_improvement")  # over all runs
OF_IMPORTED = ("result.json", "frozen/model.json", "rollout.npz")


def run_files(name: str, runs: Iterable[PlannedRun]) -> list[str]:
    """Returns the paths of a file in the folders of runs; `<results>` is one of Snakemake's path variables."""
    return [f"<results>/runs/{run.algo}/{run.game}/{run.model}/{run.run}/{name}" for run in runs]


def recorded_runs(config: Mapping) -> list[PlannedRun]:
    """Lists the runs whose rollouts contain pictures, so that movies can be made of them."""
    return [] if config["rollout"]["streamlined"] else [*runs_with_network(config), *imported_runs(config)]


def planned_products(config: Mapping) -> list[str]:
    """Lists all files that a configuration plans, except for the pages that show them."""
    return [
        *_summaries(config),
        *_of_planned(config),
        *(path for file in OF_IMPORTED for path in run_files(file, imported_runs(config))),
        *run_files("activation.mp4", recorded_runs(config)),
        *run_files("loop.webp", recorded_runs(config)),
        *run_files("generations.mp4", filmed_runs(config)),
        *_movies(config),
        *_filters(config),
        *_comparisons(config),
    ]


def _of_planned(config: Mapping) -> list[str]:
    runs = planned_runs(config)
    return [path for run in runs for file in ALGORITHMS[run.algo].files for path in run_files(file, [run])]


def _summaries(config: Mapping) -> list[str]:
    """Lists the tables and figures over all runs, if there are runs for them."""
    found = []
    formats = figure_formats(config)
    if planned_runs(config):
        found += ["<results>/tables/metrics.parquet", "<results>/tables/metrics.csv"]
    if runs_with_network(config):
        found += ["<results>/tables/scores.csv", "<results>/tables/comparison.csv"]
        found += [f"<results>/figures/{figure}.{format}" for figure in FIGURES for format in formats]
    if runs_with_levels(config):
        figures = ["archives", "archive_rows", "archive_histograms"]
        figures += ["predictions"] if runs_with_predictions(config) else []
        found += ["<results>/tables/archives.csv", "<results>/tables/archive_tests.csv"]
        found += [f"<results>/figures/{figure}.{format}" for figure in figures for format in formats]
    if imported_runs(config):
        found.append("<results>/tables/imported_scores.csv")
    return found


def figure_formats(config: Mapping, section: str = "learning_curves") -> list[str]:
    """Returns the suffixes of a figure over runs: its formats, and `txt` if its words are not in the pictures."""
    return [*config["figures"][section]["formats"], *(["txt"] if config["figures"]["words"] == "beside" else ())]


def _movies(config: Mapping) -> list[str]:
    """Lists the movies that the configuration names, besides those of activations and generations."""
    runs = recorded_runs(config)
    if not runs:
        return []
    movie = config["movie"]
    return [
        *(run_files("game.mp4", runs) if movie["game"] else ()),
        *(
            path
            for layer in movie["layers"]
            for path in run_files(f"layer_{layer}.mp4", runs_with_layer(config, layer))
        ),
        *(f"<results>/movies/{game}.mp4" for game in games_in_grids(config)),
    ]


def games_in_grids(config: Mapping) -> list[str]:
    """Lists the games whose runs are shown side by side: those of the configuration, or all with several runs."""
    if config["movie"]["grids"] is not None:
        return list(config["movie"]["grids"])
    counts = Counter(run.game for run in recorded_runs(config))
    return [game for game, count in counts.items() if count > 1]


def lean_is_wanted(config: Mapping) -> bool:
    """Returns whether the temporal lean is among the wanted pictures of filters, so that its figure is drawn."""
    return any(name == "filters/lean.csv" for _, name in filter_files(config))


def _filters(config: Mapping) -> list[str]:
    formats = figure_formats(config, "temporal_lean") if lean_is_wanted(config) else ()
    return [
        *(path for run, name in filter_files(config) for path in run_files(name, [run])),
        *(f"<results>/figures/temporal_lean.{format}" for format in formats),
    ]


def _comparisons(config: Mapping) -> list[str]:
    return [
        *(
            f"<results>/comparisons/{game}/{name}"
            for game in config["comparisons"]["games"]
            for name in ("embedding.npz", "embedding.html")
        ),
        *(f"<results>/comparisons/{game}/classification.png" for game in classified_games(config)),
    ]


def algo_pattern(is_wanted: Callable[[AlgorithmSpec], bool]) -> str:
    """Returns a regular expression for the names of some algorithms; it matches nothing if there are none."""
    names = [re.escape(name) for name, spec in ALGORITHMS.items() if is_wanted(spec)]
    return "|".join(names) if names else "(?!)"


def result_file(algo: str) -> str:
    """Returns the file that holds the result of an algorithm's runs; imported agents are networks."""
    return FILES[ALGORITHMS[algo].result if algo in ALGORITHMS else "network"]
