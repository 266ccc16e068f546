"""Takes the results of a claim: its record, small tables and a figure, from the results of its configuration."""

import contextlib
import hashlib
import json
import shutil
import socket
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurozoo.agents.scoring import write_evaluation_table
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.book.claims import Claim
from neurozoo.book.record import RECORD, Record, TakenRun, read_record
from neurozoo.errors import NeurozooError
from neurozoo.figures.archives import draw_archive_curves
from neurozoo.figures.learning_curves import plot_learning_curves
from neurozoo.files import read_json, sha256_of, write_json, written_whole
from neurozoo.machine import machine
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
SECONDS = "TimeElapsedTotal"
_MACHINE = ("processor", "physical_cores", "memory_gigabytes", "system")
_DIGITS = 12  # of a digest of facts
_STAYS = "The record stays as it is; --replace takes the results all the same."


class LessThanRecordError(NeurozooError):
    """The results of a claim have come less far than its record."""


@dataclass(frozen=True, eq=False)
class FoundRun:
    """A run with at least one report.

    Attributes:
        planned: The run.
        folder: Its folder.
        log: The log that is further.
        unit: What its budget counts.
        progress: How much it has spent.
        budget: How much the configuration plans.
        facts: Digest of `comparable`.
        comparable: What makes it comparable, see `records.comparability`.
        config: Its `config.yaml`.
    """

    planned: PlannedRun
    folder: Path
    log: Path
    unit: str
    progress: int
    budget: int
    facts: str
    comparable: Mapping[str, str]
    config: Mapping[str, Any]

    @property
    def is_finished(self) -> bool:
        """Whether its budget is spent."""
        return self.progress >= self.budget


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

    Args:
        name: Name of the claim.
        claim: The claim.
        folder: The claim's folder of tables, figure and record.
        project: The project's folder, in which configurations are.
        workdir: The folder in which Snakemake was started, in which results are.
        is_forced: Whether results that have come less far than the record replace it.

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
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary)
        if "imports" in claim.shows:
            taken, facts = _take_imported(config, results, made)
            hours: dict[str, float] = {}
        else:
            found = find_runs(config, results)
            taken, facts, hours = _take_trained(found, claim, config, made, project=project) if found else ([], {}, {})
        if not taken:
            return None
        record = Record(
            claim=name,
            configuration=claim.configuration,
            runs=taken,
            facts=facts,
            hours=hours,
            machine=_machine_of(results, taken),
            files={path.name: sha256_of(path) for path in sorted(made.iterdir())},
        )
        before = None if is_forced else read_record(folder)
        if before is not None:
            _check_is_further(name, record, before)
        _replace(folder, made, record)
    return record


def find_runs(config: Mapping, results: Path) -> list[FoundRun]:
    """Finds the planned runs of a configuration that have at least one report, in the order of the configuration.

    Raises:
        NeurozooError: A `config.yaml` is damaged, or belongs to another run.
    """
    return [found for run in planned_runs(config) if (found := _find_run(config, run, results)) is not None]


def _find_run(config: Mapping, run: PlannedRun, results: Path) -> FoundRun | None:
    folder = results.joinpath("runs", *map(str, asdict(run).values()))
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
    comparable = facts_of(own)
    budget = int(run_settings(config, **asdict(run))[ALGORITHMS[run.algo].budget_unit])
    return FoundRun(run, folder, log, unit, progress, budget, _digest(comparable), comparable, own)


def _digest(facts: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:_DIGITS]


# ---- trained runs


def _take_trained(
    found: Sequence[FoundRun], claim: Claim, config: Mapping, made: Path, *, project: Path
) -> tuple[list[TakenRun], dict[str, dict[str, str]], dict[str, float]]:
    """Writes the tables and the figure; also returns the runs, their facts, and the hours of equal training."""
    with tempfile.TemporaryDirectory() as temporary:
        tables = {run: _metrics_of(run, Path(temporary)) for run in found}
        taken = [_taken(run, read_metrics(path), claim.fields_) for run, path in tables.items()]
        counted = runs_that_count(found)
        merged = Path(temporary, "metrics.parquet")
        merge_metrics(
            [tables[run] for run in counted],
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
    if "archives" in claim.shows:
        ready = [run.folder for run in counted if all((run.folder / file).exists() for file in (RESULT, CORRECTED))]
        if ready:
            archive_table(ready, made / "archives.csv", **statistics)
        draw_archive_curves(metrics, [made / FIGURE], confidence=statistics["confidence"], seed=statistics["seed"])
    elif metrics[["score", "test_score"]].notna().any(axis=None):
        _draw_curves(metrics, config, made / FIGURE, project=project)
        if hours:
            _draw_curves(metrics, config, made / HOURS_FIGURE, project=project, over="hours")
    facts = {run.facts: dict(run.comparable) for run in found}
    return taken, facts, hours


def runs_that_count(found: Sequence[FoundRun]) -> list[FoundRun]:
    """Returns the runs that tables and figures are about.

    Of each algorithm, game and network these are the finished runs, or all if none is finished: a half-finished run
    does not lower the mean of finished ones.
    """
    finished = {(run.planned.algo, run.planned.game, run.planned.model) for run in found if run.is_finished}
    return [
        run
        for run in found
        if run.is_finished or (run.planned.algo, run.planned.game, run.planned.model) not in finished
    ]


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


def _metrics_of(run: FoundRun, folder: Path) -> Path:
    path = folder / f"{'_'.join(map(str, asdict(run.planned).values()))}.csv"
    identity = {name: run.config[name] for name in IDENTITY}
    parse_log(run.log, path, identity=identity, facts=run.comparable)
    return path


def _taken(run: FoundRun, metrics: pd.DataFrame, fields: Iterable[str]) -> TakenRun:
    last = metrics.iloc[-1]
    tested = final_scores(metrics).iloc[0] if metrics["test_score"].notna().any() else {}
    return TakenRun(
        **asdict(run.planned),
        protocol=run.config["protocol"],
        unit=run.unit,
        progress=run.progress,
        budget=run.budget,
        score=_number(last.get("score")),
        score_episodes=_whole(last.get("score_episodes")),
        test_score=_number(tested.get("test_score")),
        test_episodes=_whole(tested.get("test_episodes")),
        seconds=_number(last.get(SECONDS)),
        facts=run.facts,
        neurozoo=run.config.get("neurozoo"),
        commit=run.config.get("commit"),
        fields={name: _number(last[name]) for name in fields if name in last and _number(last[name]) is not None},
    )


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
        folder = results.joinpath("runs", *map(str, asdict(run).values()))
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


def _machine_of(results: Path, taken: Sequence[TakenRun]) -> dict[str, Any] | None:
    """Describes this machine, if the last heartbeat of every run came from it; runs do not describe theirs."""
    hosts = set()
    for run in taken:
        sign = read_sign(results / "runs" / run.name / "state")
        hosts.add(sign.facts.get("host") if sign is not None else None)
    here = machine()
    return {name: here[name] for name in _MACHINE} if hosts == {socket.gethostname()} else None


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
    for name in {*TABLES, FIGURE, HOURS_FIGURE} - record.files.keys():
        (folder / name).unlink(missing_ok=True)
