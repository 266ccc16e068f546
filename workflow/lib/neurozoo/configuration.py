"""From the words in a configuration file to a list of runs, and from a slip in it to one clear sentence.

This module takes dictionaries; who reads which file is the workflow's business. TensorFlow is not imported, so that a
dry run stays quick.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from neurozoo.algorithms.run_settings import PROTOCOL_CHOICES
from neurozoo.algorithms.settings import PRESETS, WITH_LINEAGE, resolve_settings
from neurozoo.architectures import NETWORKS, get_network
from neurozoo.clusters.dask_settings import ClusterSettings
from neurozoo.errors import NeurozooError, nearest, unknown_name
from neurozoo.filters.products import OF_ROLLOUTS, PRODUCTS, product_files
from neurozoo.games import (
    ObservationShape,
    check_behaviour,
    check_engine,
    check_game,
    get_protocol,
    has_continuous_outputs,
    observation_shape,
    output_names,
    protocol_of,
)
from neurozoo.tabular import PUBLISHED_FIELDS
from neurozoo.tags import parse_tag

IMPORTED = "imported"  # in the place of an algorithm: genomes from elsewhere
MOST_ACTIONS = 18  # of any Atari game; the last layer, and so the parameter vector, grows with them

TYPE_NAMES = {
    "object": "a mapping of keys to values",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}


@dataclass(frozen=True)
class PlannedRun:
    """One training that an experiment asks for; its four names are the folders of its results.

    Attributes:
        algo: Algorithm such as `ga`.
        game: ALE rom id such as `ms_pacman`.
        model: Network such as `large`.
        run: Number of the repetition, from 1.
    """

    algo: str
    game: str
    model: str
    run: int


def check_config(config: Mapping, schema: Mapping, *, source: str = "The configuration") -> dict:
    """Finds every mistake before any work starts, and fills in what was left out.

    Args:
        config: What the user wrote.
        schema: JSON schema (2020-12) with descriptions and defaults, see `workflow/schemas/config.schema.yaml`.
        source: What to call the configuration in an error, such as its file name.

    Returns:
        A copy with the schema's defaults; whole numbers that were written as floats (6.0e+9) are integers.

    Raises:
        NeurozooError: Lists all problems, one per line: the place, such as `experiments.demo.games[1]`, what came, what
            is allowed and the nearest name. Names of games, networks and settings are looked at once the structure
            is right.
    """
    problems = _structure_problems(config, schema)
    if not problems:
        config = _filled(config, schema, schema)
        problems = list(_meaning_problems(config))
    if problems:
        count = "one problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise NeurozooError("\n".join([f"{source} has {count}:", *(f"  {line}" for line in problems)]))
    return config


def planned_runs(config: Mapping) -> list[PlannedRun]:
    """Lists the runs of all experiments in the order of the file, each once.

    Args:
        config: As returned by `check_config`.
    """
    return list(
        dict.fromkeys(run for experiment in config["experiments"].values() for run in _runs_of(experiment)),
    )


def imported_runs(config: Mapping) -> list[PlannedRun]:
    """Lists the genomes from elsewhere as runs, in the order of the file.

    Args:
        config: As returned by `check_config`.
    """
    return [_imported_run(entry) for entry in config.get("imports", {}).values()]


def runs_with_lineage(config: Mapping) -> list[PlannedRun]:
    """Lists the planned runs whose individuals descend from each other.

    Args:
        config: As returned by `check_config`.
    """
    return [run for run in planned_runs(config) if run.algo in WITH_LINEAGE]


def runs_with_phases(config: Mapping) -> list[PlannedRun]:
    """Lists the planned runs that learn in epochs, between which they are tested.

    Args:
        config: As returned by `check_config`.
    """
    return [run for run in planned_runs(config) if "epoch_steps" in run_settings(config, **asdict(run))]


def filmed_runs(config: Mapping) -> list[PlannedRun]:
    """Lists the runs whose generations are filmed.

    Args:
        config: As returned by `check_config`.
    """
    wanted = config["generations"]["experiments"]
    return list(dict.fromkeys(run for name in wanted for run in _runs_of(config["experiments"][name])))


def filter_files(config: Mapping) -> list[tuple[PlannedRun, str]]:
    """Lists the pictures of filters that are wanted, each as a run and a path in its folder.

    Args:
        config: As returned by `check_config`.
    """
    wanted = config["filters"]
    runs = dict.fromkeys(run for name in wanted["experiments"] for run in _runs_of(config["experiments"][name]))
    return [
        (run, file)
        for run in runs
        for file in product_files(
            get_network(run.model), _seen_by(config, run), products=wanted["products"], layers=wanted["layers"]
        )
    ]


def runs_with_lean(config: Mapping) -> list[PlannedRun]:
    """Lists the planned runs that see several frames at a time.

    Args:
        config: As returned by `check_config`.
    """
    return [run for run in planned_runs(config) if _seen_by(config, run).stack > 1]


def _seen_by(config: Mapping, run: PlannedRun) -> ObservationShape:
    settings = run_settings(config, **asdict(run))
    choices = {name: settings[setting] for name, setting in PROTOCOL_CHOICES.items()}
    return observation_shape(run.game, protocol_of(run.game, **choices))


def runs_of_game(config: Mapping, game: str) -> list[PlannedRun]:
    """Lists the planned and imported runs that play a game.

    Args:
        config: As returned by `check_config`.
        game: Game such as `frostbite`.

    Raises:
        NeurozooError: There are none; proposes the nearest game that is played.
    """
    runs = [*planned_runs(config), *imported_runs(config)]
    if chosen := [run for run in runs if run.game == game]:
        return chosen
    raise unknown_name("planned game", game, {run.game for run in runs})


def runs_with_layer(config: Mapping, layer: str) -> list[PlannedRun]:
    """Lists the planned and imported runs whose network has a layer.

    Args:
        config: As returned by `check_config`.
        layer: Name of the layer, such as `conv1`.

    Raises:
        NeurozooError: There are none; proposes the nearest layer.
    """
    layers = {
        run: [each.name for each in get_network(run.model).layers]
        for run in (*planned_runs(config), *imported_runs(config))
    }
    if chosen := [run for run, names in layers.items() if layer in names]:
        return chosen
    raise unknown_name("layer of the planned networks", layer, {name for names in layers.values() for name in names})


def classified_games(config: Mapping) -> list[str]:
    """Lists the compared games in which a classifier has something to tell apart, such as two algorithms.

    Args:
        config: As returned by `check_config`.
    """
    wanted = config["comparisons"]

    def classes(game: str) -> set:
        runs = runs_of_game(config, game)
        return set(runs) if wanted["by"] == "run" else {getattr(run, wanted["by"]) for run in runs}

    return [game for game in wanted["games"] if len(classes(game)) > 1] if wanted["classify"] else []


def import_choices(config: Mapping, *, game: str, model: str, run: int | str) -> dict:
    """Finds the genome that a folder of imported runs stands for.

    Args:
        config: As returned by `check_config`.
        game: Game such as `frostbite`.
        model: Network such as `large`.
        run: Number of the run.

    Returns:
        `source`, the file or the text, `file` (None for a text) and the other arguments of `import_genome`.

    Raises:
        NeurozooError: No import makes this folder.
    """
    wanted = PlannedRun(IMPORTED, game, model, int(run))
    for entry in config.get("imports", {}).values():
        if _imported_run(entry) == wanted:
            choices = {key: value for key, value in entry.items() if key not in ("file", "genome")}
            genome = entry.get("genome")
            text = json.dumps(genome) if isinstance(genome, list) else genome
            return {**choices, "file": entry.get("file"), "source": entry.get("file") or text}
    known = ", ".join(f"{r.game}/{r.model}/{r.run}" for r in imported_runs(config)) or "none"
    raise NeurozooError(
        f"No entry under imports makes the run {IMPORTED}/{game}/{model}/{run}; they make: {known}. Add one with its "
        "game, model and run."
    )


def _imported_run(entry: Mapping) -> PlannedRun:
    return PlannedRun(IMPORTED, entry["game"], get_network(entry["model"]).name, entry["run"])


def run_settings(config: Mapping, *, algo: str, game: str, model: str, run: int | str) -> dict:
    """Finds the settings of one run: those of its experiment, or else what `algorithms` says for all other runs.

    Args:
        config: As returned by `check_config`.
        algo: Algorithm such as `ga`.
        game: Game such as `frostbite`.
        model: Network such as `large`.
        run: Number of the repetition.

    Returns:
        All settings of the algorithm by name.

    Raises:
        NeurozooError: An unknown algorithm, game or network; proposes the nearest name.
    """
    if algo not in PRESETS:
        raise unknown_name("algorithm", algo, PRESETS)
    if model not in NETWORKS:  # published names such as LargeModel are for the file only: one run, one folder
        raise unknown_name("network", model, NETWORKS)
    wanted = PlannedRun(algo, check_game(game), model, int(run))
    for experiment in config["experiments"].values():
        if _asks_for(experiment, wanted):
            return _settings_of(experiment["algo"], experiment)
    return _settings_of(algo, config["algorithms"][algo])


def _runs_of(experiment: Mapping) -> list[PlannedRun]:
    runs = experiment["runs"]
    return [
        PlannedRun(experiment["algo"], game, get_network(model).name, run)
        for game in experiment["games"]
        for model in experiment["models"]
        for run in (range(1, runs + 1) if isinstance(runs, int) else runs)
    ]


def _asks_for(experiment: Mapping, run: PlannedRun) -> bool:
    """Tells the same as `run in _runs_of(experiment)`, in a time that does not grow with the number of its runs."""
    runs = experiment["runs"]
    return (
        run.algo == experiment["algo"]
        and run.game in experiment["games"]
        and (1 <= run.run <= runs if isinstance(runs, int) else run.run in runs)
        and run.model in [get_network(model).name for model in experiment["models"]]
    )


def _settings_of(algo: str, choice: Mapping) -> dict:
    return asdict(resolve_settings(algo, preset=choice["preset"], overrides=choice["overrides"]))


# ---- structure: what the schema says


def _structure_problems(config: Mapping, schema: Mapping) -> list[str]:
    errors = Draft202012Validator(schema).iter_errors(config)
    ordered = sorted(errors, key=lambda error: [str(part) for part in error.absolute_path])
    return list(dict.fromkeys(line for error in ordered for line in _sentences(error)))


def _sentences(error: ValidationError) -> Iterator[str]:
    """Words one of jsonschema's errors for people who have never seen a schema."""
    place, value, rule = _place(error.absolute_path), error.instance, error.validator_value
    prefix = f"{place}: " if place else ""
    match error.validator:
        case "additionalProperties":
            allowed = error.schema.get("properties", {})
            for key in value:
                if key not in allowed:
                    yield f"{prefix}{unknown_name('key', key, allowed)}"
        case "required":
            for key in rule:
                if key not in value:
                    about = error.schema.get("properties", {}).get(key, {}).get("description", "")
                    yield f"{prefix}the key {key!r} is missing. {about}".rstrip()
        case "enum":
            guess = nearest(str(value), map(str, rule))
            hint = f"; did you mean {guess!r}?" if guess else "."
            yield f"{prefix}{value!r} is not allowed{hint} Allowed: {', '.join(map(str, rule))}."
        case "type":
            kinds = [rule] if isinstance(rule, str) else rule
            expected = " or ".join(TYPE_NAMES[kind] for kind in kinds)
            yield f"{place or 'The file'} should be {expected}, but is {_shown(value)}.{_number_hint(value, kinds)}"
        case "pattern" if "propertyNames" in error.schema_path:
            yield f"{prefix}the name {value!r} should consist of letters, digits, '_' and '-' only."
        case "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum":
            bound = {
                "minimum": "at least",
                "exclusiveMinimum": "above",
                "maximum": "at most",
                "exclusiveMaximum": "below",
            }
            yield f"{place} should be {bound[error.validator]} {rule}, but is {value!r}."
        case "minItems" | "minProperties":
            yield f"{place} should have at least {rule} entry, but is empty."
        case "uniqueItems":
            yield f"{place} should name everything once, but is {value!r}."
        case "pattern":
            yield f"{place} should match {rule}, but is {value!r}."
        case _:
            yield f"{prefix}{error.message}"


