"""Sweeps: an experiment with lists of values for settings stands for one experiment per combination of values.

Runs keep their four names, so a combination is known by its run numbers: the first has those that the experiment
names, and each next one those plus `SPACING`. Run 203 is run 3 of the third combination.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

SPACING = 100  # run numbers of each combination, so that more runs or values leave all others as they are
MOST_COMBINATIONS = 1000


def count_combinations(experiment: Mapping) -> int:
    """Returns the number of combinations; 1 without a sweep."""
    return math.prod(len(values) for values in experiment["sweep"].values())


def combinations_of(experiment: Mapping) -> list[dict[str, Any]]:
    """Lists the values of each combination by setting; the last list of the sweep changes fastest."""
    return [dict(zip(experiment["sweep"], values, strict=True)) for values in _products(experiment)]


def members_of(experiment: Mapping) -> list[Mapping]:
    """Lists the experiments that an experiment stands for: itself, or one for each combination of its sweep.

    The members have settings and run numbers of their own and no sweep.
    """
    return [_member(experiment, *numbered) for numbered in enumerate(_products(experiment))]


def member_with_run(experiment: Mapping, run: int) -> Mapping | None:
    """Returns the member that may contain a run, if any, in a time that does not grow with the number of runs."""
    if not experiment["sweep"]:
        return experiment
    number = (run - 1) // SPACING
    values = next(itertools.islice(_products(experiment), max(number, 0), None), None)
    return None if values is None else _member(experiment, number, values)


def name_combination(values: Mapping[str, Any]) -> str:
    """Names a combination as tables and figures do, such as `mutation_power 0.5, population_size 20`."""
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _products(experiment: Mapping) -> Iterator[tuple]:
    return itertools.product(*experiment["sweep"].values())


def _member(experiment: Mapping, number: int, values: tuple) -> Mapping:
    if not experiment["sweep"]:
        return experiment
    runs = experiment["runs"]
    named = range(1, runs + 1) if isinstance(runs, int) else runs
    return {
        **experiment,
        "sweep": {},
        "overrides": {**experiment["overrides"], **dict(zip(experiment["sweep"], values, strict=True))},
        "runs": [number * SPACING + run for run in named],
    }
