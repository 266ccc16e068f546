"""Says in what a record differs from what its configuration plans today, so that nothing passes for what it is not."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import NamedTuple

from neurozoo import __version__
from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.book.record import Record, RecordedRun
from neurozoo.plan.planned_runs import PlannedRun, imported_runs, planned_facts, planned_runs, run_settings
from neurozoo.records.comparability import OF_SETTINGS, SETTINGS, UNKNOWN, fact_name

_MOST_NAMED = 5  # differences in a sentence


class Caveat(NamedTuple):
    """Something that a reader has to know of a record: briefly for the table, and in a sentence for the page."""

    words: str
    sentence: str


def caveats_of(record: Record, config: Mapping) -> list[Caveat]:
    """Compares a record with today's version and configuration, of `check_config`; empty if they do not differ."""
    budgets = planned_budgets(config)
    return [
        *_other_runs(record, budgets),
        *_unfinished(record, budgets),
        *_other_settings(record, config, budgets),
        *_other_version(record),
    ]


def is_finished(run: RecordedRun, budgets: Mapping[str, int]) -> bool:
    """Says whether a run has spent what is planned for it today, or reached its target."""
    return run.progress >= budgets.get(run.name, run.budget) or run.has_reached_target


def planned_budgets(config: Mapping) -> dict[str, int]:
    """Returns what the configuration plans today by the names of its runs, in its order."""
    budgets = {run.name: config["evaluation"]["episodes"] for run in imported_runs(config)}
    return budgets | {run.name: planned_budget(config, run) for run in planned_runs(config)}


def planned_budget(config: Mapping, run: PlannedRun) -> int:
    """Returns how many frames or evaluations the configuration plans for a run that is trained."""
    return int(run_settings(config, **asdict(run))[ALGORITHMS[run.algo].budget_unit])


def _other_runs(record: Record, budgets: Mapping[str, int]) -> list[Caveat]:
    names = [run.name for run in record.runs]
    caveats = []
    if missing := [name for name in budgets if name not in names]:
        there = len(budgets) - len(missing)
        sentence = f"{there} of {len(budgets)} runs are there. Missing: {_listed(missing)}."
        caveats.append(Caveat(f"{there} of {len(budgets)} runs", sentence))
    if unplanned := [name for name in names if name not in budgets]:
        verb = "is" if len(unplanned) == 1 else "are"
        sentence = f"The configuration no longer plans what {verb} shown here: {_listed(unplanned)}."
        caveats.append(Caveat("other runs than planned now", sentence))
    return caveats


def _unfinished(record: Record, budgets: Mapping[str, int]) -> list[Caveat]:
    unfinished = [run for run in record.runs if not is_finished(run, budgets)]
    caveats = []
    if unfinished:
        least = min(unfinished, key=lambda run: run.progress / budgets.get(run.name, run.budget))
        share = least.progress / budgets.get(least.name, least.budget)
        words = f"unfinished: {share:.0%} of the budget"
        if len(record.runs) > 1:
            words = f"{len(unfinished)} of {len(record.runs)} runs unfinished, the least at {share:.0%}"
        far = [
            f"{run.name} at {run.progress:,} of {budgets.get(run.name, run.budget):,} {run.unit}" for run in unfinished
        ]
        caveats.append(Caveat(words, f"Unfinished: {_listed(far)}."))
    longer = [run for run in record.runs if run.budget > budgets.get(run.name, run.budget)]
    if longer:
        had = [f"{run.name} had {run.budget:,} {run.unit}, now {budgets[run.name]:,}" for run in longer]
        sentence = f"Trained with a larger budget than now: {_listed(had)}."
        caveats.append(Caveat("a larger budget than now", sentence))
    return caveats


def _other_settings(record: Record, config: Mapping, budgets: Mapping[str, int]) -> list[Caveat]:
    differences: dict[str, list[str]] = {}
    for run in record.runs:
        if run.name not in budgets:
            continue
        if different := differences_of(run, record.facts[run.facts], config):
            differences.setdefault(_listed(different), []).append(run.name)
    if not differences:
        return []
    told = "; ".join(f"{_listed(names)}: {difference}" for difference, names in differences.items())
    return [Caveat("made with other settings", f"Made with other settings than the configuration has now. {told}.")]


def differences_of(run: RecordedRun, then: Mapping[str, str], config: Mapping) -> list[str]:
    """Says in what a run differs from what is planned now, such as `population_size was 100, is now 1000`.

    `then` is what made it comparable. Imported genomes have no settings, so they do not differ.
    """
    if run.algo == IMPORTED:
        return []
    now = planned_facts(config, algo=run.algo, game=run.game, model=run.model, run=run.run)
    has_other_settings = then.get(SETTINGS) != now.get(SETTINGS)
    names = [
        name
        for name in dict.fromkeys((*now, *then))
        if name != SETTINGS
        and (has_other_settings or not name.startswith(OF_SETTINGS))
        and then.get(name, UNKNOWN) != now.get(name, UNKNOWN)
    ]
    if has_other_settings and not any(name.startswith(OF_SETTINGS) for name in names):
        return [f"the hash of the settings was {then.get(SETTINGS, UNKNOWN)}, is now {now.get(SETTINGS)}"]
    words = [(_named(name), then.get(name), now.get(name, "absent")) for name in names]
    return [
        f"{name} is now {today} ({UNKNOWN} then)" if old is None else f"{name} was {old}, is now {today}"
        for name, old, today in words
    ]


def _named(fact: str) -> str:
    """Returns a setting as it is written in a configuration, and other facts in words."""
    return fact.removeprefix(OF_SETTINGS) if fact.startswith(OF_SETTINGS) else fact_name(fact)


def _other_version(record: Record) -> list[Caveat]:
    versions = list(dict.fromkeys(run.neurozoo or "an unknown version" for run in record.runs))
    if versions == [__version__]:
        return []
    made = " and ".join(versions)
    return [Caveat(f"made by {made}", f"Made by {made}; this is version {__version__}.")]


def _listed(entries: list[str]) -> str:
    shown = ", ".join(entries[:_MOST_NAMED])
    return shown if len(entries) <= _MOST_NAMED else f"{shown} and {len(entries) - _MOST_NAMED} more"
