"""Reads the files of Snakemake and the cluster profiles in `.snakemake/`: running jobs, failed jobs, and their logs."""

import functools
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from neurozoo.files import open_text, parse_json
from neurozoo.folders import find
from neurozoo.plan.snakemake_records import record_path

SLURM_LOGS = ("results/logs/slurm", ".snakemake/slurm_logs")  # of profiles/slurm, and the executor's default


@dataclass(frozen=True)
class Job:
    """A job of a rule, as Snakemake and the profiles have recorded it."""

    time: float  # when it was submitted or started, or when its failure was noticed; seconds since 1970
    number: str | None  # the scheduler's number; None for a job on this machine or within another job


class WorkflowFiles:
    """Reads `.snakemake/` of one working directory at one moment, for the jobs of one rule.

    Reading it again needs a new object.
    """

    def __init__(self, workdir: Path, *, rule: str) -> None:
        self._workdir = workdir
        self._folder = workdir / ".snakemake"
        self._rule = rule

    def under_way(self, output: str) -> Job | None:
        """Finds the job that makes a file, by the marker that Snakemake keeps until the file is complete.

        A killed Snakemake leaves its marker behind. `output` is the path as in the rule.
        """
        marker = record_path(self._folder / "incomplete", output)
        try:
            number = _read_object(marker)["external_jobid"]
            return Job(marker.stat().st_mtime, None if number is None else str(number))
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def submitted(self, output: str) -> Job | None:
        """Finds the newest job that the Grid Engine profile has submitted for a file, unless it has ended."""
        newest = self._newest_records.get(output)
        if newest is None or (self._folder / "sge" / f"{newest['token']}.exit").exists():
            return None
        return Job(newest["time"], newest["number"])

    @functools.cached_property
    def _newest_records(self) -> dict[str, dict]:
        """The newest record for each output; read once, because there may be thousands of files."""
        found = []
        for entry in _entries(self._folder / "sge", ".json"):
            facts = _read_record(Path(entry.path), entry.stat().st_mtime_ns)
            if facts is not None:
                found.append(facts | {"number": Path(entry.path).stem})
        found.sort(key=lambda facts: facts["time"])
        return {output: facts for facts in found for output in facts["output"]}

    def failed(self, output: str) -> Job | None:
        """Finds the last failure of a file's job in the newest Snakemake log."""
        return self._failures.get(output)

    @functools.cached_property
    def _failures(self) -> dict[str, Job]:
        logs = _entries(self._folder / "log", ".snakemake.log")
        newest = max(logs, key=lambda log: log.stat().st_mtime, default=None)
        if newest is None:
            return {}
        facts = newest.stat()
        return _failures(Path(newest.path), self._rule, facts.st_mtime_ns, facts.st_size)

    def logs(self, wildcards: tuple[str, ...]) -> Iterator[Path]:
        """Finds the logs of Slurm jobs. Grid Engine jobs write theirs into the run's folder."""
        for folder in SLURM_LOGS:
            yield from find(self._workdir / folder / f"rule_{self._rule}" / "_".join(wildcards), "*.log")


def _entries(folder: Path, suffix: str) -> list[os.DirEntry]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.name.endswith(suffix)]
    except OSError:
        return []


@functools.lru_cache(maxsize=10_000)
def _read_record(path: Path, _changed: int) -> dict | None:
    try:
        facts = _read_object(path)
        output = facts.get("output") or []
        is_job = (
            (isinstance(facts["time"], int | float) and math.isfinite(facts["time"]))
            and (isinstance(facts["token"], str) and Path(facts["token"]).name == facts["token"])
            and (isinstance(output, list) and all(isinstance(path, str) for path in output))
        )
        return {**facts, "output": output} if is_job else None
    except (OSError, ValueError, LookupError, TypeError, OverflowError):
        return None


def _read_object(path: Path) -> dict:
    with open_text(path) as file:
        value = parse_json(file.read())
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


@functools.lru_cache(maxsize=4)
def _failures(log: Path, rule: str, _changed: int, _size: int) -> dict[str, Job]:
    """Reads the errors in a Snakemake log: blocks of `Error in rule NAME:` with indented lines, under a date."""
    found: dict[str, Job] = {}
    time = 0.0
    outputs: list[str] | None = None
    number: str | None = None
    with open_text(log, errors="replace") as file:
        lines = [*file.read().splitlines(), ""]
    for line in lines:
        if outputs is not None and not line.startswith("    "):
            found |= dict.fromkeys(outputs, Job(time, number))
            outputs = None
        if date := re.fullmatch(r"\[(\w{3} \w{3} +\d+ [\d:]{8} \d{4})\]", line):
            time = datetime.strptime(date.group(1), "%a %b %d %H:%M:%S %Y").timestamp() + 1  # the end of that second
        elif line == f"Error in rule {rule}:":
            outputs, number = [], None
        elif outputs is not None:
            key, _, value = line.strip().partition(": ")
            if key == "output":
                outputs = value.removesuffix(" (check log file(s) for error details)").split(", ")
            elif key == "external_jobid":
                number = value
    return found
