"""Makes the files beside a claim's record: small tables, reports and figures."""

import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from neurozoo.book.claim_runs import ClaimRun
from neurozoo.book.claims import Claim
from neurozoo.book.record import FIGURE, HOURS_FIGURE
from neurozoo.book.reports import PROCESSOR_SECONDS, REPORTS, write_reports
from neurozoo.errors import NeurozooError
from neurozoo.figures.archives import draw_archive_curves
from neurozoo.figures.learning_curves import plot_learning_curves
from neurozoo.plan.planned_runs import labels_of_runs
from neurozoo.records.archives import CORRECTED, archive_table
from neurozoo.records.curves import read_references
from neurozoo.records.improvement import comparison_table
from neurozoo.records.run_config import IDENTITY
from neurozoo.records.run_result import FILE as RESULT
from neurozoo.records.tables import merge_metrics, read_metrics, score_table


class LostRunsError(NeurozooError):
    """The record of a claim, or its table of archives, would lose runs."""


def make_files(
    runs: Sequence[ClaimRun], claim: Claim, config: Mapping, made: Path, *, project: Path
) -> tuple[dict[str, int], dict[str, float]]:
    """Writes the tables, the figures and the reports of trained runs into `made`.

    Returns:
        The frames, and the processor hours, after which scores are compared, by game; empty if they are not.

    Raises:
        LostRunsError: A finished run is not ready for the table of archives.
    """
    counted = runs_that_count(runs)
    with tempfile.TemporaryDirectory() as temporary:
        merged = Path(temporary, "metrics.parquet")
        tables = [run.table for run in counted]
        merge_metrics(tables, csv=merged.with_suffix(".csv"), parquet=merged, labels=labels_of_runs(config))
        metrics = read_metrics(merged)
    statistics = config["statistics"]
    names = {tuple(getattr(run.recorded, name) for name in IDENTITY) for run in counted if run.is_finished}
    # An unfinished run would cut all others where it is now.
    finished = metrics[pd.MultiIndex.from_frame(metrics[list(IDENTITY)]).isin(names)]
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
        ready = [run.folder for run in counted if run.folder is not None and (run.folder / RESULT).exists()]
        for folder in ready:
            if not (folder / CORRECTED).exists():
                raise LostRunsError(
                    f"{folder} is finished, but has no {CORRECTED}, so the table of archives would leave this run out. "
                    f"Make it: snakemake --cores all {shlex.quote(str(folder / CORRECTED))}"
                )
        if ready:
            archive_table(ready, made / "archives.csv", **statistics)
        draw_archive_curves(metrics, [made / FIGURE], confidence=statistics["confidence"], seed=statistics["seed"])
        return frames, hours
    write_reports([run.table for run in runs], made / REPORTS, fields=claim.fields_)
    if metrics[["score", "test_score"]].notna().any(axis=None):
        _draw_curves(metrics, config, made / FIGURE, project=project)
        if hours:
            _draw_curves(metrics, config, made / HOURS_FIGURE, project=project, over="hours")
    return frames, hours


def runs_that_count(runs: Sequence[ClaimRun]) -> list[ClaimRun]:
    """Returns the runs that tables and figures are about.

    Of each algorithm, game, network and settings these are the finished runs, or all if none is finished: a
    half-finished run does not lower the mean of finished ones.
    """
    finished = {run.kind for run in runs if run.is_finished}
    return [run for run in runs if run.is_finished or run.kind not in finished]


def at_equal_frames(metrics: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """Cuts the reports of each game at the frames of the run that has the fewest; returns these frames by game, too."""
    ends = metrics.groupby(list(IDENTITY))["frames"].max().groupby("game").min()
    limit = metrics["game"].map(ends.to_dict())
    return metrics[metrics["frames"] <= limit], {str(game): int(end) for game, end in ends.items()}


def at_equal_hours(metrics: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """Cuts the reports of each game at the processor time of the run that needed the least; returns the hours, too.

    Runs and games without a `ProcessorTimeTotal` are left out, and so are runs whose last report has none: they
    continued on a Dask cluster or in several processes, and needed more than the last time that is known.
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
    published = {} if over == "hours" else references["files"]
    files = {label: {game: project / file for game, file in games.items()} for label, games in published.items()}
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
