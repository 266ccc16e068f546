"""`reports.csv`: what a claim's runs reported, kept with its record, so that runs of other nights can join them."""

import csv as csv_format
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from neurozoo.book.record import TakenRun
from neurozoo.errors import NeurozooError
from neurozoo.files import open_text
from neurozoo.records.run_log import EPISODES, IDENTITY, STANDARD, UNITS

REPORTS = "reports.csv"
SECONDS = "TimeElapsedTotal"


def write_reports(tables: Iterable[str | os.PathLike], output: str | os.PathLike, *, fields: Iterable[str]) -> None:
    """Writes what tables and figures of the book need of some runs; facts are left out, because the record has them.

    Args:
        tables: The runs' `metrics.csv`.
        output: The table to write, a row per report; numbers stay as they are written in `tables`.
        fields: Other columns to keep.
    """
    runs = [list(_rows(path)) for path in tables]
    known = {name for rows in runs for name in rows[0]}
    columns = [name for name in (*IDENTITY, *UNITS, *STANDARD, *EPISODES, SECONDS, *fields) if name in known]
    _write(output, columns, (row for rows in runs for row in rows))


def restore_table(
    reports: str | os.PathLike, run: TakenRun, facts: Mapping[str, str], output: str | os.PathLike
) -> None:
    """Writes the `metrics.csv` of one run of a record.

    Raises:
        NeurozooError: The reports have none of this run.
    """
    rows = [{**row, **facts} for row in _rows(reports) if _name(row) == run.name]
    if not rows:
        raise NeurozooError(
            f"{reports} has no reports of {run.name}, but the record beside it names the run. "
            "Restore both: git checkout."
        )
    _write(output, rows[0], rows)


def _rows(path: str | os.PathLike) -> Iterator[dict[str, str]]:
    with open_text(path, newline="") as file:
        yield from csv_format.DictReader(file)


def _name(row: Mapping[str, str]) -> str:
    return "/".join(row[name] for name in ("algo", "game", "model", "run"))


def _write(path: str | os.PathLike, columns: Iterable[str], rows: Iterable[Mapping[str, str]]) -> None:
    with open(Path(path), "w", encoding="utf-8", newline="") as file:
        writer = csv_format.DictWriter(file, list(columns), restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
