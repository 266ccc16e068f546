"""Checks the meaning of a configuration: names that only the library knows, and parts that must fit together."""

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from neurozoo.agents.tags import parse_tag
from neurozoo.algorithms.registry import ALGORITHMS, unknown_algorithm, unknown_preset, unknown_setting
from neurozoo.algorithms.run_settings import InvalidSettings
from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.environments.game_networks import check_network
from neurozoo.environments.games import check_game
from neurozoo.environments.protocols import get_protocol, has_continuous_outputs, output_names, protocol_of
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files.csv import begins_formula
from neurozoo.genomes.reading import read_genome
from neurozoo.interventions.change import Change
from neurozoo.interventions.intervention import INPUT, Intervention
from neurozoo.networks.catalogue import ARCHITECTURES, get_network
from neurozoo.plan.filter_products import OF_ROLLOUTS, PRODUCTS
from neurozoo.plan.planned_runs import (
    PlannedRun,
    causal_runs,
    check_causal,
    filter_files,
    imported_run,
    imported_runs,
    planned_runs,
    runs_of,
    runs_of_game,
    runs_with_layer,
    runs_with_network,
    settings_of,
)
from neurozoo.plan.sweep_problems import combination_problems, pooling_problems, sweep_problems
from neurozoo.plan.sweeps import count_combinations, members_of
from neurozoo.plan.what_ifs import successor
from neurozoo.records.published_log import PUBLISHED_FIELDS
from neurozoo.validation import explain

MOST_ACTIONS = 18  # of any Atari game; the last layer, and so the parameter vector, grows with them

LONGEST_LABEL = 100  # letters, of which legends and tables have room for some

MOST_RUNS = 1_000_000  # of an experiment; each is planned in memory
_OF_IMPORTS = {
    "generations": "It has no generations.",
    "causal": "Ask for its page by its path, such as results/runs/imported/pong/small/1/causal.html.",
    "filters": "Ask for its pictures by their paths, such as results/runs/imported/pong/small/1/filters/guided.html.",
}


def config_problems(config: Mapping) -> Iterator[str]:
    """Yields what is wrong with a configuration that `check_structure` has completed; one sentence per problem."""
    are_names_right = True
    for problem in _name_problems(config):
        are_names_right = False
        yield problem
    if are_names_right:  # runs can be counted only then
        for find in (
            _world_problems,
            _claim_problems,
            _noise_problems,
            _rollout_problems,
            _shown_problems,
            _generations_problems,
        ):
            yield from find(config)


