"""What one, ten and a hundred core hours bought, over all claims."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurozoo.algorithms.agent_names import agent_name
from neurozoo.book.claims import FOLDER, read_configuration
from neurozoo.book.formatting import NOTHING, ResultTable, score_text, variants_of
from neurozoo.book.record import Record
from neurozoo.book.reports import PROCESSOR_SECONDS, REPORTS, Row, reports_of_record
from neurozoo.environments.game_titles import game_title
from neurozoo.figures.style import si_label
from neurozoo.plan.planned_runs import labels_of_runs
from neurozoo.text import number_label

HOURS = (1, 10, 100)  # of the processor


@dataclass(frozen=True)
class MeasuredRun:
    """The tests of one run.

    Attributes:
        tests: Core hours since its start, with those of tests, and mean test score; in order.
        hours: Core hours of the whole run.
        frames: Frames of the whole run.
    """

    tests: list[tuple[float, float]]
    hours: float
    frames: int

    def score_after(self, hours: float) -> float | None:
        """Returns the last test score until then; None if the run was not as long, or there was no test yet."""
        scores = [score for when, score in self.tests if when <= hours]
        return scores[-1] if scores and self.hours >= hours else None


def measured_run(reports: Iterable[Row]) -> MeasuredRun | None:
    """Reads the tests of a run from its reports; None if there are none, or its core hours are not known.

    They are not known of runs that continued on a Dask cluster or in several processes.
    """
    reports = list(reports)
    if not reports or not reports[-1].get(PROCESSOR_SECONDS):
        return None
    hours = [float(row[PROCESSOR_SECONDS] or "nan") / 3600 for row in reports]
    tests = [
        (when, float(row["test_score"])) for when, row in zip(hours, reports, strict=True) if row.get("test_score")
    ]
    return MeasuredRun(tests, hours[-1], int(reports[-1]["frames"])) if tests else None


def core_hours_table(records: Mapping[str, Record], project: Path) -> ResultTable:
    """Lists for all agents of all claims what their tests had after some core hours, and at the end.

    A value is the mean of all runs of an agent, and only there if all were that long. If several claims share a run, it
    counts for the first of them.
    """
    seen, rows = set(), []
    for name, record in records.items():
        if REPORTS not in record.files:
            continue
        reports = reports_of_record(project / FOLDER / name / REPORTS)
        labels = labels_of_runs(read_configuration(project / record.configuration))
        variants = variants_of(record, labels=labels)
        agents: dict[tuple[str, str], list[MeasuredRun]] = {}
        for run in record.runs:
            measured = measured_run(reports.get(run.name, []))
            same = (run.name, run.facts, run.progress, run.test_score)
            if measured is not None and same not in seen:
                seen.add(same)
                agent = agent_name(run.algo, run.model, variants[run.name])
                agents.setdefault((game_title(run.game), agent), []).append(measured)
        rows += [(*agent, *_cells(runs), f"[{name}]({name}.md)") for agent, runs in agents.items()]
    after = [f"after {hours} core {'hour' if hours == 1 else 'hours'}" for hours in HOURS]
    head = ("game", "agent", *after, "at the end", "core hours", "frames", "runs", "more")
    return ResultTable(
        "Mean test scores after core hours of training and tests",
        head,
        sorted(rows, key=lambda row: row[0]),  # stable
        [f"{len(rows)} rows, of {len({row[0] for row in rows})} games"],
    )


def _cells(runs: list[MeasuredRun]) -> list[str]:
    cells = []
    for hours in HOURS:
        scores = [score for run in runs if (score := run.score_after(hours)) is not None]
        cells.append(score_text(float(np.mean(scores))) if len(scores) == len(runs) else NOTHING)
    end = score_text(float(np.mean([run.tests[-1][1] for run in runs])))
    spent = number_label(float(np.mean([run.hours for run in runs])))
    return [*cells, end, spent, si_label(int(np.mean([run.frames for run in runs]))), str(len(runs))]
