"""Tries the Gymnasium environments of planned runs: a broken one is found in the plan, not after hours."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from neurozoo.environments.games import PLATFORMER_GAMES, world_of
from neurozoo.errors import NeurozooError
from neurozoo.plan.planned_runs import runs_of, settings_of
from neurozoo.plan.sweeps import members_of
from neurozoo.records.run_result import FILE as RESULT


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
