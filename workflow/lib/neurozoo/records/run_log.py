"""Turns a run's log into `metrics.csv`, one row per report.

It reads our `log.jsonl` and the text logs of the published codes (GPU code and distributed code), and recognises each
by its content. So runs of these codes appear in the same tables and figures as ours.
"""

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

from neurozoo.environments.protocols import FRAME_SKIP, PROTOCOLS
from neurozoo.errors import NeurozooError, explained, unknown_name
from neurozoo.files import open_file, open_text, parse_json
from neurozoo.files.csv import write_csv_rows
from neurozoo.records.format import KEY, check_format
from neurozoo.records.genome_changes import GROWING, Restorer
from neurozoo.records.published_log import ELITE_GENOME, PUBLISHED_FIELDS
from neurozoo.records.published_reports import EPISODES, read_reports
from neurozoo.records.run_config import IDENTITY

UNITS = ("frames", "evaluations")  # what budgets count; each record has one of them
STANDARD = ("score", "test_score")  # columns that every algorithm has, too

START_AGAIN = "If the run stopped before its first report, start it again."
_CHUNK = 2**16  # bytes that are read at once from the end of a log
_LONG = (ELITE_GENOME, "Lineage", "Arrivals", "Episodes")  # too long for a table of all reports
Record = dict[str, Any]
NO_FACTS: Mapping[str, str] = {}


def parse_log(
    log: str | os.PathLike,
    csv: str | os.PathLike,
    *,
    identity: Mapping[str, object],
    facts: Mapping[str, str] = NO_FACTS,
    columns: Sequence[str] | None = None,
) -> None:
    """Turns a run's log, ours or of the published codes, into a table that every tool can read.

    Args:
        log: Our `log.jsonl`, or a text log of the published codes.
        csv: The table to write: the columns of `identity`, then `frames` (emulator frames) or `evaluations`, `score`,
            `test_score`, `score_episodes` and `test_episodes` (the numbers of episodes of these means), then the
            fields, then the columns of `facts`. A field that a report lacks is an empty cell.
        identity: The values of `IDENTITY` for this run. The steps of a published log have as many frames as its
            protocol says.
        facts: What makes the run comparable, by the names of columns; see `records.comparability`.
        columns: The fields to keep, by their published names; a wrong one is an error with the most similar one. None
            for all fields of the log except those with a list in every report: lineage, order of arrival, games of
            training and the elite's genome.
    """
    protocol = PROTOCOLS.get(str(identity["protocol"]))
    frame_skip = protocol.frame_skip if protocol else FRAME_SKIP
    # Twice from the disk instead of once into memory: the fields have to be known before the first row.
    names = list(dict.fromkeys(name for record in iter_log(log, frame_skip=frame_skip) for name in record))
    always = (*(unit for unit in UNITS if unit in names), *STANDARD, *EPISODES)
    found = [name for name in names if name not in always]
    for name in columns or ():
        if name not in PUBLISHED_FIELDS and name not in found:
            raise unknown_name("log field", name, {*PUBLISHED_FIELDS, *found})
    fields = [name for name in found if name not in _LONG] if columns is None else list(dict.fromkeys(columns))
    first, last = [identity[name] for name in IDENTITY], facts.values()
    records = iter_log(log, frame_skip=frame_skip, with_genomes=ELITE_GENOME in fields)
    rows = ([*first, *(_cell(record.get(name)) for name in (*always, *fields)), *last] for record in records)
    write_csv_rows(csv, [*IDENTITY, *always, *fields, *facts], rows)


def read_log(log: str | os.PathLike, *, frame_skip: int = FRAME_SKIP) -> list[Record]:
    """Reads all reports of a log into memory, with genomes; see `iter_log`, which is for long ones."""
    return list(iter_log(log, frame_skip=frame_skip, with_genomes=True))


def iter_log(log: str | os.PathLike, *, frame_skip: int = FRAME_SKIP, with_genomes: bool = False) -> Iterator[Record]:
    """Reads the reports of a log one by one, in memory that does not grow with a log of ours.

    Args:
        log: Our `log.jsonl`, or a text log of the published codes.
        frame_skip: Frames per step, for text logs, which count steps only.
        with_genomes: Whether records have the elite's genome.

    Yields:
        One record per report, in order, with at least the keys of `STANDARD`. An unfinished report at the end, of a
        killed or running job, is left out.

    Raises:
        NeurozooError: The log is missing, holds no finished report, or is damaged before its last line.
    """
    is_empty = True
    try:
        with open_text(log, errors="replace") as file:
            first = next((line for line in file if line.strip()), "")
            file.seek(0)
            if first.startswith("{"):
                _check_format(first, log)
                restorer = Restorer() if with_genomes else None
                records = finished_lines(file, log, partial(_parse, restorer=restorer))
            else:
                records = iter(read_reports(file, frame_skip, with_genomes=with_genomes))
            for record in records:
                is_empty = False
                yield record
    except FileNotFoundError as error:
        raise NeurozooError(
            f"{log} is missing; a run's log was expected there. Start the run, or correct the path."
        ) from error
    except OSError as error:
        raise explained(error, log) from error
    if is_empty:
        raise NeurozooError(
            f"{log} holds no finished report: neither JSON lines nor a table of the published codes. {START_AGAIN}"
        )


def _check_format(first: str, log: str | os.PathLike) -> None:
    """Refuses a log of another form, by its first report; one that is not whole is refused or left out elsewhere."""
    with contextlib.suppress(ValueError):
        if isinstance(found := parse_json(first), dict):
            check_format(found, log)


