"""What the files of one run say about it."""

import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path

from neurozoo.configuration import PlannedRun
from neurozoo.status.workflow_files import Job, WorkflowFiles
from neurozoo.training.heartbeat import Sign, read_sign

RESULTS = ("config.yaml", "checkpoint.npz", "genome.json", "log.jsonl")
CHUNK = 2**16  # bytes that are read at once from the end of a file
ERROR = "neurozoo: "  # how a sentence for the user begins in a log


@dataclass(frozen=True)
class Evidence:
    """Everything that is known of one run.

    Attributes:
        has_results: Whether all its results are there.
        record: The report of the last generation; empty before the first.
        sign: The last sign of life.
        under_way: The job that Snakemake has marked as under way.
        submitted: The job that waits for Grid Engine or runs there, as far as the profile knows.
        failed: The last failure that Snakemake has reported.
        complaint: The sentence at the end of the run's log, with the time of that log.
        log: The log that says most about a failure.
    """

    has_results: bool = False
    record: dict | None = None
    sign: Sign | None = None
    under_way: Job | None = None
    submitted: Job | None = None
    failed: Job | None = None
    complaint: tuple[float, str] | None = None
    log: Path | None = None


def gather(run: PlannedRun, *, results: str, workdir: Path, workflow: WorkflowFiles) -> Evidence:
    """Reads what there is of a run; files that are being written, or damaged, count as missing.

    Args:
        run: The run.
        results: Folder of results as in the configuration.
        workdir: Where Snakemake was started.
        workflow: What Snakemake has noted there.
    """
    names = (run.algo, run.game, run.model, str(run.run))
    folder = Path(results, "runs", *names)
    output = str(folder / "checkpoint.npz")
    here = workdir / folder
    has_results = all((here / name).exists() for name in RESULTS)
    log, complaint = None, None
    if not has_results:
        logs = [path for path in (*here.glob("train*.log"), *workflow.logs(names)) if _size(path)]
        log = max(logs, key=lambda path: path.stat().st_mtime, default=None)
        own = here / "train.log"
        if words := _complaint(own):
            complaint, log = (own.stat().st_mtime, words), own
        elif log is None and _size(here / "state" / "train.log"):
            log = here / "state" / "train.log"
    return Evidence(
        has_results=has_results,
        record=_last_record(here),
        sign=read_sign(here / "state"),
        under_way=workflow.under_way(output),
        submitted=workflow.submitted(output),
        failed=workflow.failed(output),
        complaint=complaint,
        log=log,
    )


def last_lines(path: Path, count: int) -> list[str]:
    """Returns the end of a text, or as much as there is."""
    try:
        with open(path, "rb") as file:
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
    for path in (folder / "state" / "log.jsonl", folder / "log.jsonl"):
        try:
            facts = path.stat()
        except OSError:
            continue
        if (record := _record_at_end(path, facts.st_mtime_ns, facts.st_size)) is not None:
            return record
    return None


@functools.lru_cache(maxsize=10_000)
def _record_at_end(path: Path, _changed: int, size: int) -> dict | None:
    """Reads the last whole line of a log; lines with a long genome may be longer than what is read at once."""
    data, start = b"", size
    try:
        with open(path, "rb") as file:
            while start > 0:
                start = max(0, start - CHUNK)
                file.seek(start)
                data = file.read(size - start)
                whole = data[: data.rfind(b"\n") + 1].rstrip(b"\n")
                line = whole[whole.rfind(b"\n") + 1 :]
                if line and (start == 0 or b"\n" in whole):
                    record = json.loads(line)
                    keys = ("frames", "score", "Iteration", "TimeElapsedTotal")
                    return {key: record.get(key) for key in keys}
    except (OSError, ValueError, AttributeError):
        pass
    return None
