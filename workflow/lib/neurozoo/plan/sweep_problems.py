"""Checks the sweeps of a configuration."""

from collections.abc import Iterator, Mapping

from neurozoo.algorithms.registry import ALGORITHMS, unknown_setting
from neurozoo.algorithms.run_settings import InvalidSettings
from neurozoo.errors import NeurozooError
from neurozoo.plan.planned_runs import settings_of
from neurozoo.plan.sweeps import (
    MOST_COMBINATIONS,
    SPACING,
    combinations_of,
    count_combinations,
    members_of,
    name_combination,
)
from neurozoo.records.comparability import facts_of
from neurozoo.validation import explain

# What belongs elsewhere, with where.
_NOT_SWEPT = {
    **dict.fromkeys(("model", "models"), "Several networks are no sweep: list them under models."),
    **dict.fromkeys(("game", "games"), "Several games are no sweep: list them under games."),
    **dict.fromkeys(("preset", "presets"), "Several presets are no sweep: write an experiment for each."),
}


def sweep_problems(place: str, algo: str, experiment: Mapping) -> Iterator[str]:
    """Yields what is wrong with a sweep before any value is looked at; `place` is such as `experiments.demo`."""
    known = ALGORITHMS[algo].settings.schema()["properties"]
    overrides, sweep, runs = (experiment[key] for key in ("overrides", "sweep", "runs"))
    for key in ("overrides", "sweep"):
        for name in experiment[key]:
            if name not in known:
                yield f"{place}.{key}: {_NOT_SWEPT.get(name) or unknown_setting(name, algo)}"
    for name in sweep:
        if name in overrides:
            yield f"{place}.sweep.{name} is a setting under overrides, too, as {overrides[name]!r}. Remove one of them."
    if (largest := runs if isinstance(runs, int) else max(runs)) > SPACING:
        yield (
            f"{place}.runs should be at most {SPACING} in an experiment with a sweep, but is {largest}: each "
            f"combination has {SPACING} run numbers, and {SPACING + 1} is the first of the second."
        )
    if (count := count_combinations(experiment)) > MOST_COMBINATIONS:
        yield (
            f"{place}.sweep should make at most {MOST_COMBINATIONS:,} combinations, but makes {count:,}. Shorten its "
            "lists."
        )


def combination_problems(path: tuple[str, str], algo: str, experiment: Mapping) -> Iterator[str]:
    """Yields what is wrong with values, alone or together; `path` is such as ("experiments", "demo")."""
    for values, member in zip(combinations_of(experiment), members_of(experiment), strict=True):
        try:
            settings_of(algo, member)
        except InvalidSettings as error:
            yield from explain(error.reason, ALGORITHMS[algo].settings.schema(), place=(*path, "sweep"))
        except NeurozooError as error:
            yield f"{'.'.join(path)}.sweep: {name_combination(values)}: {error}"


def pooling_problems(place: str, experiment: Mapping) -> Iterator[str]:
    """Yields differences of combinations, all of them valid, that tables and figures could not tell apart."""
    spec = ALGORITHMS[experiment["algo"]]
    found: dict[str, dict[str, object]] = {}
    reported = set()
    for values, member in zip(combinations_of(experiment), members_of(experiment), strict=True):
        settings = settings_of(spec.name, member)
        records = [facts_of(settings.records(game)) for game in experiment["games"]]
        alike = found.setdefault(str(records), values)
        different = tuple(name for name in values if repr(values[name]) != repr(alike[name]))
        if alike is not values and different not in reported:
            reported.add(different)
            one, other = (name_combination({name: each[name] for name in different}) for each in (alike, values))
            yield (
                f"{place}.sweep: the runs with {one} and with {other} would be pooled. Budget, seed and ways to run "
                "tell no runs apart, nor do two spellings of one value: leave one value, or write it under overrides."
            )
