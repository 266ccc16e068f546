"""Gathers the runs of a claim: those in a folder of results, and those that only its record has."""

import hashlib
import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.book.marks import differences_of, planned_budget
from neurozoo.book.record import Record, TakenRun
from neurozoo.book.reports import REPORTS, SECONDS, reports_of_record, restore_table
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import KEEPS_BEST_ELITE
from neurozoo.machine import machine
from neurozoo.plan.planned_runs import PlannedRun, planned_runs
from neurozoo.records.comparability import SETTINGS, facts_of
from neurozoo.records.run_config import IDENTITY, read_run_settings
from neurozoo.records.run_log import current_log, parse_log, progress_of, read_last_record
from neurozoo.records.tables import final_scores, read_metrics
from neurozoo.training.heartbeat import read_heartbeat

_MACHINE = ("processor", "physical_cores", "memory_gigabytes", "system")
_DIGITS = 12  # of a digest


@dataclass(frozen=True, eq=False)
class GatheredRun:
    """A planned run with at least one report.

    Attributes:
        taken: What the record says of it.
        facts: What makes it comparable, see `records.comparability`.
        table: Its `metrics.csv`.
        budget: How much the configuration plans now.
        is_as_planned: Whether its settings, protocol and tests are those of the configuration now.
        folder: Its folder; None if it is as the record has it.
        machine: The machine that trained it; empty if it is not known.
        is_in_results: Whether the results have it, although it is as the record has it.
    """

    taken: TakenRun
    facts: Mapping[str, str]
    table: Path
    budget: int
    is_as_planned: bool
    folder: Path | None
    machine: Mapping[str, Any]
    is_in_results: bool = False

    @property
    def kind(self) -> tuple[str, ...]:
        """Its algorithm, game, network and settings; runs of one kind are averaged."""
        return self.taken.algo, self.taken.game, self.taken.model, self.facts.get(SETTINGS, "")

    @property
    def spent(self) -> int:
        """How much it has spent of its budget; what is beyond does not count."""
        return min(self.taken.progress, self.budget)

    @property
    def is_finished(self) -> bool:
        """Whether its budget is spent."""
        return self.taken.progress >= self.budget


def gather_runs(
    config: Mapping,
    results: Path,
    before: Record | None,
    folder: Path,
    *,
    fields: Sequence[str],
    tables: Path,
    replaces: bool,
) -> list[GatheredRun]:
    """Gathers the planned runs that have at least one report, in the order of the configuration.

    A run that is both in the results and in the record counts where it is as planned, then where it has come further,
    then as it is in the results. Of the record only runs count that are as planned.

    Args:
        config: The configuration.
        results: The folder of results.
        before: The record.
        folder: The folder of the record.
        fields: Fields of a run's last report that the record keeps.
        tables: A folder for the runs' tables.
        replaces: Whether a run counts as it is in the results, also if it has come less far.

    Raises:
        NeurozooError: A `config.yaml` is damaged or belongs to another run, or the reports of the record are damaged.
    """
    reports = reports_of_record(folder / REPORTS) if before is not None and REPORTS in before.files else {}
    recorded = {run.name: run for run in before.runs if run.name in reports} if before is not None else {}
    gathered = []
    for planned in planned_runs(config):
        found = _find(planned, config, results, fields=fields, tables=tables / "found")
        kept = None
        if before is not None and (old := recorded.get(planned.name)) is not None:
            facts, known = before.facts[old.facts], before.machines.get(old.machine or "", {})
            if not differences_of(old, facts, config):
                table = _table_of(planned, tables / "recorded")
                restore_table(reports[old.name], facts, table)
                metrics = read_metrics(table)
                now = {"fields_": _last_fields(metrics, fields), **own_score(metrics, facts)}
                taken = old.model_copy(update=now)
                kept = GatheredRun(taken, facts, table, planned_budget(config, planned), True, None, known)
        gathered += [run for run in [_choose(found, kept, replaces=replaces)] if run is not None]
    return gathered