def _place(path: Iterator) -> str:
    """Writes a path as in `experiments.demo.games[1]`; the top of the file is the empty text."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _shown(value: object) -> str:
    if value is None:
        return "empty"
    text = repr(dict(value) if isinstance(value, Mapping) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _number_hint(value: object, kinds: list[str]) -> str:
    """YAML 1.1 takes 6e9 for text, which nobody expects."""
    if isinstance(value, str) and {"integer", "number"} & set(kinds):
        try:
            number = float(value)
        except ValueError:
            return ""
        if math.isfinite(number):
            return f" YAML reads {value} as text; write {f'{int(number):_}' if number.is_integer() else number}."
    return ""


def _filled(value: object, schema: Mapping, root: Mapping) -> object:
    """Puts the defaults in place, all the way down; what comes back shares no mapping or list with what came."""
    if "$ref" in schema:
        schema = {**root["$defs"][schema["$ref"].removeprefix("#/$defs/")], **schema}
    if isinstance(value, Mapping):
        known = dict(schema.get("properties", {}))
        for part in schema.get("allOf", ()):
            if Draft202012Validator(part["if"]).is_valid(value):
                known |= {key: {**known[key], **more} for key, more in part["then"]["properties"].items()}
        others = schema.get("additionalProperties")
        value = dict(value)
        for key, part in known.items():
            if key not in value and "default" in part:
                value[key] = part["default"]
        for key in value:
            part = known.get(key, others)
            if isinstance(part, Mapping):
                value[key] = _filled(value[key], part, root)
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        value = [_filled(item, schema["items"], root) for item in value]
    elif isinstance(value, float) and "integer" in schema.get("type", ()) and value.is_integer():
        value = int(value)
    return value


# ---- meaning: what only the library knows


def _meaning_problems(config: Mapping) -> Iterator[str]:
    named = [(f"algorithms.{algo}", algo, choice) for algo, choice in config["algorithms"].items()]
    named += [(f"experiments.{name}", e["algo"], e) for name, e in config["experiments"].items()]
    problems = [problem for place, algo, choice in named for problem in _choice_problems(place, algo, choice)]
    for name, experiment in config["experiments"].items():
        for kind, check in (("games", check_game), ("models", get_network)):
            for number, value in enumerate(experiment[kind]):
                problems += _complaint(f"experiments.{name}.{kind}[{number}]", lambda c=check, v=value: c(v))
    for section in ("generations", "filters"):
        for number, name in enumerate(config[section]["experiments"]):
            if name not in config["experiments"]:
                known = config["experiments"]
                problems.append(f"{section}.experiments[{number}]: {unknown_name('experiment', name, known)}")
    layers = {layer.name for network in NETWORKS.values() for layer in network.layers}
    for key, kind, known in (("layers", "layer", layers), ("products", "product", PRODUCTS)):
        for number, name in enumerate(config["filters"][key]):
            if name not in known:
                problems.append(f"filters.{key}[{number}]: {unknown_name(kind, name, known)}")
    for name, games in config["figures"]["learning_curves"]["references"]["files"].items():
        for game in games:
            place = f"figures.learning_curves.references.files.{name}"
            problems += _complaint(place, lambda g=game: check_game(g))
    rollout = config["rollout"]
    if rollout["min_steps"] > rollout["max_steps"]:
        problems.append(
            f"rollout.min_steps should be at most max_steps, {rollout['max_steps']}, but is {rollout['min_steps']}."
        )
    for number, name in enumerate(config["test"]["protocols"]):
        problems += _complaint(f"test.protocols[{number}]", lambda n=name: get_protocol(n))
    for number, tag in enumerate(config["zoo"]["keep_tags"]):
        problems += _complaint(f"zoo.keep_tags[{number}]", lambda t=tag: parse_tag(t))
    problems += _import_problems(config)
    problems += _complaint("distributed", lambda: ClusterSettings.of(config["distributed"]))
    for number, field in enumerate(config["metrics"]["columns"] or ()):
        if field not in PUBLISHED_FIELDS:
            problems.append(f"metrics.columns[{number}]: {unknown_name('field', field, PUBLISHED_FIELDS)}")
    # Runs can be counted only once all names are right.
    yield from problems or [
        *_world_problems(config),
        *_claim_problems(config),
        *_noise_problems(config),
        *_rollout_problems(config),
        *_movie_problems(config),
        *_comparison_problems(config),
    ]


def _import_problems(config: Mapping) -> Iterator[str]:
    """What `import_genome` would refuse without reading the genome, and two genomes for one folder."""
    folders: dict[PlannedRun, str] = {}
    for name, entry in config.get("imports", {}).items():
        place = f"imports.{name}"
        if ("file" in entry) == ("genome" in entry):
            yield f"{place} should have either file or genome, but has {'both' if 'file' in entry else 'neither'}."
        slips = _complaint(f"{place}.game", lambda e=entry: check_game(e["game"]))
        slips += _complaint(f"{place}.model", lambda e=entry: get_network(e["model"]))
        choices = {key: entry[key] for key in ("action_set", "observation", "start_state")}
        yield from slips or _complaint(place, lambda e=entry, c=choices: protocol_of(e["game"], e["protocol"], **c))
        if not slips and (first := folders.setdefault(_imported_run(entry), name)) != name:
            yield f"imports.{first} and {place} both make the run {entry['run']} of one game and network: number them."


def _choice_problems(place: str, algo: str, choice: Mapping) -> Iterator[str]:
    if algo not in PRESETS:
        yield f"{place}.algo: {unknown_name('algorithm', algo, PRESETS)}"
    elif choice["preset"] not in PRESETS[algo]:
        yield f"{place}.preset: {unknown_name(f'preset of {algo}', choice['preset'], PRESETS[algo])}"
    else:
        yield from _complaint(f"{place}.overrides", lambda: _settings_of(algo, choice))


def _complaint(place: str, check: Callable[[], object]) -> list[str]:
    try:
        check()
    except NeurozooError as error:
        return [f"{place}: {error}"]
    return []


def _world_problems(config: Mapping) -> Iterator[str]:
    """A protocol and a behaviour have to be those of the game's world."""
    for name, experiment in config["experiments"].items():
        settings = _settings_of(experiment["algo"], experiment)
        for number, game in enumerate(experiment["games"]):
            yield from _complaint(f"experiments.{name}.games[{number}]", lambda g=game, s=settings: _check_world(g, s))


