"""The runs that targets belong to; files that a run can never have are refused before it is trained for them."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.agents.tags import TAGS, Tag, parse_tag, tag_path
from neurozoo.agents.zoo_listing import is_run_number
from neurozoo.algorithms.quality_diversity.generator_settings import generator_settings
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.spec import AlgorithmSpec
from neurozoo.environments.game_networks import check_browser
from neurozoo.environments.games import check_ram_variables
from neurozoo.environments.protocols import has_continuous_outputs, output_names, protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import KERAS_NETWORKS, check_hidden_layer, get_architecture
from neurozoo.plan.filter_products import PRODUCTS
from neurozoo.plan.planned_runs import (
    PlannedRun,
    check_causal,
    classes_of,
    filter_pictures,
    imported_runs,
    planned_facts,
    planned_runs,
    run_settings,
    runs_of_game,
    runs_with_lean,
    runs_with_levels,
    runs_with_network,
    runs_with_predictions,
    settings_of_run,
)
from neurozoo.plan.products import FIGURES

# Files that need a network, or an archive, and what there is instead.
_OF = {
    "network": (
        r"checkpoint\.npz|genome\.json|frozen/.*|rollout\..*|rollouts/.*|activation\.mp4|loop\.webp|game\.mp4|layer_.*\.mp4|"
        r"landscape\.mp4|robustness\..*|generations\.mp4|test\.json|evaluation\.json|filters/.*|causal\..*|probes\..*|"
        r"sparse_.*|what_if/.*|play\.html|population\.html",
        "archive.html, archive.mp4 or heatmap.png",
    ),
    "archive": (
        r"archive\..*|corrected\.json|heatmap\.png|levels\.parquet",
        "activation.mp4, rollout.npz or result.json",
    ),
}


# Files that need something else, what it is, and which algorithms have it.
_OF_SOME: tuple[tuple[str, str, Callable[[AlgorithmSpec], bool]], ...] = (
    (r"lineage\.parquet", "individuals with parents in its log", lambda spec: spec.chooses == "individual"),
    (r"lineage\.(pdf|svg|png)", "family tree", lambda spec: "lineage.png" in spec.files),
    (r"phases\..*", "phases of play, training and tests", lambda spec: "phases.csv" in spec.files),
    (r"profile\..*", "phases of play, training and tests", lambda spec: "phases.csv" in spec.files),
    (r"genome\.json", "genome", lambda spec: "noise" in spec.needs),
    (r"episodes\.csv", "single games of training in its log", lambda spec: "episodes.csv" in spec.files),
    (r"population.*", "populations to keep", lambda spec: "record_population" in spec.settings.schema()["properties"]),
)
# Files that need the genome of each generation's elite.
_OF_GENOMES = r"generations\.mp4|generations/.*"
# Files of trained runs that imported agents cannot have.
_OF_TRAINING = (
    r"log\.jsonl|train\..*|metrics\.csv|tags/.*|snapshots/.*|generations.*|lineage\..*|phases\..*|profile\..*|"
    r"episodes\.csv|population.*"
)

# Tables and figures over runs, of which runs they are, and who finds these.
_OVER_RUNS: tuple[tuple[str, str, Callable[[Mapping], list[PlannedRun]]], ...] = (
    (r"(tables|figures)/archive.*", "search for levels", runs_with_levels),
    (r"figures/predictions\..*", "search that predicts levels (dsage)", runs_with_predictions),
    (r"figures/temporal_lean\..*", "network that sees several frames at a time", runs_with_lean),
    (r"tables/imported_scores\.csv", "imported agent", imported_runs),
    (r"tables/metrics\..*", "run", planned_runs),
    (rf"tables/(scores|comparison)\.csv|figures/({'|'.join(FIGURES)})\..*", "run with a network", runs_with_network),
)


def runs_of_targets(config: Mapping, targets: Iterable[str]) -> list[PlannedRun] | None:
    """Returns the runs whose files are wanted, or None if anything else is wanted, too, such as a rule."""
    found = [_in_run(config, target) for target in targets]
    runs = dict.fromkeys(run for run, _ in filter(None, found))
    return list(runs) if found and all(found) else None


def check_run_targets(config: Mapping, targets: Iterable[str]) -> None:
    """Checks that the wanted files of runs can be made; those that exist are left alone.

    Raises:
        NeurozooError: The algorithm comes to something else or has no such thing, nor has the game, the network has no
            such picture, no population is kept, or a table, a figure or a classifier would have no runs.
    """
    for target in targets:
        if os.path.exists(target):
            continue
        _check_over_runs(config, target)
        if not (found := _in_run(config, target, {*ALGORITHMS, IMPORTED})):
            continue
        run, file = found
        parts = file.parts
        name = "/".join(parts[2:] if parts[0] == TAGS else parts)
        if run.algo == IMPORTED and re.fullmatch(_OF_TRAINING, str(file)):
            raise NeurozooError(
                f"Imported agents were not trained here, so their runs have no {file}. Ask for activation.mp4, "
                "rollout.npz or evaluation.json, for example."
            )
        _check_result(run, name)
        if parts[0] == TAGS and len(parts) > 2 and ALGORITHMS[run.algo].result == "network":
            _check_tag(config, run, parse_tag(parts[1]))
        if re.fullmatch(_OF_GENOMES, name) and not settings_of_run(config, **asdict(run)).logs_genomes:
            raise NeurozooError(
                f"The log of {run.name} has no genomes of generations, so there is no {name}. Runs of ga, rs and ga_ns "
                "without crossover have them."
            )
        if name.startswith(("evaluation.", "causal.")) and run.model in KERAS_NETWORKS:
            other = "test.json (docs/dqn.md)" if name.startswith("e") else "rollouts/with_NAME.npz (docs/causal.md)"
            raise NeurozooError(
                f"Only networks that the core can run have {name}, and {run.model} is a Keras network. Ask for {other}."
            )
        if name.startswith("causal."):
            check_causal(config, run)
        if name.startswith(("probes.", "rollouts/probes.")):
            check_ram_variables(run.game)
        if (layer := re.fullmatch(r"sparse_(.*)\.(csv|png)", name)) and run.algo != IMPORTED:
            _check_sparse(config, run, layer[1])
        if name == "play.html":
            check_browser(run.name, model=run.model)
        if name.startswith("filters/") and run.algo != IMPORTED:
            _check_picture(config, run, name)
        if re.fullmatch(r"what_if/grid\..*|filters/saliency\..*|sparse_.*", name):
            _check_choice(config, run, name)
        kept = Path(config["pathvars"]["results"], "runs", run.name, "population")
        if name == "population.html" and not kept.exists():
            _check_population(config, run)


def _in_run(config: Mapping, target: str, algos: Collection[str] = ALGORITHMS) -> tuple[PlannedRun, Path] | None:
    """Returns the run of a wanted file, and its path in the folder of this run; None for files of no run."""
    runs = Path(config["pathvars"]["results"]).resolve() / "runs"
    path = Path(target).resolve()
    parts = path.relative_to(runs).parts if path.is_relative_to(runs) else ()
    if len(parts) < 5 or parts[0] not in algos or not is_run_number(parts[3]):
        return None
    return PlannedRun(parts[0], parts[1], parts[2], int(parts[3])), Path(*parts[4:])


def _check_result(run: PlannedRun, name: str) -> None:
    result = "network" if run.algo == IMPORTED else ALGORITHMS[run.algo].result
    (other,) = set(_OF) - {result}
    if re.fullmatch(_OF[other][0], name):
        raise NeurozooError(
            f"{run.algo} comes to {'an archive' if result == 'archive' else 'a network'}, so its runs have no {name}. "
            f"Ask for {_OF[other][1]}, for example."
        )
    for pattern, what, has in () if run.algo == IMPORTED else _OF_SOME:
        if re.fullmatch(pattern, name) and not has(ALGORITHMS[run.algo]):
            able = ", ".join(algo for algo, spec in ALGORITHMS.items() if has(spec))
            raise NeurozooError(f"{run.algo} has no {what}, so its runs have no {name}. These have it: {able}.")
    if name.startswith("robustness.") and run.game != "river_crossing":
        raise NeurozooError(f"{name} is about rivers, so only runs of river_crossing have it, not those of {run.game}.")
    if name == "landscape.mp4" and all(layer.kind != "landscape" for layer in get_architecture(run.model).layers):
        raise NeurozooError(
            f"{name} shows the landscape of a modular agent, and {run.model} is none (docs/river_crossing.md)."
        )


def _check_tag(config: Mapping, run: PlannedRun, tag: Tag) -> None:
    """Checks that a run that is still to be trained can reach a tag, and that its weights there will be known."""
    tag.check_game(run.game, run=run.name)
    folder = Path(config["pathvars"]["results"], "runs", run.name)
    if (folder / "checkpoint.npz").exists() or tag_path(folder, tag.text).exists():
        return
    settings = settings_of_run(config, **asdict(run))
    # The last generation may end far behind the budget. Its weights are the result, and always kept.
    if tag.kind == "frames" and tag.amount > 2 * settings.budget:
        raise NeurozooError(
            f"{run.name} ends after {settings.budget:,} frames, so it will not reach {tag.text}. Ask for an earlier "
            "tag, or make frames larger."
        )
    is_kept = settings.logs_genomes or settings.snapshot_period or tag.text in config["zoo"]["keep_tags"]
    if not is_kept and not (tag.kind == "frames" and tag.amount >= settings.budget):
        raise NeurozooError(
            f"{run.name} would not keep its weights at {tag.text}. Add {tag.text} to zoo.keep_tags before training "
            "(docs/zoo.md)."
        )


def _check_picture(config: Mapping, run: PlannedRun, name: str) -> None:
    there = filter_pictures(config, run, products=PRODUCTS)
    if name in there or re.sub(r"\.csv$", ".png", name) in there:
        return
    kind = re.match(r"filters/[^_.]*", name)
    similar = [file for file in there if kind and file.startswith(kind[0])] or there
    has = f"It has {', '.join(similar)}" if there else "Its observations are vectors, so it has no pictures"
    raise NeurozooError(f"The network {run.model} has no {name} in {run.game}. {has} (docs/filters.md).")


def _check_sparse(config: Mapping, run: PlannedRun, layer: str) -> None:
    layers = get_architecture(run.model).layers
    check_hidden_layer(layer, [each.name for each in layers])
    if any(each.kind == "lstm" for each in layers) or not filter_pictures(config, run, products=["saliency"]):
        raise NeurozooError(
            f"{run.name} has no sparse features: they are those of agents without a memory that see pictures "
            "(docs/causal.md#sparse-features)."
        )


def _check_choice(config: Mapping, run: PlannedRun, name: str) -> None:
    if run.algo == IMPORTED:
        protocol = protocol_of(run.game)
    else:
        protocol = settings_of_run(config, **asdict(run)).game_protocol(run.game)
    if has_continuous_outputs(protocol, output_names(run.game, protocol)):
        raise NeurozooError(
            f"{run.name} has no {name}, which asks why one action is chosen and not another: the outputs in {run.game} "
            "are continuous."
        )


def _check_population(config: Mapping, run: PlannedRun) -> None:
    if not run_settings(config, **asdict(run)).get("record_population"):
        raise NeurozooError(
            f"{run.name} keeps no populations, so there is no population.html. Set record_population: true under the "
            "overrides of its experiment (docs/comparing.md says which runs can keep them)."
        )


def _check_over_runs(config: Mapping, target: str) -> None:
    name = os.path.relpath(target, config["pathvars"]["results"])
    if match := re.fullmatch(r"generators/([^/]+)/.*", name):
        generator_settings(match[1], {})
    if match := re.fullmatch(r"comparisons/([^/]+)/classification\..*", name):
        _check_classes(config, match[1])
    for pattern, what, find_runs in _OVER_RUNS:
        if re.fullmatch(pattern, name) and not find_runs(config):
            raise NeurozooError(f"The configuration plans no {what}, so {name} would be empty. Add an experiment.")


def _check_classes(config: Mapping, game: str) -> None:
    runs, by = runs_of_game(config, game), config["comparisons"]["by"]
    trained = [run for run in runs if run.algo in ALGORITHMS]
    settings = {str(planned_facts(config, **asdict(run))) for run in trained}  # others make other classes
    if len(classes_of(config, game)) < 2 and len(settings) + (len(trained) < len(runs)) < 2:
        raise NeurozooError(
            f"All runs of {game} are of one {by}, so there is nothing to tell apart. Set comparisons.by to another of "
            "algo, model and run, or plan more runs (docs/comparing.md)."
        )
