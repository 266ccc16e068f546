"""Takes the results of a claim: its record, small tables and a figure, from the results of its configuration."""

import contextlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pandas as pd

from neurozoo.agents.scoring import write_evaluation_table
from neurozoo.book.claims import Claim
from neurozoo.book.gathering import GatheredRun, digest, gather_runs, number
from neurozoo.book.marks import differences_of, planned_budgets
from neurozoo.book.record import RECORD, Record, TakenRun, read_record
from neurozoo.book.reports import PROCESSOR_SECONDS, REPORTS, write_reports
from neurozoo.errors import NeurozooError
from neurozoo.figures.archives import draw_archive_curves
from neurozoo.figures.learning_curves import plot_learning_curves
from neurozoo.files import read_json, sha256_of, write_json, written_whole
from neurozoo.folders import delete, guard
from neurozoo.plan.configuration import check_config
from neurozoo.plan.planned_runs import imported_runs, labels_of_runs
from neurozoo.records.archives import CORRECTED, archive_table
from neurozoo.records.comparability import facts_of
from neurozoo.records.improvement import comparison_table
from neurozoo.records.reference_curves import read_references
from neurozoo.records.run_config import IDENTITY, read_run_settings
from neurozoo.records.run_result import FILE as RESULT
from neurozoo.records.tables import merge_metrics, read_metrics, score_table
from neurozoo.yaml_files import read_yaml

FIGURE, HOURS_FIGURE = "figure.png", "figure_hours.png"
TABLES = (
    "scores.csv", "scores_at_equal_frames.csv", "scores_at_equal_hours.csv", "comparison.csv", "archives.csv",
    "imported_scores.csv",
)  # fmt: skip


class LessThanRecordError(NeurozooError):
    """The record of a claim, or its table of archives, would lose runs."""


@dataclass(frozen=True)
class Ends:
    """Where the runs of each game were cut, by game; empty if they were not."""

    frames: Mapping[str, int] = field(default_factory=dict)
    hours: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Taking:
    """What has become of the results of a claim.

    Attributes:
        record: The new record.
        taken: Names of the runs that come from the results.
        kept: Names of the runs that only come from the previous record.
        left_out: Names of runs that are in the results, but count as they are in the record.
        forgotten: What the previous record had, a sentence per run.
    """

    record: Record
    taken: Sequence[str]
    kept: Sequence[str]
    left_out: Sequence[str]
    forgotten: Sequence[str]


def read_configuration(path: str | Path) -> dict:
    """Reads a configuration and fills in its defaults.

    Raises:
        NeurozooError: It is missing or invalid.
    """
    return check_config(read_yaml(path, "Correct its path in docs/results/book.yaml."), source=str(path))


def take(
    name: str,
    claim: Claim,
    folder: Path,
    *,
    project: Path,
    workdir: Path,
    replaces: bool = False,
    draws_again: bool = False,
) -> Taking | None:
    """Takes the results of a claim, as far as there are any, and replaces its record.

    Runs that only the record has stay in it, with their reports, if they are planned as they were made. So a claim can
    be gathered in several nights and on several machines. Archives and imported genomes are not in reports: such claims
    need all results at once.

    Args:
        name: Name of the claim.
        claim: The claim.
        folder: The claim's folder of tables, figure and record.
        project: The project's folder, in which configurations are.
        workdir: The folder in which Snakemake was started, in which results are.
        replaces: Whether each run counts as it is in the results, also if it has come less far than in the record, and
            whether the record may lose runs that are no longer planned as they were made.
        draws_again: Whether tables and figures are made from the record alone where there are no results.

    Returns:
        What was taken; None if there are no results, and nothing was drawn again.

    Raises:
        LessThanRecordError: The record would lose runs, or have runs that have come less far.
        NeurozooError: A file is damaged.
    """
    if not claim.configuration:
        return None
    config = read_configuration(project / claim.configuration)
    results = workdir / config["pathvars"]["results"]
    guard(results)
    before = read_record(folder)
    with tempfile.TemporaryDirectory() as temporary, tempfile.TemporaryDirectory() as tables:
        made = Path(temporary)
        runs: list[GatheredRun] = []
        ends = Ends()
        if "imports" in claim.shows:
            taken, facts = _take_imported(config, results, made)
            here = [run.name for run in taken]
        else:
            recorded = None if "archives" in claim.shows else before
            runs = gather_runs(
                config, results, recorded, folder, fields=claim.fields_, tables=Path(tables), replaces=replaces
            )
            machines = {run.taken.name: digest(run.machine) for run in runs if run.machine}
            taken = [run.taken.model_copy(update={"machine": machines.get(run.taken.name)}) for run in runs]
            facts = {run.taken.facts: dict(run.facts) for run in runs}
            here = [run.taken.name for run in runs if run.folder is not None]
        left_out = [run.taken.name for run in runs if run.folder is None and run.is_in_results]
        if not here and not left_out and not (draws_again and runs):
            return None
        if runs:
            ends = _make_tables(runs, claim, config, made, project=project)
        record = Record(
            claim=name,
            configuration=claim.configuration,
            runs=taken,
            facts=facts,
            hours=dict(ends.hours),
            frames=dict(ends.frames),
            machines={digest(run.machine): dict(run.machine) for run in runs if run.machine},
            files={path.name: sha256_of(path) for path in sorted(made.iterdir())},
        )
        lost = _lost_runs(record, before, config) if before is not None else []
        if lost and not replaces:
            raise LessThanRecordError(
                f"{name}: the record stays as it is, because it would lose runs: {'; '.join(lost)}. --replace takes "
                "the results all the same, and keeps the other runs of the record."
            )
        _replace(folder, made, record)
    kept = [run.taken.name for run in runs if run.folder is None and not run.is_in_results]
    return Taking(record, here, kept, left_out, lost)