def _name_problems(config: Mapping) -> Iterator[str]:
    for algo, choice in config["algorithms"].items():
        if algo in ALGORITHMS:
            yield from _choice_problems(("algorithms", algo), algo, choice)
        else:
            yield f"algorithms: {unknown_name('key', algo, ALGORITHMS)}"
    for name, experiment in config["experiments"].items():
        yield from _choice_problems(("experiments", name), experiment["algo"], experiment)
    for name, experiment in config["experiments"].items():
        if experiment["algo"] not in ALGORITHMS:
            continue  # reported already
        spec = ALGORITHMS[experiment["algo"]]
        yield from _complaints(f"experiments.{name}.games", experiment["games"], spec.check_game)
        yield from _complaints(f"experiments.{name}.models", experiment["models"], spec.check_variant)
        runs = experiment["runs"] if isinstance(experiment["runs"], int) else len(experiment["runs"])
        runs *= len(experiment["games"]) * len(experiment["models"]) * count_combinations(experiment)
        if runs > MOST_RUNS:
            yield f"experiments.{name} should have at most {MOST_RUNS:,} runs, but has {runs:,}. Ask for fewer runs."
    for section in ("generations", "filters", "causal"):
        for number, name in enumerate(config[section]["experiments"]):
            if name in config.get("imports", {}):
                yield f"{section}.experiments[{number}]: {name!r} is an import. {_OF_IMPORTS[section]}"
            elif name not in config["experiments"]:
                known = config["experiments"]
                yield f"{section}.experiments[{number}]: {unknown_name('experiment', name, known)}"
    yield from _folder_problems(config)
    yield from _label_problems(config)
    layers = {layer.name for network in ARCHITECTURES.values() for layer in network.layers}
    yield from _unknown_names("filters.layers", config["filters"]["layers"], "layer", layers)
    yield from _unknown_names("causal.layers", config["causal"]["layers"], "layer", {INPUT, *layers})
    for name, entry in config["interventions"].items():
        yield from _unknown_names(f"interventions.{name}.layer", [entry["layer"]], "layer", {INPUT, *layers})
        yield from _complaint(f"interventions.{name}", partial(Intervention.from_config, entry))
    if "grid" in config["what_if"]:
        yield "what_if.grid: this is the name of the grid of all actions. Choose another name."
    for name, entry in config["what_if"].items():
        yield from _complaint(f"what_if.{name}", partial(Change.from_config, entry, config["interventions"]))
        if entry["agent"] is not None:
            yield from _complaint(f"what_if.{name}", partial(successor, entry["agent"]))
    yield from _unknown_names("filters.products", config["filters"]["products"], "product", PRODUCTS)
    for name, games in config["figures"]["learning_curves"]["references"]["files"].items():
        for game in games:
            place = f"figures.learning_curves.references.files.{name}"
            yield from _complaint(place, partial(check_game, game))
    rollout = config["rollout"]
    if rollout["min_steps"] > rollout["max_steps"]:
        yield f"rollout.min_steps should be at most max_steps, {rollout['max_steps']}, but is {rollout['min_steps']}."
    yield from _complaints("test.protocols", config["test"]["protocols"], get_protocol)
    yield from _complaints("zoo.keep_tags", config["zoo"]["keep_tags"], parse_tag)
    yield from _import_problems(config)
    yield from _complaint("distributed", partial(ClusterSettings.of, config["distributed"]))
    yield from _unknown_names("metrics.columns", config["metrics"]["columns"] or (), "field", PUBLISHED_FIELDS)


def _unknown_names(place: str, names: Iterable[str], kind: str, known: Collection[str]) -> Iterator[str]:
    for number, name in enumerate(names):
        if name not in known:
            yield f"{place}[{number}]: {unknown_name(kind, name, known)}"


def _complaints(place: str, names: Iterable[str], check: Callable[[str], object]) -> Iterator[str]:
    for number, name in enumerate(names):
        yield from _complaint(f"{place}[{number}]", partial(check, name))


def _generations_problems(config: Mapping) -> Iterator[str]:
    for number, name in enumerate(config["generations"]["experiments"]):
        experiment = config["experiments"][name]
        if any(not settings_of(experiment["algo"], choice).logs_genomes for choice in members_of(experiment)):
            yield (
                f"generations.experiments[{number}]: the logs of {name} have no genomes of generations. Runs of ga, rs "
                "and ga_ns without crossover have them."
            )


def _label_problems(config: Mapping) -> Iterator[str]:
    for name, experiment in config["experiments"].items():
        label = experiment.get("label", "")
        if label != label.strip() or not label.isprintable() or len(label) > LONGEST_LABEL:
            yield (
                f"experiments.{name}.label should be a line of at most {LONGEST_LABEL} letters, without spaces at its "
                f"ends, but is {label[:60]!r}."
            )
        elif begins_formula(label):
            yield (
                f"experiments.{name}.label should not begin with {label[0]!r}, which spreadsheets take for a formula, "
                f"but is {label!r}. Begin it with a letter."
            )


def _folder_problems(config: Mapping) -> Iterator[str]:
    """Snakemake compares paths as texts, so a folder must be written in one way."""
    for name, folder in config["pathvars"].items():
        inner = folder.removeprefix("<results>/") if name != "results" else folder
        is_normal = folder == os.path.normpath(folder) != "."
        if not is_normal or folder.startswith("~") or re.search(r"[{}<>*?]|, ", inner):
            yield (
                f"pathvars.{name} should be a plain path such as results/mine, without ~, without any of {{}}<>*?, "
                f"without a comma and a space, and without ./ or / at its ends, but is {folder!r}."
            )


