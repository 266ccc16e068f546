"""Names of algorithms and agents as people read them: in figures, tables, pages and movies."""

from collections.abc import Mapping

from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.algorithms.registry import ALGORITHMS


def algo_name(algo: str) -> str:
    """Formats the name of an algorithm: `NSRA-ES` for `nsra_es`; searches for levels have their titles."""
    if algo == IMPORTED:
        return "Imported"
    if algo in ALGORITHMS and ALGORITHMS[algo].has_levels:
        return ALGORITHMS[algo].title
    return algo.replace("_", "-").upper()


def called(algo: str, label: str) -> tuple[str, str]:
    """Splits a label into the name of the algorithm and the rest: a run of `impala` labelled `PPO, slow` is called PPO.

    A label may begin with a name of `AlgorithmSpec.also_called`. The rest is empty if it says nothing else.
    """
    names = ALGORITHMS[algo].also_called if algo in ALGORITHMS else {}
    labels = label.split(" / ")  # of several experiments with equal settings
    name = next((first for each in labels if (first := each.partition(", ")[0]) in names), None)
    if name is None:
        return algo_name(algo), label
    rests = [each.removeprefix(name).removeprefix(", ") if each.partition(", ")[0] == name else each for each in labels]
    return name, " / ".join(dict.fromkeys(filter(None, rests)))


def label_with_name(algo: str, settings: Mapping[str, object], label: str = "") -> str:
    """Begins a label with what the literature calls the settings: `PPO, slow`; see `called`.

    Settings are values by name, or their texts in a record; nothing if they are unknown.
    """
    names = ALGORITHMS[algo].also_called if algo in ALGORITHMS else {}
    fitting = (name for name, choices in names.items() if all(settings.get(key) == choices[key] for key in choices))
    name = next(fitting, "")
    return ", ".join(filter(None, [name, called(algo, label)[1] if name else label]))


def agent_name(algo: str, model: str, label: str = "", *more: str) -> str:
    """Formats an algorithm with its network, and with what else tells it from others: `GA, large, uber2018`."""
    name, label = called(algo, label)
    return ", ".join(filter(None, [name, model.replace("_", " "), label, *more]))
