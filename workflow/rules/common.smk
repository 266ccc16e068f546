"""
Makes the library importable, checks the configuration, and knows the planned runs.

REQUIRED INPUTS:

    config     = config.yaml, or what --configfile names

A mistake in the configuration ends here, before any rule is looked at.
"""

import os
import signal
import sys
import threading
from pathlib import Path

import yaml
from snakemake.dag import DAG

PROJECT = Path(str(workflow.current_basedir)).resolve().parents[1]

# Snakemake hands sys.path on to every `script:`, so this line is all that a node of a cluster needs, too.
sys.path.insert(0, str(PROJECT / "workflow" / "lib"))

from neurozoo.clusters.dask_settings import ClusterSettings
from neurozoo.clusters.slurm import end_leftover_jobs
from neurozoo.configuration import (
    check_config,
    classified_games,
    filmed_runs,
    filter_files,
    import_choices,
    imported_runs,
    planned_runs,
    run_settings,
    runs_with_lean,
    runs_of_game,
    runs_with_layer,
    runs_with_lineage,
    runs_with_phases,
)
from neurozoo.errors import NeurozooError
from neurozoo.site.products import FOLDERS
from neurozoo.tags import parse_tag


def in_a_sentence(function, *arguments, **named):
    """Calls a function of the library; of its error only the sentence reaches the user."""
    try:
        return function(*arguments, **named)
    except NeurozooError as error:
        raise WorkflowError(str(error)) from None


# Warnings that a job's time is up go to all its processes: the training heeds them, the Snakemake around it must not die.
if threading.current_thread() is threading.main_thread():
    for warning in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(warning, signal.SIG_IGN)


with open(workflow.source_path("../schemas/config.schema.yaml")) as schema:
    CONFIG_FILES = ", ".join(map(str, workflow.configfiles)) or "The configuration"
    config.update(in_a_sentence(check_config, config, yaml.safe_load(schema), source=CONFIG_FILES))

PLANNED_RUNS = planned_runs(config)
IMPORTED_RUNS = imported_runs(config)
FILMED_RUNS = filmed_runs(config)
FILTER_FILES = filter_files(config)
LEAN_IS_WANTED = any(name == "filters/lean.csv" for _, name in FILTER_FILES)
# Of whose rollouts there are pictures.
RECORDED_RUNS = [] if config["rollout"]["streamlined"] else [*PLANNED_RUNS, *IMPORTED_RUNS]
RUNS_WITH_LINEAGE = runs_with_lineage(config)
RUNS_WITH_PHASES = runs_with_phases(config)


# Names are not constrained to the known ones, so that a slip gets an answer from `settings_of` instead of none.
wildcard_constraints:
    algo=r"[^/]+",
    game=r"[^/]+",
    model=r"[^/]+",
    run=r"[1-9]\d*",
    tag=r"[^/]+",
    seed=r"\d+",


# What is made of a run's result is made of its tagged moments, too, where a rule takes {run} for "1" and "1/tags/human".
RUN_OR_TAG = r"[1-9]\d*(/tags/[^/]+)?"


class WithoutAncient:
    """The jobs that wait for a job, but for those to which its files are `ancient`."""

    def __init__(self, depending):
        self._depending = depending

    def __getitem__(self, job):
        waiting = self._depending[job].items()
        return {other: files for other, files in waiting if not all(file.is_ancient for file in files)}


def follow(dag, direction, *jobs, snakemake_follow=DAG.bfs, **choices):
    """Follows jobs as Snakemake does, but to those that wait for others not through an `ancient` input."""
    direction = WithoutAncient(direction) if direction is dag.depending else direction
    return snakemake_follow(dag, direction, *jobs, **choices)


# Snakemake plans nothing else when a job before an `ancient` input has to run again, here the build of the op after an
# update: https://github.com/snakemake/snakemake/issues/4166.
DAG.bfs = follow


def planned(name, runs=PLANNED_RUNS):
    """Returns the path of one file in the folders of all planned runs, or of others."""
    return [f"<results>/runs/{run.algo}/{run.game}/{run.model}/{run.run}/{name}" for run in runs]


