"""Names of algorithms and agents as people read them: in figures, tables, pages and movies."""

from neurozoo.agents.agent import IMPORTED
from neurozoo.algorithms.registry import ALGORITHMS


def algo_name(algo: str) -> str:
    """Formats the name of an algorithm: `NSRA-ES` for `nsra_es`; searches for levels have their titles."""
    if algo == IMPORTED:
        return "Imported"
    if algo in ALGORITHMS and ALGORITHMS[algo].has_levels:
        return ALGORITHMS[algo].title
    return algo.replace("_", "-").upper()


def agent_name(algo: str, model: str, *more: str) -> str:
    """Formats an algorithm with its network, and with what else tells it from others: `GA, large, uber2018`."""
    return ", ".join(filter(None, [algo_name(algo), model.replace("_", " "), *more]))
