"""The runs that a configuration plans, and the settings of each.

`config` is always what `neurozoo.plan.configuration.check_config` returned. `**run` stands for the four names of a
`PlannedRun`; functions that take them raise what `settings_of_run` raises.
"""

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.algorithms.agent_names import called, label_with_name
from neurozoo.algorithms.registry import ALGORITHMS, get_algorithm
from neurozoo.algorithms.run_settings import PROTOCOL_CHOICES
from neurozoo.algorithms.settings import fitting_settings, resolve_settings
from neurozoo.environments.game_networks import check_network, is_modular
from neurozoo.environments.gymnasium_games import trust_module_of
from neurozoo.environments.observations import ObservationShape, observation_shape
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.genomes.reading import is_text
from neurozoo.interventions.weights import ablated_layers
from neurozoo.networks.catalogue import KERAS_NETWORKS, get_architecture, get_network
from neurozoo.plan.filter_products import product_files
from neurozoo.plan.sweeps import member_with_run, members_of
from neurozoo.records.comparability import facts_of
from neurozoo.records.run_config import config_of_run


@dataclass(frozen=True)
class PlannedRun:
    """One planned training; its four names are the folders of its results."""

    algo: str  # such as `ga`
    game: str  # ALE rom id such as `ms_pacman`
    model: str  # network such as `large`
    run: int  # number of the repetition, from 1

    @property
    def name(self) -> str:
        """The run as in paths, such as `ga/pong/large/1`."""
        return "/".join(map(str, asdict(self).values()))


def planned_runs(config: Mapping) -> list[PlannedRun]:
    """Lists the runs of all experiments in the order of the file, each once."""
    return list(dict.fromkeys(run for experiment in config["experiments"].values() for run in runs_of(experiment)))


def labels_of_runs(config: Mapping) -> dict[str, str]:
    """Returns what settings are called, by run, such as `ga/frostbite/large/1`.

    That is what their experiments want, after the name that the literature has for them, such as PPO (see
    `AlgorithmSpec.also_called`). Runs without either are left out.
    """
    labels: dict[str, list[str]] = {}
    for experiment in config["experiments"].values():
        for run in runs_of(experiment):
            labels.setdefault(run.name, []).extend(filter(None, [experiment.get("label")]))
    found = {}
    for run in planned_runs(config):
        label = " / ".join(dict.fromkeys(labels[run.name]))
        if ALGORITHMS[run.algo].also_called:
            label = label_with_name(run.algo, asdict(settings_of_run(config, **asdict(run))), label)
        if label:
            found[run.name] = label
    return found


def imported_runs(config: Mapping) -> list[PlannedRun]:
    """Lists the imported genomes as runs, in the order of the file."""
    return [imported_run(entry) for entry in config.get("imports", {}).values()]


def runs_with_network(config: Mapping) -> list[PlannedRun]:
    """Lists the planned runs that result in a network, which can be frozen, recorded and filmed."""
    return [run for run in planned_runs(config) if _has_network(run)]


def runs_with_levels(config: Mapping) -> list[PlannedRun]:
    """Lists the planned runs that result in an archive of levels."""
    return [run for run in planned_runs(config) if ALGORITHMS[run.algo].has_levels]


def runs_with_predictions(config: Mapping) -> list[PlannedRun]:
    """Lists the planned runs that record what was predicted of levels."""
    return [run for run in planned_runs(config) if ALGORITHMS[run.algo].predicts_levels]


def filmed_runs(config: Mapping) -> list[PlannedRun]:
    """Lists the runs whose generations are filmed."""
    wanted = config["generations"]["experiments"]
    return list(dict.fromkeys(run for name in wanted for run in runs_of(config["experiments"][name])))


def causal_runs(config: Mapping) -> list[PlannedRun]:
    """Lists the runs with a causal report: those whose networks weights can ablate."""
    wanted = config["causal"]["experiments"]
    runs = dict.fromkeys(run for name in wanted for run in runs_of(config["experiments"][name]) if _has_network(run))
    able = set(filter(_can_be_ablated, {run.model for run in runs}))
    return [run for run in runs if run.model in able]


def check_causal(config: Mapping, run: PlannedRun) -> None:
    """Checks that a run whose network is a chain of layers can have the causal report that is wanted.

    Raises:
        NeurozooError: Its network lacks a layer under `causal.layers`, or no weights ablate it.
    """
    wanted, layout = config["causal"], get_network(run.model).layout(1)
    try:
        ablated_layers(layout, with_=wanted["with"], layers=wanted["layers"])
    except NeurozooError as error:
        raise NeurozooError(f"{run.name} cannot have causal.html: {error}") from error


def browser_runs(config: Mapping) -> list[PlannedRun]:
    """Lists the planned and imported runs whose agents can play in a browser."""
    return [run for run in (*runs_with_network(config), *imported_runs(config)) if is_modular(run.model)]


