"""What a plan warns of before hours of training: packages, environments, and scores that will not be compared."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from neurozoo.algorithms.agent_names import algo_name
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.environments.games import PLATFORMER_GAMES, world_of
from neurozoo.errors import NeurozooError
from neurozoo.plan.planned_runs import planned_runs, runs_of, settings_of
from neurozoo.plan.run_targets import runs_of_targets
from neurozoo.plan.sweeps import members_of
from neurozoo.records.comparability import fact_name, facts_of
from neurozoo.records.run_config import config_of_run
from neurozoo.records.run_result import FILE as RESULT

# A module of each group of packages that only some users need.
MODULES = {"cluster": "dask_jobqueue", "compare": "plotly", "export": "tf2onnx", "levels": "ribs"}

Way = tuple[tuple[str, str], ...]  # the facts of how episodes are played, by name


def missing_packages(config: Mapping) -> str | None:
    """Returns a sentence about packages that a configuration's runs need, but that are not installed here, if any."""
    needed = {extra for run in planned_runs(config) for extra in ALGORITHMS[run.algo].extras}
    if config["distributed"]:
        needed.add("cluster")
    if "onnx" in config["freeze"]["forms"]:
        needed.add("export")
    missing = sorted(extra for extra in needed if find_spec(MODULES[extra]) is None)
    if not missing:
        return None
    extras = f'"{" ".join(missing)}"' if len(missing) > 1 else missing[0]
    modules = " and ".join(MODULES[extra] for extra in missing)
    return (
        f"This configuration needs packages that are not installed here ({modules}); without them, jobs will fail. "
        f"Run once: make setup EXTRAS={extras}"
    )


def computed_by_keras(config: Mapping) -> Iterator[str]:
    """Yields a sentence for each network that Keras computes although its runs chose the core."""
    said = (
        settings_of(experiment["algo"], member).about_keras(model)
        for experiment in config["experiments"].values()
        for member in members_of(experiment)
        for model in experiment["models"]
    )
    yield from filter(None, dict.fromkeys(said))


def runs_besides(config: Mapping, targets: Iterable[str]) -> Iterator[str]:
    """Yields a sentence for each wanted run that is not planned, although an experiment has others of its kind."""
    planned = planned_runs(config)
    kinds = {replace(run, run=0) for run in planned}
    wanted = dict.fromkeys(run for target in targets for run in runs_of_targets(config, [target]) or ())
    for run in wanted:
        folder = Path(config["pathvars"]["results"], "runs", run.name)
        if replace(run, run=0) in kinds and run not in planned and not config_of_run(folder).exists():
            yield (
                f"{run.name} is in no experiment, so it will have the settings under algorithms.{run.algo}, not those "
                "of the other runs of its network. To train it like them, raise runs of their experiment."
            )


def try_environments(config: Mapping) -> Iterator[str]:
    """Plays the first step of each Gymnasium environment whose runs are not finished.

    The platform game is not tried: the native core plays it, and may not be built yet.

    Yields:
        A sentence for each environment whose runs cannot be repeated.

    Raises:
        NeurozooError: An environment raises an error, or gives something else than its spaces and Gymnasium demand.
    """
    tried: set[str] = set()
    results = Path(config["pathvars"]["results"])
    for name, experiment in config["experiments"].items():
        unfinished = _unfinished_games(experiment, results)
        for number, game in enumerate(experiment["games"]):
            if game in tried or game not in unfinished:
                continue
            from neurozoo.environments.gymnasium_world import try_environment  # plans of other games need no Gymnasium

            tried.add(game)
            protocol = settings_of(experiment["algo"], members_of(experiment)[0]).game_protocol(game)
            try:
                sentence = try_environment(game, protocol)
            except NeurozooError as error:
                raise NeurozooError(f"experiments.{name}.games[{number}]: {error}") from error
            if sentence:
                yield sentence


def _unfinished_games(experiment: Mapping, results: Path) -> set[str]:
    """Returns the Gymnasium environments of an experiment that have a run without a result."""
    games = {game for game in experiment["games"] if world_of(game) == "gymnasium"}.difference(PLATFORMER_GAMES)
    runs = runs_of({**experiment, "games": sorted(games)}) if games else []
    return {run.game for run in runs if not (results / "runs" / run.name / RESULT).exists()}


def played_differently(config: Mapping) -> str | None:
    """Returns a sentence about agents of one game whose scores will not be compared, if there are any.

    Scores are compared only if all facts of how episodes are played are equal (docs/statistics.md). The sentence has
    the facts that differ and the settings that choose them.
    """
    games: list[str] = []
    algos: dict[str, None] = {}  # in the order of the file
    differing: dict[str, None] = {}
    for game, ways in _ways(config).items():
        facts = [dict(way) for way in ways]
        if len(facts) > 1:
            games.append(game)
            algos |= dict.fromkeys(algo for known in ways.values() for algo in known)
            differing |= {name: None for each in facts for name in each if len({f.get(name) for f in facts}) > 1}
    if not games:
        return None
    names = _listed([algo_name(algo) for algo in algos])
    who = names if len(algos) > 1 else f"runs of {names}"
    where = f"{len(games)} games" if len(games) > 3 else _listed(games)
    return (
        f"In {where}, {who} play differently, so not all scores will be compared: "
        f"{', '.join(fact_name(name) for name in differing)}. To compare them, set protocol, action_set, test_cutoff, "
        "test_epsilon and test_actions alike (docs/statistics.md)."
    )


def _ways(config: Mapping) -> dict[str, dict[Way, list[str]]]:
    """Returns which algorithms play a game in the same way, by game and way."""
    found: dict[str, dict[Way, list[str]]] = {}
    for experiment in config["experiments"].values():
        spec = ALGORITHMS[experiment["algo"]]
        for member in members_of(experiment) if spec.result == "network" else ():
            settings = settings_of(spec.name, member)
            for game in experiment["games"]:
                records = settings.records(game)
                del records["settings_record"]
                way = tuple(facts_of(records).items())
                found.setdefault(game, {}).setdefault(way, []).append(spec.name)
    return found


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
