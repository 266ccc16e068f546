"""The runs that targets belong to; files that a run can never have are refused before it is trained for them."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from neurozoo.agents.zoo_listing import is_run_number
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.spec import AlgorithmSpec
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import KERAS_NETWORKS
from neurozoo.plan.filter_products import PRODUCTS
from neurozoo.plan.planned_runs import PlannedRun, filter_pictures, run_settings

# Files that need a network, or an archive, and what there is instead.
_OF = {
    "network": (
        r"checkpoint\.npz|genome\.json|frozen/.*|rollout\..*|rollouts/.*|activation\.mp4|loop\.webp|game\.mp4|layer_.*\.mp4|"
        r"generations\.mp4|test\.json|evaluation\.json|filters/.*|population\.html",
        "archive.html, archive.mp4 or heatmap.png",
    ),
    "archive": (
        r"archive\..*|corrected\.json|heatmap\.png|levels\.parquet",
        "activation.mp4, rollout.npz or metrics.csv",
    ),
}


# Files that need something of the log, what it is, and which algorithms have it.
_OF_LOGS: tuple[tuple[str, str, Callable[[AlgorithmSpec], bool]], ...] = (
    (r"generations\.mp4|generations/.*", "genomes of generations", lambda spec: spec.logs_genomes),
    (r"lineage\.parquet", "genomes of generations", lambda spec: spec.logs_genomes),
    (r"lineage\.(pdf|svg|png)", "family tree", lambda spec: "lineage.png" in spec.files),
    (r"phases\..*", "phases of play, training and tests", lambda spec: "phases.csv" in spec.files),
    (r"episodes\.csv", "single games of training", lambda spec: "episodes.csv" in spec.files),
)


def runs_of_targets(config: Mapping, targets: Iterable[str]) -> list[PlannedRun] | None:
    """Returns the runs whose files are wanted, or None if anything else is wanted, too.

    Args:
        config: As returned by `check_config`.
        targets: What is wanted: files, or names of rules.
    """
    found = [_in_run(config, target) for target in targets]
    runs = dict.fromkeys(run for run, _ in filter(None, found))
    return list(runs) if found and all(found) else None


def check_run_targets(config: Mapping, targets: Iterable[str]) -> None:
    """Checks that the wanted files of runs can be made.

    Args:
        config: As returned by `check_config`.
        targets: Files that are wanted; those outside of folders of runs, and those that exist, are left alone.

    Raises:
        NeurozooError: The algorithm comes to something else or logs no such thing, the network has no such picture, or
            no population is kept.
    """
    for target in targets:
        if os.path.exists(target) or not (found := _in_run(config, target)):
            continue
        run, file = found
        parts = file.parts
        name = "/".join(parts[2:] if parts[0] == "tags" else parts)
        _check_result(run, name)
        if name == "evaluation.json" and run.model in KERAS_NETWORKS:
            raise NeurozooError(
                f"Only networks that the op can run have an evaluation.json, and {run.model} is a Keras network. "
                "Ask for test.json (docs/dqn.md)."
            )
        if name.startswith("filters/"):
            _check_picture(config, run, name)
        if (
            name == "population.html"
            and not Path(config["pathvars"]["results"], "runs", run.name, "population").exists()
        ):
            _check_population(config, run)


def _in_run(config: Mapping, target: str) -> tuple[PlannedRun, Path] | None:
    """Returns the run of a wanted file, and its path in the folder of this run; None for files of no run."""
    runs = Path(config["pathvars"]["results"]).resolve() / "runs"
    path = Path(target).resolve()
    parts = path.relative_to(runs).parts if path.is_relative_to(runs) else ()
    if len(parts) < 5 or parts[0] not in ALGORITHMS or not is_run_number(parts[3]):
        return None
    return PlannedRun(parts[0], parts[1], parts[2], int(parts[3])), Path(*parts[4:])


def _check_result(run: PlannedRun, name: str) -> None:
    result = ALGORITHMS[run.algo].result
    (other,) = set(_OF) - {result}
    if re.fullmatch(_OF[other][0], name):
        raise NeurozooError(
            f"{run.algo} comes to {'an archive' if result == 'archive' else 'a network'}, so its runs have no {name}. "
            f"Ask for {_OF[other][1]}, for example."
        )
    for pattern, what, has in _OF_LOGS:
        if re.fullmatch(pattern, name) and not has(ALGORITHMS[run.algo]):
            able = ", ".join(algo for algo, spec in ALGORITHMS.items() if has(spec))
            raise NeurozooError(
                f"The log of {run.algo} has no {what}, so its runs have no {name}. These have it: {able}."
            )


def _check_picture(config: Mapping, run: PlannedRun, name: str) -> None:
    there = filter_pictures(config, run, products=PRODUCTS)
    if name in ("filters/lean.csv", *there) or re.sub(r"\.csv$", ".png", name) in there:
        return
    kind = re.match(r"filters/[^_.]*", name)
    similar = [file for file in there if kind and file.startswith(kind[0])] or there
    has = f"It has {', '.join(similar)}" if there else "Its observations are vectors, so it has no pictures"
    raise NeurozooError(f"The network {run.model} has no {name} in {run.game}. {has} (docs/filters.md).")


def _check_population(config: Mapping, run: PlannedRun) -> None:
    settings = run_settings(config, algo=run.algo, game=run.game, model=run.model, run=run.run)
    if not settings.get("record_population"):
        raise NeurozooError(
            f"{run.name} keeps no populations, so there is no population.html. Set record_population: true under the "
            "overrides of its experiment (docs/comparing.md says which runs can keep them)."
        )