def _can_be_ablated(model: str) -> bool:
    try:
        return model not in KERAS_NETWORKS and bool(ablated_layers(get_network(model).layout(1)))
    except NeurozooError:
        return False


def _has_network(run: PlannedRun) -> bool:
    return ALGORITHMS[run.algo].result == "network"


def filter_files(config: Mapping) -> list[tuple[PlannedRun, str]]:
    """Lists the wanted pictures of filters, each as a run and a path in its folder."""
    wanted = config["filters"]
    runs = dict.fromkeys(run for name in wanted["experiments"] for run in runs_of(config["experiments"][name]))
    return [
        (run, file)
        for run in runs
        if _has_network(run)
        for file in filter_pictures(config, run, products=wanted["products"], layers=wanted["layers"])
    ]


def filter_pictures(
    config: Mapping, run: PlannedRun, *, products: Collection[str], layers: Collection[str] = ()
) -> list[str]:
    """Lists the pictures of filters that a run can have; see `product_files`."""
    shape = _observation_of(config, run)
    return product_files(get_architecture(run.model), shape, products=products, layers=layers)


def runs_with_lean(config: Mapping) -> list[PlannedRun]:
    """Lists the planned runs whose networks see several frames at a time."""
    return [run for run in runs_with_network(config) if _observation_of(config, run).stack > 1]


def _observation_of(config: Mapping, run: PlannedRun) -> ObservationShape:
    settings = run_settings(config, **asdict(run))
    choices = {name: settings[setting] for name, setting in PROTOCOL_CHOICES.items()}
    return observation_shape(run.game, protocol_of(run.game, **choices))


def runs_of_game(config: Mapping, game: str) -> list[PlannedRun]:
    """Lists the planned and imported runs that play a game.

    Raises:
        NeurozooError: There are none; the message suggests the most similar planned game.
    """
    runs = [*runs_with_network(config), *imported_runs(config)]
    if chosen := [run for run in runs if run.game == game]:
        return chosen
    if not runs:
        raise NeurozooError(f"No planned run results in a network that plays {game!r}. Plan one, or leave it out.")
    raise unknown_name("planned game", game, {run.game for run in runs})


def runs_with_layer(config: Mapping, layer: str) -> list[PlannedRun]:
    """Lists the planned and imported runs whose network has a layer, such as `conv1`.

    Raises:
        NeurozooError: There are none; the message suggests the most similar layer.
    """
    layers = {
        run: [each.name for each in get_architecture(run.model).layers]
        for run in (*runs_with_network(config), *imported_runs(config))
    }
    if chosen := [run for run, names in layers.items() if layer in names]:
        return chosen
    if not layers:
        raise NeurozooError(f"No planned run results in a network, so none has a layer {layer!r}. Leave it out.")
    known = {name for names in layers.values() for name in names}
    raise unknown_name("layer", layer, known)


def classified_games(config: Mapping) -> list[str]:
    """Lists the compared games in which a classifier has something to tell apart, such as two algorithms."""
    wanted = config["comparisons"]
    return [game for game in wanted["games"] if len(classes_of(config, game)) > 1] if wanted["classify"] else []


def classes_of(config: Mapping, game: str) -> set[Any]:
    """Returns what a classifier tells apart in a game: algorithms, networks or runs.

    PPO and PQN are two algorithms, too, although both are `impala`; see `AlgorithmSpec.also_called`.
    """
    labels = labels_of_runs(config)
    ways = {
        "run": lambda run: run,
        "model": lambda run: run.model,
        "algo": lambda run: called(run.algo, labels.get(run.name, ""))[0],
    }
    return set(map(ways[config["comparisons"]["by"]], runs_of_game(config, game)))


def import_choices(config: Mapping, *, game: str, model: str, run: int | str) -> dict:
    """Finds the imported genome that belongs in a run's folder.

    Returns:
        `source` (the file or the text), `file` (None for a text) and the other arguments of `import_agent`.

    Raises:
        NeurozooError: No import makes this folder.
    """
    wanted = PlannedRun(IMPORTED, game, model, int(run))
    for entry in config.get("imports", {}).values():
        if imported_run(entry) == wanted:
            choices = {key: value for key, value in entry.items() if key not in ("file", "genome")}
            genome = entry.get("genome")
            text = json.dumps(genome) if isinstance(genome, list) else genome
            return {**choices, "file": entry.get("file"), "source": entry.get("file") or text}
    known = ", ".join(f"{r.game}/{r.model}/{r.run}" for r in imported_runs(config)) or "none"
    raise NeurozooError(
        f"No entry under imports makes the run {IMPORTED}/{game}/{model}/{run}; they make: {known}. Add one with its "
        "game, model and run."
    )


