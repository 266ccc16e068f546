"""Takes the results of a claim: its record, small tables and a figure, from the results of its configuration."""

import contextlib
import hashlib
import json
import shutil
import socket
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurozoo.agents.scoring import write_evaluation_table
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.book.claims import Claim
from neurozoo.book.marks import differences_of
from neurozoo.book.record import RECORD, Record, TakenRun, read_record
from neurozoo.book.reports import REPORTS, SECONDS, restore_table, write_reports
from neurozoo.errors import NeurozooError
from neurozoo.figures.archives import draw_archive_curves
from neurozoo.figures.learning_curves import plot_learning_curves
from neurozoo.files import read_json, sha256_of, write_json, written_whole
from neurozoo.machine import machine as this_machine
from neurozoo.plan.configuration import check_config
from neurozoo.plan.planned_runs import PlannedRun, imported_runs, labels_of_runs, planned_runs, run_settings
from neurozoo.records.archives import CORRECTED, archive_table
from neurozoo.records.comparability import facts_of
from neurozoo.records.improvement import comparison_table
from neurozoo.records.reference_curves import read_references
from neurozoo.records.run_log import IDENTITY, parse_log, progress_of, read_last_record, read_run_settings
from neurozoo.records.run_result import FILE as RESULT
from neurozoo.records.tables import final_scores, merge_metrics, read_metrics, score_table
from neurozoo.training.heartbeat import read_sign
from neurozoo.yaml_files import read_yaml

FIGURE, HOURS_FIGURE = "figure.png", "figure_hours.png"
TABLES = ("scores.csv", "scores_at_equal_hours.csv", "comparison.csv", "archives.csv", "imported_scores.csv")
_MACHINE = ("processor", "physical_cores", "memory_gigabytes", "system")
_DIGITS = 12  # of a digest of facts
_STAYS = "The record stays as it is; --replace takes the results all the same."


class LessThanRecordError(NeurozooError):
    """The results of a claim have come less far than its record."""


@dataclass(frozen=True, eq=False)
class CountedRun:
    """A planned run with at least one report.

    Attributes:
        taken: What the record says of it.
        facts: What makes it comparable, see `records.comparability`.
        table: Its `metrics.csv`.
        budget: How much the configuration plans now.
        folder: Its folder; None if the run is only in the record.
    """

    taken: TakenRun
    facts: Mapping[str, str]
    table: Path
    budget: int
    folder: Path | None = None

    @property
    def agent(self) -> tuple[str, str, str]:
        """Its algorithm, game and network."""
        return self.taken.algo, self.taken.game, self.taken.model

    @property
    def is_finished(self) -> bool:
        """Whether its budget is spent."""
        return self.taken.progress >= self.budget


def read_configuration(path: str | Path) -> dict:
    """Reads a configuration and fills in its defaults.

    Raises:
        NeurozooError: It is missing or invalid.
    """
    return check_config(read_yaml(path, "Correct its path in docs/results/book.yaml."), source=str(path))


