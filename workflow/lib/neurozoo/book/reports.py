"""`reports.csv`: what a claim's runs reported, kept with its record, so that runs of other nights can join them."""

import csv as csv_format
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from neurozoo.book.record import REMEDY
from neurozoo.errors import NeurozooError
from neurozoo.files import open_text
from neurozoo.files.csv import write_csv_rows
from neurozoo.records.run_config import IDENTITY
from neurozoo.records.run_log import EPISODES, STANDARD, UNITS

REPORTS = "reports.csv"
SECONDS, PROCESSOR_SECONDS = "TimeElapsedTotal", "ProcessorTimeTotal"

Row = dict[str, str]


def write_reports(tables: Iterable[str | os.PathLike], output: Path, *, fields: Iterable[str]) -> None:
    """Writes what tables and figures of the book need of some runs; facts are left out, because the record has them.

    The `tables` are the runs' `metrics.csv`, whose numbers stay as they are written; `fields` are other columns to
    keep.
    """
    wanted = dict.fromkeys((*IDENTITY, *UNITS, *STANDARD, *EPISODES, SECONDS, PROCESSOR_SECONDS, *fields))
    rows = [{name: row[name] for name in wanted if name in row} for path in tables for row in _read(path)]
    known = {name for row in rows for name in row}
    _write(output, [name for name in wanted if name in known], rows)


def reports_of_record(path: Path) -> dict[str, list[Row]]:
    """Reads the reports of a record, by the names of its runs, such as `ga/pong/large/1`.

    Raises:
        NeurozooError: The file is missing or damaged.
    """
    found: dict[str, list[Row]] = {}
    try:
        for row in _read(path):
            found.setdefault("/".join(row[name] for name in ("algo", "game", "model", "run")), []).append(row)
    except (LookupError, TypeError, ValueError, csv_format.Error) as error:
        raise NeurozooError(f"{path} is damaged ({type(error).__name__}: {error}). {REMEDY}") from error
    return found


def restore_table(rows: Sequence[Row], facts: Mapping[str, str], output: Path) -> None:
    """Writes the `metrics.csv` of one run from its reports, at least one, and its facts."""
    _write(output, [*rows[0], *facts], ({**row, **facts} for row in rows))


def _read(path: str | os.PathLike) -> Iterable[Row]:
    csv_format.field_size_limit(2**31 - 1)  # a genome of thousands of mutations is one cell
    with open_text(path, newline="") as file:
        yield from csv_format.DictReader(file)


def _write(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    write_csv_rows(path, columns, ([row.get(name, "") for name in columns] for row in rows))