def _check_world(game: str, settings: Mapping) -> None:
    protocol = protocol_of(game, **{name: settings[setting] for name, setting in PROTOCOL_CHOICES.items()})
    check_engine(game, protocol, settings["engine"])
    check_behaviour(game, settings.get("behaviour") or "none")


def _claim_problems(config: Mapping) -> Iterator[str]:
    """Two experiments may share runs, but then they have to mean the same."""
    claims: dict[PlannedRun, str] = {}
    clashes: dict[tuple[str, str], PlannedRun] = {}
    for name, experiment in config["experiments"].items():
        for run in _runs_of(experiment):
            first = claims.setdefault(run, name)
            if first != name:
                clashes.setdefault((first, name), run)
    for (first, second), run in clashes.items():
        settings = [_settings_of(run.algo, config["experiments"][name]) for name in (first, second)]
        different = [key for key in settings[0] if settings[0][key] != settings[1][key]]
        if different:
            name = f"{run.algo}/{run.game}/{run.model}/{run.run}"
            yield (
                f"experiments.{first} and experiments.{second} both ask for {name}, but with another "
                f"{', '.join(different)}. A run has one folder: give one of the two other run numbers, "
                "such as runs: [101, 102]."
            )


def _noise_problems(config: Mapping) -> Iterator[str]:
    size = config["noise"]["size"]
    models = {run.model for run in (*planned_runs(config), *imported_runs(config))}
    needed = {model: get_network(model).layout(MOST_ACTIONS).parameter_count for model in sorted(models)}
    for model, count in needed.items():
        if size <= count:
            yield f"noise.size should be above the {count:,} parameters of network {model!r}, but is {size:,}."