def check_whole(log: str | os.PathLike) -> None:
    """Checks that the log of a finished run was not cut off; `iter_log` leaves an unfinished last report out."""
    try:
        with open_file(log) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
            is_whole = file.read() in (b"", b"\n")
        if not is_whole:
            *_, last = open_text(log, errors="replace")
            with contextlib.suppress(ValueError):
                parse_json(last)
                is_whole = True
    except OSError as error:
        raise explained(error, log) from error
    if not is_whole:
        whole = Path(log).parent / "state" / "log.jsonl"
        raise NeurozooError(
            f"{log} is damaged: its last line was cut off, so its last report is missing. Copy {whole} over it, or "
            "restore it from a copy."
        )


def log_paths(run_dir: str | os.PathLike) -> tuple[Path, Path]:
    """Returns where a run may have its log, the better place first.

    `state/log.jsonl` grows while a run trains. `log.jsonl` is what it was when a training ended: shorter if a larger
    budget continues the run, and all that is left if its state was deleted.
    """
    return Path(run_dir, "state", "log.jsonl"), Path(run_dir, "log.jsonl")


def current_log(run_dir: str | os.PathLike) -> Path | None:
    """Returns the log of a run with all reports so far; None if it has none yet."""
    return next((path for path in log_paths(run_dir) if path.exists() and path.stat().st_size), None)


def read_last_record(log: str | os.PathLike) -> Record | None:
    """Reads the last whole line of a `log.jsonl`, to which a run may be writing; None if it is missing or damaged."""
    return next(iter_backwards(log), None)


def iter_backwards(log: str | os.PathLike) -> Iterator[Record]:
    """Yields the whole lines of a `log.jsonl`, to which a run may be writing, from the end, as many as are asked for.

    They end with the first one or a damaged one; there are none if the log is missing.
    """
    line, is_end = b"", True
    try:
        with open_file(log) as file:
            start = file.seek(0, os.SEEK_END)
            while start > 0:
                size = min(_CHUNK, start)
                start -= size
                file.seek(start)
                line, *lines = (file.read(size) + line).split(b"\n")
                if is_end and lines:
                    lines.pop()  # an unfinished line, or nothing
                    is_end = False
                if start == 0 and not is_end:
                    lines = [line, *lines]
                for each in filter(None, reversed(lines)):
                    if not isinstance(record := parse_json(each), dict):
                        return
                    yield record
    except (OSError, ValueError):
        return


def progress_of(record: Mapping[str, Any]) -> tuple[str, int | None]:
    """Returns the unit of a record's budget, `frames` or `evaluations`, and how much of it is spent."""
    unit = next((unit for unit in UNITS if unit in record), UNITS[0])
    return unit, record.get(unit)


def finished_lines(lines: Iterable[str], log: str | os.PathLike, parse: Callable[[str], Record]) -> Iterator[Record]:
    """Parses the lines of a `log.jsonl`. An unfinished one at the end, of a killed or running job, is left out.

    `parse` makes a record of a line. Its ValueError, TypeError, LookupError or OverflowError says that the line is
    damaged, which ends in an error that names `log`, unless the line is the last one.
    """
    damaged = None
    for number, line in enumerate(lines, start=1):
        if damaged:
            raise NeurozooError(
                f"{log} is damaged: line {damaged[0]} should be a report, a JSON object that continues those before "
                f"it, but is not ({damaged[1]}). Restore the file from a copy, or start the run again."
            )
        if not line.strip():
            continue
        try:
            record = parse(line)
        except (TypeError, ValueError, LookupError, OverflowError) as error:
            damaged = number, error  # allowed if nothing follows: the job was killed while it wrote, or still writes
            continue
        yield record


def _parse(line: str, restorer: Restorer | None) -> Record:
    """Reads a report; its genome is restored, or left out without a restorer."""
    if not _is_report(record := parse_json(line)):
        raise ValueError(f"{', '.join(STANDARD)} and {' or '.join(UNITS)} should be numbers")
    record.pop(KEY, None)
    if restorer:
        return restorer.restore(record)
    record.pop(ELITE_GENOME, None)
    return record


def _is_report(record: object) -> TypeGuard[Record]:
    """Says whether a line has what every report has, in the right types. What else it has is of its algorithm."""
    return (
        isinstance(record, dict)
        and (set(STANDARD) <= set(record) and bool(set(UNITS) & set(record)))
        and all(_is_count(record.get(name)) for name in (*UNITS, *EPISODES, "Iteration", "TimeElapsedTotal"))
        and all(record[name] is None or _is_number(record[name]) for name in STANDARD)
    )


def _is_count(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and math.isfinite(value) and abs(value) < 2**63)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and (math.isnan(value) or abs(value) < 1e300)


def read_last_complete(log: str | os.PathLike) -> Record | None:
    """Reads the last report of a `log.jsonl` with all that it leaves to those before it; None if there is none."""
    last = read_last_record(log)
    if last is None or not any(isinstance(last.get(name), dict) for name in GROWING):
        return last
    restorer, record = Restorer(), last
    try:
        with open_text(log) as file:
            for line in file:
                record = restorer.restore(parse_json(line), is_wanted=False)
    except (OSError, TypeError, ValueError, LookupError) as error:
        raise NeurozooError(f"{log} is damaged ({error}). Restore the file if you can.") from error
    return record | restorer.last


def _cell(value: object) -> object:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return json.dumps(value) if isinstance(value, list | dict) else value