def _choose(found: GatheredRun | None, kept: GatheredRun | None, *, replaces: bool) -> GatheredRun | None:
    if found is None or kept is None:
        return found or kept
    if not replaces and (found.is_as_planned, found.spent) < (True, kept.spent):
        return replace(kept, is_in_results=True)
    is_same = (found.taken.facts, found.taken.progress) == (kept.taken.facts, kept.taken.progress)
    return replace(found, machine=kept.machine) if is_same and not found.machine else found


def _find(
    run: PlannedRun, config: Mapping, results: Path, *, fields: Sequence[str], tables: Path
) -> GatheredRun | None:
    folder = results / "runs" / run.name
    log = current_log(folder)
    record = read_last_record(log) if log else None
    unit, progress = progress_of(record) if record is not None else ("", None)
    if log is None or progress is None or not (folder / "config.yaml").exists():
        return None
    own = read_run_settings(folder / "config.yaml")
    if any(own[name] != value for name, value in asdict(run).items()):
        says = "/".join(str(own[name]) for name in ("algo", "game", "model", "run"))
        raise NeurozooError(f"{folder} should hold its own run, but its config.yaml is that of {says}. Move it away.")
    facts, budget = facts_of(own), planned_budget(config, run)
    table = _table_of(run, tables)
    parse_log(log, table, identity={name: own[name] for name in IDENTITY}, facts=facts)
    metrics = read_metrics(table)
    last = metrics.iloc[-1]
    tested = final_scores(metrics).iloc[0] if metrics["test_score"].notna().any() else {}
    trained_for = _whole(own.get(ALGORITHMS[run.algo].budget_unit))
    taken = TakenRun(
        **asdict(run),
        protocol=own["protocol"],
        unit=unit,
        progress=int(progress),
        budget=trained_for or budget,
        **own_score(metrics, facts),
        test_score=number(tested.get("test_score")),
        test_episodes=_whole(tested.get("test_episodes")),
        seconds=number(last.get(SECONDS)),
        facts=digest(facts),
        neurozoo=own.get("neurozoo"),
        commit=own.get("commit"),
        fields=_last_fields(metrics, fields),
    )
    return GatheredRun(
        taken, facts, table, budget, not differences_of(taken, facts, config), folder, machine_of(folder / "state")
    )


def own_score(metrics: pd.DataFrame, facts: Mapping[str, str]) -> dict[str, Any]:
    """Returns the own score of what a run's test score is about: its last report, or the one with its best agent."""
    algo = str(metrics["algo"].iloc[0])
    keeps_best = facts.get("settings_elite_rule") in KEEPS_BEST_ELITE or (
        algo in ALGORITHMS and ALGORITHMS[algo].chooses == "report"
    )
    has_best = keeps_best and metrics["score"].notna().any()
    report = metrics.loc[metrics["score"].idxmax()] if has_best else metrics.iloc[-1]
    return {"score": number(report.get("score")), "score_episodes": _whole(report.get("score_episodes"))}


def _last_fields(metrics: pd.DataFrame, fields: Sequence[str]) -> dict[str, float]:
    last = metrics.iloc[-1]
    values = {name: number(last[name]) for name in fields if name in last}
    return {name: value for name, value in values.items() if value is not None}


def _table_of(run: PlannedRun, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder / f"{run.name.replace('/', '_')}.csv"


def digest(record: Mapping[str, Any]) -> str:
    """Returns some digits that are equal for equal records."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def machine_of(state: Path) -> dict[str, Any]:
    """Describes this machine, if a run's last heartbeat came from it; empty otherwise: runs do not describe theirs.

    Args:
        state: The run's folder `state/`.
    """
    heartbeat = read_heartbeat(state)
    if heartbeat is None or heartbeat.facts.get("host") != socket.gethostname():
        return {}
    here = machine()
    return {name: here[name] for name in _MACHINE}


def number(value: Any) -> float | None:
    """Returns a number of a table as a plain one; None for an empty cell and for what is no number."""
    if value is None or pd.isna(value) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
        return None
    return float(value)


def _whole(value: Any) -> int | None:
    found = number(value)
    return None if found is None else int(found)