def _rollout_problems(config: Mapping) -> Iterator[str]:
    """What is to be made of rollouts that will not hold it, and disturbances that a planned game does not know."""
    rollout = config["rollout"]
    files = [file for _, file in filter_files(config)]
    if asked := [name for name, start in OF_ROLLOUTS.items() if any(file.startswith(start) for file in files)]:
        place = f"where filters.experiments asks for {', '.join(asked)}"
        if rollout["streamlined"]:
            yield f"rollout.streamlined should be false {place}, which are made of the recorded observations."
        if noise := rollout["parameter_noise"]:
            yield f"rollout.parameter_noise should be 0 {place}, which show the agent as it is, but is {noise}."
    if rollout["streamlined"] and config["comparisons"]["games"]:
        yield "rollout.streamlined should be false where comparisons.games names games, whose states are compared."
    for game in dict.fromkeys(run.game for run in (*planned_runs(config), *imported_runs(config))):
        protocol = protocol_of(game)
        sticky, noise = rollout["sticky_probability"], rollout["action_noise"]
        if sticky is not None and protocol.world != "atari":
            yield f"rollout.sticky_probability should be empty, but is {sticky}: {game!r} has no emulator."
        if noise and has_continuous_outputs(protocol, output_names(game, protocol)):
            yield f"rollout.action_noise should be 0, but is {noise}: {game!r} obeys all outputs and has no actions."


def _movie_problems(config: Mapping) -> Iterator[str]:
    for key, check in (("layers", runs_with_layer), ("grids", runs_of_game)):
        for number, name in enumerate(config["movie"][key]):
            yield from _complaint(f"movie.{key}[{number}]", lambda c=check, n=name: c(config, n))


def _comparison_problems(config: Mapping) -> Iterator[str]:
    for number, game in enumerate(config["comparisons"]["games"]):
        yield from _complaint(f"comparisons.games[{number}]", lambda g=game: runs_of_game(config, g))