# ---- trained runs


def _make_tables(runs: Sequence[GatheredRun], claim: Claim, config: Mapping, made: Path, *, project: Path) -> Ends:
    """Writes the tables, the figures and the reports."""
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
    finished = _of_finished(metrics, counted)
    compared, frames = at_equal_frames(finished) if "scores_at_equal_frames" in claim.shows else (finished, {})
    early, hours = at_equal_hours(finished) if "scores_at_equal_hours" in claim.shows else (finished[:0], {})
    for kind, reports in {
        "scores": metrics,
        "scores_at_equal_frames": compared,
        "scores_at_equal_hours": early,
        "comparison": compared,
    }.items():
        if kind in claim.shows and reports["test_score"].notna().any():
            write = comparison_table if kind == "comparison" else score_table
            write(reports, made / f"{kind}.csv", **statistics)
    if "archives" in claim.shows:
        folders = [run.folder for run in counted if run.folder is not None]
        ready = [folder for folder in folders if (folder / RESULT).exists()]
        for folder in ready:
            if not (folder / CORRECTED).exists():
                raise LessThanRecordError(
                    f"{folder} is finished, but has no {CORRECTED}, so the table of archives would leave this run out. "
                    f"Make it: snakemake --cores all {folder / CORRECTED}"
                )
        if ready:
            archive_table(ready, made / "archives.csv", **statistics)
        draw_archive_curves(metrics, [made / FIGURE], confidence=statistics["confidence"], seed=statistics["seed"])
        return Ends(frames, hours)
    write_reports([run.table for run in runs], made / REPORTS, fields=claim.fields_)
    if metrics[["score", "test_score"]].notna().any(axis=None):
        _draw_curves(metrics, config, made / FIGURE, project=project)
        if hours:
            _draw_curves(metrics, config, made / HOURS_FIGURE, project=project, over="hours")
    return Ends(frames, hours)


def runs_that_count(runs: Sequence[GatheredRun]) -> list[GatheredRun]:
    """Returns the runs that tables and figures are about.

    Of each algorithm, game, network and settings these are the finished runs, or all if none is finished: a
    half-finished run does not lower the mean of finished ones.
    """
    finished = {run.kind for run in runs if run.is_finished}
    return [run for run in runs if run.is_finished or run.kind not in finished]


def _of_finished(metrics: pd.DataFrame, runs: Sequence[GatheredRun]) -> pd.DataFrame:
    """Returns the reports of finished runs: an unfinished one would cut all others where it is now."""
    finished = {tuple(getattr(run.taken, name) for name in IDENTITY) for run in runs if run.is_finished}
    return metrics[pd.MultiIndex.from_frame(metrics[list(IDENTITY)]).isin(finished)]


def at_equal_frames(metrics: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """Cuts the reports of each game at the frames of the run that has the fewest.

    Args:
        metrics: The merged table.

    Returns:
        The reports up to then, and the frames by game.
    """
    ends = metrics.groupby(list(IDENTITY))["frames"].max().groupby("game").min()
    limit = metrics["game"].map(ends.to_dict())
    return metrics[metrics["frames"] <= limit], {str(game): int(end) for game, end in ends.items()}


def at_equal_hours(metrics: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """Cuts the reports of each game at the processor time of the run that needed the least.

    Args:
        metrics: The merged table, with the column `ProcessorTimeTotal` in seconds.

    Returns:
        The reports up to then, and the hours by game. Runs and games without this time are left out, and so are runs
        whose last report has none: they continued on a Dask cluster or in several processes, and needed more than the
        last time that is known.
    """
    if PROCESSOR_SECONDS not in metrics:
        return metrics[:0], {}
    seconds = metrics[PROCESSOR_SECONDS].astype("Float64")
    totals = seconds.groupby([metrics[name] for name in IDENTITY]).transform(lambda reports: reports.iloc[-1])
    ends = totals.groupby(metrics["game"]).min().dropna()
    limit = metrics["game"].map(ends.to_dict()).astype("Float64")
    is_early = (seconds <= limit).fillna(False) & totals.notna()
    return metrics[is_early], {str(game): float(end) / 3600 for game, end in ends.items()}


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
        facts[digest(played)] = played
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
                test_score=number(record["summary"].get("mean")),
                test_episodes=len(episodes),
                facts=digest(played),
                neurozoo=own.get("neurozoo"),
                commit=own.get("commit"),
            )
        )
        files.append(path)
    if files:
        write_evaluation_table(files, made / "imported_scores.csv", **config["statistics"])
    return taken, facts


# ---- the record


def _lost_runs(record: Record, before: Record, config: Mapping) -> list[str]:
    """Says which runs of the previous record the new one lacks, or has less far, and why."""
    now = {run.name: run for run in record.runs}
    budgets = planned_budgets(config)
    lost = []
    for old in before.runs:
        new, budget = now.get(old.name), budgets.get(old.name, old.budget)
        had = f"{old.progress:,} {old.unit}"
        if new is not None:
            has_other_settings = new.facts != old.facts and bool(differences_of(old, before.facts[old.facts], config))
            is_enough = new.progress >= budget or old.progress < old.budget
            if not (is_enough if has_other_settings else min(new.progress, budget) >= min(old.progress, budget)):
                lost.append(f"{old.name} has come to {new.progress:,} {new.unit}, but the record has {had}")
        elif old.name not in budgets:
            lost.append(f"{old.name} ({had}) is no longer planned")
        elif different := differences_of(old, before.facts[old.facts], config):
            lost.append(f"{old.name} ({had}) was made with other settings: {different[0]}")
        else:
            lost.append(f"{old.name} ({had}) is not in the results, and its reports are not in the record")
    return lost


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
        delete(folder / name)