def _import_problems(config: Mapping) -> Iterator[str]:
    """What `import_agent` would refuse without reading the genome, and two genomes for one folder."""
    folders: dict[PlannedRun, str] = {}
    for name, entry in config.get("imports", {}).items():
        place = f"imports.{name}"
        if ("file" in entry) == ("genome" in entry):
            yield f"{place} should have either file or genome, but has {'both' if 'file' in entry else 'neither'}."
        problems = _complaint(f"{place}.game", partial(check_game, entry["game"]))
        problems += _complaint(f"{place}.model", partial(get_network, entry["model"]))
        choices = {key: entry[key] for key in ("action_set", "observation", "start_state")}
        find = partial(protocol_of, entry["game"], entry["protocol"], **choices)
        problems = problems or _complaint(place, find)
        if not problems:
            problems = _complaint(f"{place}.model", partial(check_network, entry["game"], entry["model"], find()))
        if (genome := entry.get("genome")) is not None:
            text = genome if isinstance(genome, str) else json.dumps(genome, default=str)
            named = {key: entry[key] for key in ("game", "model", "format")}
            problems = problems or _complaint(f"{place}.genome", partial(read_genome, text, **named))
        yield from problems
        if not problems and (first := folders.setdefault(imported_run(entry), name)) != name:
            yield (
                f"imports.{first} and {place} both make the run {entry['run']} of one game and network. Give them "
                "different values of run."
            )


def _choice_problems(path: tuple[str, str], algo: str, choice: Mapping) -> Iterator[str]:
    place = ".".join(path)
    if algo not in ALGORITHMS:
        yield f"{place}.algo: {unknown_algorithm(algo)}"
        return
    spec = ALGORITHMS[algo]
    if choice["preset"] not in spec.presets:
        yield f"{place}.preset: {unknown_preset(choice['preset'], algo)}"
        return
    if choice.get("sweep") and (problems := list(sweep_problems(place, algo, choice))):
        yield from problems
        return
    if unknown := [name for name in choice["overrides"] if name not in spec.settings.schema()["properties"]]:
        yield from (f"{place}.overrides: {unknown_setting(name, algo)}" for name in unknown)
        return
    try:
        settings_of(algo, choice)
    except InvalidSettings as error:
        for sentence in explain(error.reason, spec.settings.schema(), place=(*path, "overrides")):
            several = " For several values, write it under sweep." if ", but is [" in sentence else ""
            yield f"{sentence}{several}"
        return
    except NeurozooError as error:
        if not choice.get("sweep"):  # with one, only combinations count
            yield f"{place}.overrides: {error}"
    if choice.get("sweep"):
        yield from dict.fromkeys(combination_problems(path, algo, choice))


def _complaint(place: str, check: Callable[[], object]) -> list[str]:
    try:
        check()
    except NeurozooError as error:
        return [f"{place}: {error}"]
    return []


def _world_problems(config: Mapping) -> Iterator[str]:
    """Protocol and behaviour must be those of the game's world; networks must fit the games and the settings."""
    for name, experiment in config["experiments"].items():
        spec, problems = ALGORITHMS[experiment["algo"]], []
        for member in members_of(experiment):
            settings = settings_of(experiment["algo"], member)
            for kind, check in (("games", settings.check_game), ("models", settings.check_model)):
                for number, value in enumerate(experiment[kind]):
                    # The settings of a search through levels are wrong, not the game, whose name is checked already.
                    place = f"experiments.{name}" + ("" if spec.has_levels else f".{kind}[{number}]")
                    problems += _complaint(place, partial(check, value))
            if spec.result == "network" and not problems:
                problems += _unfit_networks(f"experiments.{name}", experiment, settings)
        yield from dict.fromkeys(problems)
        if experiment["sweep"] and not problems:
            yield from pooling_problems(f"experiments.{name}", experiment)


def _unfit_networks(place: str, experiment: Mapping, settings: Any) -> Iterator[str]:
    for game in experiment["games"]:
        check = partial(check_network, game, protocol=settings.game_protocol(game))
        yield from _complaints(f"{place}.models", experiment["models"], check)


