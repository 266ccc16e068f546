"""Formats results for people: a table for the page, and some words for the list of all claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from neurozoo.book.record import Record
from neurozoo.records.comparability import LABEL, PLAYED, VARIANT, with_names
from neurozoo.records.statistics import ENOUGH_RUNS
from neurozoo.text import number_label

NOTHING = "–"  # in a cell of a table
RESTORE = "Restore it: git checkout."  # what to do about a damaged table


@dataclass(frozen=True)
class ResultTable:
    """Some results of a claim."""

    title: str  # what they are
    head: tuple[str, ...]  # headings of the table
    rows: Sequence[tuple[str, ...]]
    brief: list[str]  # the most important values, a few words each, for the list of all claims
    how: str = ""  # how they were measured, briefly, if no record says it
    heading: str = ""  # stands above the brief in the list, where a claim has several kinds of results
    note: str = ""  # what a reader has to know of it, in sentences


def score_text(value: float | None) -> str:
    """Formats a score in three digits or in whole numbers: 0.389, 18.9, 4,536."""
    if value is None or not np.isfinite(value):
        return NOTHING
    return number_label(value)


def with_interval(value: float, low: float, high: float, *, runs: Sequence[float] | int) -> str:
    """Formats a statistic with its interval, such as `4,212 [3,900, 4,500]`.

    An interval needs `ENOUGH_RUNS`; of fewer, the text has the runs, such as `405 (241, 266, 707)`. Ends that are alike
    are no interval either. `runs` are the values behind the statistic, or only their number.
    """
    count = runs if isinstance(runs, int) else len(runs)
    if count == 1:
        return f"{score_text(value)} (one run)"
    if count < ENOUGH_RUNS:
        return (
            score_text(value) if isinstance(runs, int) else f"{score_text(value)} ({', '.join(map(score_text, runs))})"
        )
    if not np.isfinite([low, high]).all() or score_text(low) == score_text(high):
        return score_text(value)
    return f"{score_text(value)} [{score_text(low)}, {score_text(high)}]"


def machine_text(machine: Mapping[str, Any] | None) -> str:
    """Describes a machine briefly."""
    if not machine:
        return "machine not recorded"
    cores = machine.get("physical_cores")
    return f"{machine.get('processor') or 'unknown processor'}, {cores} {'core' if cores == 1 else 'cores'}"


def variants_of(record: Record, *, labels: Mapping[str, str] | None = None) -> dict[str, str]:
    """Names what tells the runs of a record from others of their algorithm and network, as the tables do, by run.

    Two runs of an algorithm, network and game have the same name if and only if they may be pooled: their settings have
    the same hash, and they were played in the same way. `labels` is what the configuration calls runs, by name.
    """
    rows = [
        run.model_dump(include={"algo", "model", "game", "protocol"})
        | {LABEL: (labels or {}).get(run.name)}
        | record.facts[run.facts]
        for run in record.runs
    ]
    named = with_names(pd.DataFrame(rows))
    ways = named.groupby(["algo", "model", "game", VARIANT])[PLAYED].transform("nunique")
    with_way = named[VARIANT].str.cat(named[PLAYED], sep=", ").str.removeprefix(", ")
    names = named[VARIANT].where(ways == 1, with_way)
    return {run.name: name for run, name in zip(record.runs, names, strict=True)}


def shortened(brief: Sequence[str]) -> list[str]:
    """Leaves the first three of more than four entries, and says how many more there are."""
    return [*brief] if len(brief) <= 4 else [*brief[:3], f"{len(brief) - 3} more on the page"]
