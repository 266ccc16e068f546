"""The runs of a claim: those in a folder of results, and those that only its record has."""

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
from neurozoo.book.caveats import differences_of, planned_budget
from neurozoo.book.record import Record, RecordedRun
from neurozoo.book.reports import REPORTS, SECONDS, Row, reports_of_record, restore_table
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import KEEPS_BEST_ELITE
from neurozoo.machine import machine as this_machine
from neurozoo.plan.planned_runs import PlannedRun, planned_runs
from neurozoo.records.comparability import SETTINGS, facts_of
from neurozoo.records.run_config import IDENTITY, config_of_run, read_run_settings
from neurozoo.records.run_log import current_log, parse_log, progress_of, read_last_record
from neurozoo.records.tables import final_scores, read_metrics
from neurozoo.training.heartbeat import read_heartbeat

_MACHINE = ("processor", "physical_cores", "memory_gigabytes", "system")
_DIGITS = 12  # of a digest


@dataclass(frozen=True, eq=False)
class ClaimRun:
    """A planned run with at least one report."""

    recorded: RecordedRun  # what the record says of it
    facts: Mapping[str, str]  # what makes it comparable, see `records.comparability`
    table: Path  # its `metrics.csv`
    budget: int  # how much the configuration plans now
    is_as_planned: bool  # whether its settings, protocol and tests are those of the configuration now
    folder: Path | None  # its folder; None if it is as the record has it
    machine: Mapping[str, Any]  # the machine that trained it; empty if it is not known
    is_in_results: bool = False  # whether the results have it, although it is as the record has it

    @property
    def kind(self) -> tuple[str, ...]:
        """Its algorithm, game, network and settings; runs of one kind are averaged."""
        return self.recorded.algo, self.recorded.game, self.recorded.model, self.facts.get(SETTINGS, "")

    @property
    def spent(self) -> int:
        """How much it has spent of its budget; what is beyond does not count."""
        return min(self.recorded.progress, self.budget)

    @property
    def is_finished(self) -> bool:
        """Whether its budget is spent, or its target reached."""
        return self.recorded.progress >= self.budget or self.recorded.has_reached_target


def find_runs(
    config: Mapping,
    results: Path,
    before: Record | None,
    folder: Path,
    *,
    fields: Sequence[str],
    tables: Path,
    replaces: bool,
) -> list[ClaimRun]:
    """Finds the planned runs that have at least one report, in the order of the configuration.

    A run that is both in the results and in the record counts where it is as planned, then where it has come further
    (unless the results replace it), then as it is in the results. Of the record, `before` in `folder`, only runs count
    that are as planned. It keeps some `fields` of a run's last report. The runs' tables are written into `tables`.

    Raises:
        NeurozooError: A `config.yaml` is damaged or belongs to another run, or the reports of the record are damaged.
    """
    reports = reports_of_record(folder / REPORTS) if before is not None and REPORTS in before.files else {}
    runs = []
    for planned in planned_runs(config):
        name = planned.name.replace("/", "_")
        found = _in_results(planned, config, results, fields=fields, table=tables / f"{name}.csv")
        kept = None
        if before is not None and planned.name in reports:
            rows = reports[planned.name]
            kept = _in_record(planned, config, before, rows, fields=fields, table=tables / f"{name}_recorded.csv")
        runs += [run for run in [_choose(found, kept, replaces=replaces)] if run is not None]
    return runs


def _choose(found: ClaimRun | None, kept: ClaimRun | None, *, replaces: bool) -> ClaimRun | None:
    if found is None or kept is None:
        return found or kept
    if not replaces and (found.is_as_planned, found.spent) < (True, kept.spent):
        return replace(kept, is_in_results=True)
    is_same = (found.recorded.facts, found.recorded.progress) == (kept.recorded.facts, kept.recorded.progress)
    if is_same and not found.machine:
        recorded = found.recorded.model_copy(update={"machine": kept.recorded.machine})
        return replace(found, recorded=recorded, machine=kept.machine)
    return found


def _in_record(
    planned: PlannedRun, config: Mapping, before: Record, rows: Sequence[Row], *, fields: Sequence[str], table: Path
) -> ClaimRun | None:
    old = next((run for run in before.runs if run.name == planned.name), None)
    if old is None or differences_of(old, facts := before.facts[old.facts], config):
        return None
    restore_table(rows, facts, table)
    metrics = read_metrics(table)
    recorded = old.model_copy(update={"fields_": _last_fields(metrics, fields), **own_score(metrics, facts)})
    machine = before.machines.get(old.machine or "", {})
    return ClaimRun(recorded, facts, table, planned_budget(config, planned), True, None, machine)


def _in_results(
    run: PlannedRun, config: Mapping, results: Path, *, fields: Sequence[str], table: Path
) -> ClaimRun | None:
    folder = results / "runs" / run.name
    log = current_log(folder)
    record = read_last_record(log) if log else None
    unit, progress = progress_of(record) if record is not None else ("", None)
    settings = config_of_run(folder)
    if log is None or progress is None or not settings.exists():
        return None
    own = read_run_settings(settings)
    if any(own[name] != value for name, value in asdict(run).items()):
        says = "/".join(str(own[name]) for name in ("algo", "game", "model", "run"))
        raise NeurozooError(f"{folder} should hold its own run, but its config.yaml is that of {says}. Move it away.")
    facts, budget, machine = facts_of(own), planned_budget(config, run), machine_of(folder / "state")
    parse_log(log, table, identity={name: own[name] for name in IDENTITY}, facts=facts)
    metrics = read_metrics(table)
    tested = final_scores(metrics).iloc[0] if metrics["test_score"].notna().any() else {}
    recorded = RecordedRun(
        **asdict(run),
        protocol=own["protocol"],
        unit=unit,
        progress=int(progress),
        budget=_whole(own.get(ALGORITHMS[run.algo].budget_unit)) or budget,
        **own_score(metrics, facts),
        target=number(own.get("target_score")),
        test_score=number(tested.get("test_score")),
        test_episodes=_whole(tested.get("test_episodes")),
        seconds=number(metrics.iloc[-1].get(SECONDS)),
        facts=digest(facts),
        neurozoo=own.get("neurozoo"),
        commit=own.get("commit"),
        machine=digest(machine) if machine else None,
        fields=_last_fields(metrics, fields),
    )
    is_as_planned = not differences_of(recorded, facts, config)
    return ClaimRun(recorded, facts, table, budget, is_as_planned, folder, machine)


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


def digest(record: Mapping[str, Any]) -> str:
    """Returns some digits that are equal for equal records."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def machine_of(state: Path) -> dict[str, Any]:
    """Describes this machine, if the last heartbeat in a run's `state/` came from it; runs do not describe theirs."""
    heartbeat = read_heartbeat(state)
    if heartbeat is None or heartbeat.facts.get("host") != socket.gethostname():
        return {}
    here = this_machine()
    return {name: here[name] for name in _MACHINE}


def number(value: Any) -> float | None:
    """Returns a number of a table as a plain one; None for an empty cell and for what is no number."""
    if value is None or pd.isna(value) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
        return None
    return float(value)


def _whole(value: Any) -> int | None:
    found = number(value)
    return None if found is None else int(found)