def _claim_problems(config: Mapping) -> Iterator[str]:
    """Two experiments may share runs, but only with the same settings."""
    members = {
        (name, number): member
        for name, experiment in config["experiments"].items()
        for number, member in enumerate(members_of(experiment))
    }
    claims: dict[PlannedRun, tuple[str, int]] = {}
    clashes: dict[tuple[tuple[str, int], tuple[str, int]], PlannedRun] = {}
    for key, member in members.items():
        for run in runs_of(member):
            first = claims.setdefault(run, key)
            if first != key:
                clashes.setdefault((first, key), run)
    reported = set()
    for keys, run in clashes.items():
        (one, _), (other, _) = keys
        settings = [asdict(settings_of(run.algo, members[key])) for key in keys]
        different = [key for key in settings[0] if settings[0][key] != settings[1][key]]
        if different and (one, other) not in reported:
            reported.add((one, other))
            yield (
                f"experiments.{one} and experiments.{other} both contain the run {run.name}, but differ in "
                f"{', '.join(different)}. A run has only one folder: give one of the two experiments other run "
                "numbers, such as runs: [101, 102], or write the values of one setting under sweep."
            )


def _noise_problems(config: Mapping) -> Iterator[str]:
    size = config["noise"]["size"]
    in_need = [run for run in planned_runs(config) if "noise" in ALGORITHMS[run.algo].needs]
    models = {run.model for run in (*in_need, *imported_runs(config))}
    needed = {model: get_network(model).layout(MOST_ACTIONS).parameter_count for model in sorted(models)}
    for model, count in needed.items():
        if size <= count:
            yield f"noise.size should be above the {count:,} parameters of network {model!r}, but is {size:,}."


def _rollout_problems(config: Mapping) -> Iterator[str]:
    """Products that cannot be made from the rollouts, and perturbations that a planned game does not allow."""
    rollout = config["rollout"]
    files = [file for _, file in filter_files(config)]
    needed = [name for name, start in OF_ROLLOUTS.items() if any(file.startswith(start) for file in files)]
    reasons = [f"filters.experiments needs {', '.join(needed)}"] if needed else []
    reasons += ["causal.experiments needs pictures"] if causal_runs(config) else []
    if reasons:
        place = f"because {' and '.join(reasons)}"
        if rollout["streamlined"]:
            yield f"rollout.streamlined should be false {place}, which are made from the recorded observations."
        if noise := rollout["parameter_noise"]:
            yield f"rollout.parameter_noise should be 0 {place}, which show the unperturbed agent, but is {noise}."
    if rollout["streamlined"] and config["comparisons"]["games"]:
        yield "rollout.streamlined should be false because comparisons.games compares recorded states."
    for game in dict.fromkeys(run.game for run in (*runs_with_network(config), *imported_runs(config))):
        protocol = protocol_of(game)
        sticky, noise, rules = rollout["sticky_probability"], rollout["action_noise"], config["test"]["action_rules"]
        if sticky is not None and protocol.world != "atari":
            yield f"rollout.sticky_probability should be empty, but is {sticky}: {game!r} has no emulator."
        for key, value, none in (("rollout.action_noise", noise, 0), ("test.action_rules", rules, "[]")):
            if value and has_continuous_outputs(protocol, output_names(game, protocol)):
                yield f"{key} should be {none}, but is {value}: {game!r} has continuous outputs and no actions."


def _shown_problems(config: Mapping) -> Iterator[str]:
    """Movies, comparisons and causal reports of what no planned run has."""
    for run in {run.model: run for run in reversed(causal_runs(config))}.values():  # the first of each network
        yield from _complaint("causal", partial(check_causal, config, run))
    movie, games = config["movie"], config["comparisons"]["games"]
    yield from _complaints("movie.layers", movie["layers"], partial(runs_with_layer, config))
    yield from _complaints("movie.grids", movie["grids"] or (), partial(runs_of_game, config))
    yield from _complaints("comparisons.games", games, partial(runs_of_game, config))