def imported_run(entry: Mapping) -> PlannedRun:
    """Returns an entry under `imports` as a run."""
    return PlannedRun(IMPORTED, entry["game"], get_network(entry["model"]).name, entry["run"])


def run_settings(config: Mapping, **run: Any) -> dict:
    """Returns the settings of a run by name."""
    return asdict(settings_of_run(config, **run))


def planned_facts(config: Mapping, **run: Any) -> dict[str, str]:
    """Returns what will make a run comparable with others, by name: what its `config.yaml` would record today."""
    return facts_of(settings_of_run(config, **run).records(run["game"]))


def start_files(config: Mapping, **run: Any) -> list[str]:
    """Returns the files that a run starts from, and for the folder of another run its checkpoint; empty for most."""
    sources = [source for source in settings_of_run(config, **run).start_sources if not is_text(source)]
    return [f"{source.rstrip('/')}/checkpoint.npz" if _is_folder(Path(source)) else source for source in sources]


def _is_folder(path: Path) -> bool:
    """Whether a path names a folder, which need not exist yet."""
    return path.is_dir() or not (path.suffix or path.is_file())


def settings_of_run(config: Mapping, *, algo: str, game: str, model: str, run: int | str) -> Any:
    """Returns the settings of a run: those of its experiment, or else those under `algorithms`.

    Raises:
        NeurozooError: The algorithm, game or network is unknown; the message suggests the most similar name.
    """
    choice = _choice_of_run(config, algo=algo, game=game, model=model, run=run)
    if choice is not config["algorithms"][algo]:
        return settings_of(algo, choice)
    return fitting_settings(algo, game, model, **choice, from_yaml=True)


def check_new_run(config: Mapping, run_dir: str | os.PathLike, **run: Any) -> None:
    """Checks that a run which is in no experiment fits its game and network, before anything is made for it.

    Experiments are checked by `check_config`; a run that has begun has settings of its own.
    """
    choice, (algo, game, model) = _choice_of_run(config, **run), (run[name] for name in ("algo", "game", "model"))
    if choice is not config["algorithms"][algo] or config_of_run(run_dir).exists():
        return
    settings = settings_of_run(config, **run)
    try:
        settings.check_game(game)
        settings.check_model(model)
        if ALGORITHMS[algo].result == "network":
            check_network(game, model, settings.game_protocol(game))
    except NeurozooError as error:
        own = f" It is in no experiment, so it has the overrides of algorithms.{algo}." if choice["overrides"] else ""
        raise NeurozooError(f"{algo}/{game}/{model}/{run['run']} cannot be trained. {error}{own}") from error


def _choice_of_run(config: Mapping, *, algo: str, game: str, model: str, run: int | str) -> Mapping[str, Any]:
    """Returns the experiment of a run, or else the entry under `algorithms`; both have `preset` and `overrides`.

    Of an experiment with a sweep, it is the member of the run's combination.
    """
    spec = get_algorithm(algo)
    if (name := spec.check_variant(model)) != model:  # published names work only in the file: one folder for each run
        raise NeurozooError(f"{model!r} is the published name of {name!r}; in a path, write {name}.")
    trust_module_of(game)  # paths of runs come from the configuration or from Snakemake's command line
    wanted = PlannedRun(algo, spec.check_game(game), model, int(run))
    for experiment in config["experiments"].values():
        member = member_with_run(experiment, wanted.run)
        if member is not None and _contains(member, wanted):
            return member
    return config["algorithms"][algo]


def runs_of(experiment: Mapping) -> list[PlannedRun]:
    """Lists the runs of one experiment, with all combinations of its sweep."""
    given = [member["runs"] for member in members_of(experiment)]
    numbers = [number for runs in given for number in (range(1, runs + 1) if isinstance(runs, int) else runs)]
    check_variant = get_algorithm(experiment["algo"]).check_variant
    return [
        PlannedRun(experiment["algo"], game, check_variant(model), number)
        for game in experiment["games"]
        for model in experiment["models"]
        for number in numbers
    ]


def _contains(experiment: Mapping, run: PlannedRun) -> bool:
    """Returns `run in runs_of(experiment)`, in a time that does not grow with the number of runs."""
    runs = experiment["runs"]
    return (
        run.algo == experiment["algo"]
        and run.game in experiment["games"]
        and (1 <= run.run <= runs if isinstance(runs, int) else run.run in runs)
        and run.model in [ALGORITHMS[run.algo].check_variant(model) for model in experiment["models"]]
    )


def settings_of(algo: str, choice: Mapping) -> Any:
    """Returns the settings of an experiment or of an entry under `algorithms`, whose sweep does not count."""
    return resolve_settings(algo, preset=choice["preset"], overrides=choice["overrides"], from_yaml=True)
