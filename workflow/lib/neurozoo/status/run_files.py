"""Everything that the files of one run say about its state."""

import functools
import itertools
import math
import os
from dataclasses import dataclass
from pathlib import Path

from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.files import open_file
from neurozoo.folders import find
from neurozoo.plan.planned_runs import PlannedRun
from neurozoo.records.run_log import iter_backwards, log_paths, progress_of
from neurozoo.records.run_result import FILES
from neurozoo.status.workflow_files import Job, WorkflowFiles
from neurozoo.training.heartbeat import LastHeartbeat, read_heartbeat

CHUNK = 2**16  # bytes that are read at once from the end of a file
_MOST_REPORTS = 200  # that are read to find the last test; not every report has one
ERROR = "neurozoo: "  # how a sentence for the user begins in a log


@dataclass(frozen=True)
class RunFiles:
    """Everything that the files say about one run."""

    has_results: bool = False  # whether all its results are there
    record: dict | None = None  # the last report, with the score of the last test; None before the first report
    heartbeat: LastHeartbeat | None = None  # the last heartbeat of its training
    under_way: Job | None = None  # the job that Snakemake has marked as running or submitted
    submitted: Job | None = None  # the job that waits or runs in Grid Engine, according to the profile's records
    failed: Job | None = None  # the last failure that Snakemake has reported
    # The error message at the end of the run's log, with the time of that log.
    complaint: tuple[float, str] | None = None
    log: Path | None = None  # the log that says most about a failure


def read_run_files(run: PlannedRun, *, results: str, workdir: Path, workflow: WorkflowFiles) -> RunFiles:
    """Reads the files of a run; incomplete and damaged ones count as missing.

    `results` is the folder as in the configuration, and `workdir` that in which Snakemake was started.
    """
    names = (run.algo, run.game, run.model, str(run.run))
    folder = Path(results, "runs", *names)
    result = FILES[ALGORITHMS[run.algo].result]
    output = str(folder / result)
    here = workdir / folder
    has_results = all((here / name).exists() for name in ("config.yaml", result, "log.jsonl"))
    log, complaint = None, None
    if not has_results:
        logs = [path for path in (*find(here, "train*.log"), *workflow.logs(names)) if _size(path)]
        log = max(logs, key=lambda path: path.stat().st_mtime, default=None)
        own = here / "train.log"
        if words := _complaint(own):
            complaint, log = (own.stat().st_mtime, words), own
        elif log is None and _size(here / "state" / "train.log"):
            log = here / "state" / "train.log"
    return RunFiles(
        has_results=has_results,
        record=_last_record(here),
        heartbeat=read_heartbeat(here / "state"),
        under_way=workflow.under_way(output),
        submitted=workflow.submitted(output),
        failed=workflow.failed(output),
        complaint=complaint,
        log=log,
    )


def last_lines(path: Path, count: int) -> list[str]:
    """Returns the last lines of a text file, or as many as there are; none if it cannot be read."""
    try:
        with open_file(path) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - CHUNK))
            return file.read().decode("utf-8", errors="replace").splitlines()[-count:]
    except OSError:
        return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _complaint(log: Path) -> str | None:
    lines = last_lines(log, 20)
    starts = [number for number, line in enumerate(lines) if line.startswith(ERROR)]
    return "\n".join(lines[starts[-1] :]).removeprefix(ERROR) if starts else None


def _last_record(folder: Path) -> dict | None:
    for path in log_paths(folder):
        try:
            facts = path.stat()
        except OSError:
            continue
        if (record := _record_at_end(path, facts.st_mtime_ns, facts.st_size)) is not None:
            return record
    return None


@functools.lru_cache(maxsize=10_000)
def _record_at_end(path: Path, _changed: int, _size: int) -> dict | None:
    """Reads the end of a log, whose time and size say whether it has to be read again."""
    reports = itertools.islice(iter_backwards(path), _MOST_REPORTS)
    record = next(reports, None)
    if record is None:
        return None
    unit, progress = progress_of(record)
    numbers = (progress, record.get("TimeElapsedTotal") or 0)
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in numbers):
        return None  # no log of a run
    # No further back than needed: reports of the genetic algorithms are long.
    tests = (each.get("test_score") for each in itertools.chain([record], reports))
    tested = next((score for score in tests if score is not None), None)
    keys = ("score", "Iteration", "TimeElapsedTotal")
    return {"unit": unit, "progress": progress, "test_score": tested, **{key: record.get(key) for key in keys}}