def take(
    name: str, claim: Claim, folder: Path, *, project: Path, workdir: Path, is_forced: bool = False
) -> Record | None:
    """Takes the results of a claim, as far as there are any, and replaces its record.

    Runs of the record that these results lack stay, with their reports, if they have the settings that are planned
    now. So a claim can be gathered in several nights and on several machines.

    Args:
        name: Name of the claim.
        claim: The claim.
        folder: The claim's folder of tables, figure and record.
        project: The project's folder, in which configurations are.
        workdir: The folder in which Snakemake was started, in which results are.
        is_forced: Whether the results replace the record, also where they have come less far.

    Returns:
        The record; None if there are no results.

    Raises:
        LessThanRecordError: The record has come further than the results.
        NeurozooError: A file is damaged.
    """
    if not claim.configuration:
        return None
    config = read_configuration(project / claim.configuration)
    results = workdir / config["pathvars"]["results"]
    before = None if is_forced else read_record(folder)
    with tempfile.TemporaryDirectory() as temporary, tempfile.TemporaryDirectory() as tables:
        made = Path(temporary)
        kept: list[CountedRun] = []
        hours: dict[str, float] = {}
        if "imports" in claim.shows:
            taken, facts = _take_imported(config, results, made)
        else:
            found = find_runs(config, results, fields=claim.fields_, tables=Path(tables))
            kept = _kept_runs(before, found, config, folder, Path(tables)) if before is not None else []
            each = {run.taken.name: run for run in [*found, *kept]}
            counted = [each[run.name] for run in planned_runs(config) if run.name in each] if found else []
            taken, facts = [run.taken for run in counted], {run.taken.facts: dict(run.facts) for run in counted}
            hours = _make_tables(counted, claim, config, made, project=project) if counted else {}
        if not taken:
            return None
        known = {run.taken.name for run in kept}
        new = [run for run in taken if run.name not in known]
        machines = list(before.machines) if kept and before is not None else []
        if new and (machine := _machine_of(results, new)) not in machines:
            machines.append(machine)
        record = Record(
            claim=name,
            configuration=claim.configuration,
            runs=taken,
            facts=facts,
            hours=hours,
            machines=machines,
            files={path.name: sha256_of(path) for path in sorted(made.iterdir())},
        )
        if before is not None:
            _check_is_further(name, record, before)
        _replace(folder, made, record)
    return record


def find_runs(config: Mapping, results: Path, *, fields: Sequence[str], tables: Path) -> list[CountedRun]:
    """Finds the planned runs that have at least one report in a folder of results, in the order of the configuration.

    Args:
        config: The configuration.
        results: The folder of results.
        fields: Fields of the last report that the record keeps.
        tables: A folder for the runs' tables.

    Raises:
        NeurozooError: A `config.yaml` is damaged, or belongs to another run.
    """
    found = (_find_run(config, run, results, fields=fields, tables=tables) for run in planned_runs(config))
    return [run for run in found if run is not None]


def _find_run(
    config: Mapping, run: PlannedRun, results: Path, *, fields: Sequence[str], tables: Path
) -> CountedRun | None:
    folder = results / "runs" / run.name
    logs = []
    for path in (folder / "log.jsonl", folder / "state" / "log.jsonl"):
        record = read_last_record(path)
        unit, progress = progress_of(record) if record is not None else ("", None)
        if progress is not None:
            logs.append((int(progress), unit, path))
    if not logs or not (folder / "config.yaml").exists():
        return None
    progress, unit, log = max(logs, key=lambda entry: entry[0])
    own = read_run_settings(folder / "config.yaml")
    if any(own[name] != value for name, value in asdict(run).items()):
        says = "/".join(str(own[name]) for name in ("algo", "game", "model", "run"))
        raise NeurozooError(f"{folder} should hold its own run, but its config.yaml is that of {says}. Move it away.")
    facts = facts_of(own)
    table = _table_of(run, tables)
    parse_log(log, table, identity={name: own[name] for name in IDENTITY}, facts=facts)
    metrics = read_metrics(table)
    last = metrics.iloc[-1]
    tested = final_scores(metrics).iloc[0] if metrics["test_score"].notna().any() else {}
    budget = _planned_budget(config, run)
    taken = TakenRun(
        **asdict(run),
        protocol=own["protocol"],
        unit=unit,
        progress=progress,
        budget=budget,
        score=_number(last.get("score")),
        score_episodes=_whole(last.get("score_episodes")),
        test_score=_number(tested.get("test_score")),
        test_episodes=_whole(tested.get("test_episodes")),
        seconds=_number(last.get(SECONDS)),
        facts=_digest(facts),
        neurozoo=own.get("neurozoo"),
        commit=own.get("commit"),
        fields={name: _number(last[name]) for name in fields if name in last and _number(last[name]) is not None},
    )
    return CountedRun(taken, facts, table, budget, folder)


def _table_of(run: PlannedRun, folder: Path) -> Path:
    return folder / f"{run.name.replace('/', '_')}.csv"


def _planned_budget(config: Mapping, run: PlannedRun) -> int:
    return int(run_settings(config, **asdict(run))[ALGORITHMS[run.algo].budget_unit])