def summaries():
    """Returns the tables and figures over all runs, as far as there are runs for them."""
    formats = config["figures"]["learning_curves"]["formats"]
    figures = ("learning_curves", "performance_profile", "aggregates", "probability_of_improvement")
    of_planned = [
        *(f"<results>/figures/{figure}.{format}" for figure in figures for format in formats),
        "<results>/tables/metrics.parquet",
        "<results>/tables/metrics.csv",
        "<results>/tables/scores.csv",
        "<results>/tables/comparison.csv",
    ]
    return (of_planned if PLANNED_RUNS else []) + (["<results>/tables/imported_scores.csv"] if IMPORTED_RUNS else [])


def filters_of_runs():
    """Returns the wanted pictures of filters, and the figure over all runs where leans are among them."""
    formats = config["figures"]["temporal_lean"]["formats"]
    return [
        *(path for run, name in FILTER_FILES for path in planned(name, [run])),
        *(f"<results>/figures/temporal_lean.{format}" for format in formats if LEAN_IS_WANTED),
    ]


def products():
    """Returns all that the configuration plans but for the pages that show it."""
    return [
        *summaries(),
        *planned("frozen/model.json", PLANNED_RUNS + IMPORTED_RUNS),
        *planned("rollout.npz", PLANNED_RUNS + IMPORTED_RUNS),
        *planned("activation.mp4", RECORDED_RUNS),
        *planned("lineage.png", RUNS_WITH_LINEAGE),
        *planned("phases.png", RUNS_WITH_PHASES),
        *planned("phases.csv", RUNS_WITH_PHASES),
        *planned("generations.mp4", FILMED_RUNS),
        *wanted_movies(),
        *filters_of_runs(),
        *comparisons(),
    ]


def existing_folders():
    """Returns the folders whose files the gallery shows; a folder is newer as soon as a file appears in it."""
    results = Path(config["pathvars"]["results"])
    return sorted(str(folder) for pattern in FOLDERS for folder in results.glob(pattern) if folder.is_dir())


def wanted_movies():
    """Returns the movies that the configuration names, besides those of activations and generations."""
    movie = config["movie"] if RECORDED_RUNS else {"game": False, "layers": [], "grids": []}
    return [
        *(planned("game.mp4", RECORDED_RUNS) if movie["game"] else ()),
        *(f for layer in movie["layers"] for f in planned(f"layer_{layer}.mp4", runs_with_layer(config, layer))),
        *(f"<results>/movies/{game}.mp4" for game in movie["grids"]),
    ]


def runs_of(wildcards):
    """Returns the planned and imported runs that play a game, or says that there are none."""
    return in_a_sentence(runs_of_game, config, wildcards.game)


def comparisons():
    """Returns what is made of the games under `comparisons`."""
    games = config["comparisons"]["games"]
    return [
        *(f"<results>/comparisons/{game}/{name}" for game in games for name in ("embedding.npz", "embedding.html")),
        *(f"<results>/comparisons/{game}/classification.png" for game in classified_games(config)),
    ]


def import_of(wildcards):
    """Returns what an imported run is made of, or says that the configuration does not."""
    return in_a_sentence(import_choices, config, game=wildcards.game, model=wildcards.model, run=wildcards.run)


def settings_of(wildcards):
    """Returns the settings of a run, or says which of its names is wrong."""
    return in_a_sentence(run_settings, config, **dict(wildcards.items()))


def tag_of(wildcards):
    """Returns a tag, or says what one looks like."""
    return in_a_sentence(parse_tag, wildcards.tag).text


def gpus_of(wildcards):
    """Returns the GPUs that a run needs."""
    return 1 if settings_of(wildcards)["engine"] == "batched" else 0


def memory_of(wildcards):
    """Returns the megabytes that a run needs, a replay memory's among them: mapped from a file it should fit, too."""
    return 4000 + settings_of(wildcards).get("replay_size", 0) * 7100 // 1_000_000


def cluster_of(wildcards):
    """Returns the Dask cluster of a run in the words of a resource; empty for none, and for the batched engine."""
    cluster = ClusterSettings.of(config["distributed"])
    return cluster.to_words() if cluster and settings_of(wildcards)["engine"] == "native" else ""


def share_of_cores(wildcards):
    """Returns the cores for each run when all run side by side on this machine; profiles of clusters say their own."""
    return max(1, workflow.cores // max(1, len(PLANNED_RUNS)))


def native_sources():
    """Returns what the op is compiled from, relative to the working directory where that is the project's."""
    files = (PROJECT / "native").rglob("*")
    suffixes = (".cc", ".h", ".inc", ".patch", ".txt")
    return sorted(os.path.relpath(file) for file in files if file.suffix in suffixes and "tests" not in file.parts)
