"""Agents that a plan would play differently: said before hours of training, not in the tables afterwards."""

from collections.abc import Mapping

from neurozoo.algorithms.agent_names import algo_name
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.plan.planned_runs import settings_of
from neurozoo.plan.sweeps import members_of
from neurozoo.records.comparability import fact_name, facts_of

Way = tuple[tuple[str, str], ...]  # the facts of how episodes are played, by name


def played_differently(config: Mapping) -> str | None:
    """Returns a sentence about agents of one game whose scores will not be compared.

    Scores are compared only if all facts of how episodes are played are equal (docs/statistics.md).

    Returns:
        The sentence, with the facts that differ and the settings that choose them; None if all can be compared.
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
        if spec.result != "network":
            continue
        for member in members_of(experiment):
            settings = settings_of(spec.name, member)
            for game in experiment["games"]:
                records = settings.records(game)
                del records["settings_record"]
                way = tuple(facts_of(records).items())
                found.setdefault(game, {}).setdefault(way, []).append(spec.name)
    return found


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