def _kept_runs(
    before: Record, found: Sequence[CountedRun], config: Mapping, folder: Path, tables: Path
) -> list[CountedRun]:
    """Returns the runs of a record that are planned as they were made, unless the results have them at least as far."""
    if REPORTS not in before.files:
        return []
    here = {(run.taken.name, run.taken.facts): run.taken.progress for run in found}
    planned = {run.name: run for run in planned_runs(config)}
    kept = []
    for taken in before.runs:
        run, facts = planned.get(taken.name), before.facts[taken.facts]
        is_here = here.get((taken.name, taken.facts), -1) >= taken.progress
        if run is None or is_here or differences_of(taken, facts, config):
            continue
        table = _table_of(run, tables)
        restore_table(folder / REPORTS, taken, facts, table)
        kept.append(CountedRun(taken, facts, table, _planned_budget(config, run)))
    return kept


def _digest(facts: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:_DIGITS]


# ---- trained runs


def _make_tables(
    runs: Sequence[CountedRun], claim: Claim, config: Mapping, made: Path, *, project: Path
) -> dict[str, float]:
    """Writes the tables, the figures and the reports; returns the hours of equal training."""
    counted = runs_that_count(runs)
    with tempfile.TemporaryDirectory() as temporary:
        merged = Path(temporary, "metrics.parquet")
        merge_metrics(
            [run.table for run in counted],
            csv=merged.with_suffix(".csv"),
            parquet=merged,
            labels=labels_of_runs(config),
        )
        metrics = read_metrics(merged)
    statistics = config["statistics"]
    hours: dict[str, float] = {}
    if metrics["test_score"].notna().any():
        if "scores" in claim.shows:
            score_table(metrics, made / "scores.csv", **statistics)
        if "comparison" in claim.shows:
            comparison_table(metrics, made / "comparison.csv", **statistics)
        if "scores_at_equal_hours" in claim.shows:
            early, hours = at_equal_hours(metrics)
            if early["test_score"].notna().any():
                score_table(early, made / "scores_at_equal_hours.csv", **statistics)
    if "archives" in claim.shows:  # made from archives, so runs that are only in a record cannot join
        folders = [run.folder for run in counted if run.folder is not None]
        ready = [folder for folder in folders if all((folder / file).exists() for file in (RESULT, CORRECTED))]
        if ready:
            archive_table(ready, made / "archives.csv", **statistics)
        draw_archive_curves(metrics, [made / FIGURE], confidence=statistics["confidence"], seed=statistics["seed"])
        return hours
    write_reports([run.table for run in runs], made / REPORTS, fields=claim.fields_)
    if metrics[["score", "test_score"]].notna().any(axis=None):
        _draw_curves(metrics, config, made / FIGURE, project=project)
        if hours:
            _draw_curves(metrics, config, made / HOURS_FIGURE, project=project, over="hours")
    return hours


def runs_that_count(runs: Sequence[CountedRun]) -> list[CountedRun]:
    """Returns the runs that tables and figures are about.

    Of each algorithm, game and network these are the finished runs, or all if none is finished: a half-finished run
    does not lower the mean of finished ones.
    """
    finished = {run.agent for run in runs if run.is_finished}
    return [run for run in runs if run.is_finished or run.agent not in finished]


