"""The files that a configuration plans: those of each run, depending on its algorithm, and those over all runs."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.spec import AlgorithmSpec
from neurozoo.plan.planned_runs import (
    PlannedRun,
    browser_runs,
    causal_runs,
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
    return _run_files((run, name) for run in runs)


def _run_files(files: Iterable[tuple[PlannedRun, str]]) -> list[str]:
    return [f"<results>/runs/{run.name}/{name}" for run, name in files]


def recorded_runs(config: Mapping) -> list[PlannedRun]:
    """Lists the runs whose rollouts contain pictures, so that movies can be made of them."""
    return [] if config["rollout"]["streamlined"] else [*runs_with_network(config), *imported_runs(config)]


def planned_products(config: Mapping) -> list[str]:
    """Lists all files that a configuration plans, except for the pages that show them."""
    return [
        *_summaries(config),
        *_run_files((run, file) for run in planned_runs(config) for file in ALGORITHMS[run.algo].files),
        *(path for file in OF_IMPORTED for path in run_files(file, imported_runs(config))),
        *run_files("activation.mp4", recorded_runs(config)),
        *run_files("loop.webp", recorded_runs(config)),
        *run_files("generations.mp4", filmed_runs(config)),
        *_movies(config),
        *_filters(config),
        *run_files("causal.html", causal_runs(config)),
        *run_files("play.html", browser_runs(config)),
        *_comparisons(config),
    ]


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
        *(path for name in movie["layers"] for path in run_files(f"layer_{name}.mp4", runs_with_layer(config, name))),
        *(f"<results>/movies/{game}.mp4" for game in games_in_grids(config)),
    ]


def games_in_grids(config: Mapping) -> list[str]:
    """Lists the games whose runs are shown side by side: those of the configuration, or all with several runs."""
    if config["movie"]["grids"] is not None:
        return list(config["movie"]["grids"])
    counts = Counter(run.game for run in recorded_runs(config))
    return [game for game, count in counts.items() if count > 1]


def _filters(config: Mapping) -> list[str]:
    files = filter_files(config)
    has_lean = any(name == "filters/lean.csv" for _, name in files)
    return [
        *_run_files(files),
        *(f"<results>/figures/temporal_lean.{end}" for end in figure_formats(config, "temporal_lean") if has_lean),
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