def at_equal_hours(metrics: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """Cuts the reports of each game where the quickest run of the game ends.

    Args:
        metrics: The merged table, with the column `TimeElapsedTotal` in seconds.

    Returns:
        The reports up to then, and the hours by game. Runs and games without times are left out.
    """
    seconds = metrics[SECONDS].astype("Float64")
    ends = seconds.groupby([metrics[name] for name in IDENTITY]).max().groupby("game").min().dropna()
    limit = metrics["game"].map(ends.to_dict()).astype("Float64")
    return metrics[(seconds <= limit).fillna(False)], {str(game): float(end) / 3600 for game, end in ends.items()}


def _number(value: Any) -> float | None:
    """Returns a number of a table as a plain one; None for an empty cell and for what is no number."""
    if value is None or pd.isna(value) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
        return None
    return float(value)


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _draw_curves(metrics: pd.DataFrame, config: Mapping, output: Path, *, project: Path, over: str = "frames") -> None:
    """Draws the learning curves as the rule plot_learning_curves does; over hours, without published curves."""
    look = dict(config["figures"]["learning_curves"])
    references = look.pop("references")
    del look["formats"]
    files = (
        {}
        if over == "hours"
        else {
            label: {game: project / file for game, file in games.items()}
            for label, games in references["files"].items()
        }
    )
    plot_learning_curves(
        metrics,
        [output],
        **look,
        over=over,
        confidence=config["statistics"]["confidence"],
        seed=config["statistics"]["seed"],
        references=read_references(files, phase=references["phase"]),
        reference_frames=references["frames"],
    )


# ---- imported genomes


def _take_imported(config: Mapping, results: Path, made: Path) -> tuple[list[TakenRun], dict[str, dict[str, str]]]:
    taken, files = [], []
    facts: dict[str, dict[str, str]] = {}
    for run in imported_runs(config):
        folder = results / "runs" / run.name
        path = folder / "evaluation.json"
        if not path.exists():
            continue
        record = read_json(path, "Make it again: the rule evaluate.")
        own = read_run_settings(folder / "config.yaml")
        played = facts_of({"protocol_record": record.get("protocol")})
        facts[_digest(played)] = played
        episodes = record.get("episodes")
        if not isinstance(episodes, list) or not isinstance(record.get("summary"), dict):
            raise NeurozooError(
                f"{path} is damaged: it has no episodes or no summary. Make it again: the rule evaluate."
            )
        taken.append(
            TakenRun(
                **asdict(run),
                protocol=own["protocol"],
                unit="episodes",
                progress=len(episodes),
                budget=config["evaluation"]["episodes"],
                test_score=_number(record["summary"].get("mean")),
                test_episodes=len(episodes),
                facts=_digest(played),
                neurozoo=own.get("neurozoo"),
                commit=own.get("commit"),
            )
        )
        files.append(path)
    if files:
        write_evaluation_table(files, made / "imported_scores.csv", **config["statistics"])
    return taken, facts


# ---- the record


def _machine_of(results: Path, taken: Sequence[TakenRun]) -> dict[str, Any]:
    """Describes this machine, if the last heartbeat of every run came from it; runs do not describe theirs."""
    hosts = set()
    for run in taken:
        sign = read_sign(results / "runs" / run.name / "state")
        hosts.add(sign.facts.get("host") if sign is not None else None)
    here = this_machine()
    return {name: here[name] for name in _MACHINE} if hosts == {socket.gethostname()} else {}


def _check_is_further(name: str, record: Record, before: Record) -> None:
    """Refuses results that would replace a record with less: a run that is missing or has come less far.

    A record of other settings is outdated, but only finished results replace it if its own runs are finished.
    """
    now = {run.name: run for run in record.runs}
    if not {run.facts for run in before.runs} & {run.facts for run in record.runs}:
        if all(map(_is_finished, before.runs)) and not all(map(_is_finished, record.runs)):
            raise LessThanRecordError(
                f"{name}: the results have other settings than the record and are not finished. {_STAYS}"
            )
        return
    for run in before.runs:
        progress = now[run.name].progress if run.name in now else 0
        if progress < run.progress:
            raise LessThanRecordError(
                f"{name}: the results of {run.name} have come to {progress:,} {run.unit}, but the record has "
                f"{run.progress:,}. {_STAYS}"
            )


def _is_finished(run: TakenRun) -> bool:
    return run.progress >= run.budget


def _replace(folder: Path, made: Path, record: Record) -> None:
    """Writes the new files, then puts all in place, and then removes what only the old record had.

    Raises:
        NeurozooError: There is no room, or the folder cannot be written. What stood there before is unchanged.
    """
    with contextlib.ExitStack() as files:  # each is renamed on leaving, the record last
        temporary = files.enter_context(written_whole(folder / RECORD))
        write_json(temporary, record.model_dump(mode="json", by_alias=True, exclude_defaults=True))
        for name in record.files:
            shutil.copyfile(made / name, files.enter_context(written_whole(folder / name)))
    for name in {*TABLES, REPORTS, FIGURE, HOURS_FIGURE} - record.files.keys():
        (folder / name).unlink(missing_ok=True)
