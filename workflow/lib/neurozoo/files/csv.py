"""Writes CSV tables that are safe in a spreadsheet: no cell is a formula."""

import csv
import os
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from neurozoo.files import written_whole

if TYPE_CHECKING:
    import pandas as pd

_NUMBERS = "biuf"  # kinds of columns


def begins_formula(text: str) -> bool:
    """Whether spreadsheets take a text for a formula, which they compute when they open a table (OWASP: CSV injection).

    Negative numbers begin like formulas, too.
    """
    return text != "" and unicodedata.normalize("NFKC", text[0]) in "=+-@\t\r\n"


def write_csv_table(path: str | os.PathLike, table: "pd.DataFrame", *, digits: int | None = None, na: str = "") -> None:
    """Writes a table whole, without its index, as `write_csv_rows` does.

    `digits` are the significant ones of numbers with a point; `na` stands for missing values.
    """
    texts = [name for name in table if table[name].dtype.kind not in _NUMBERS]
    # As arrays of objects: pandas would make numbers of a column in which only some cells are numbers.
    safe = table.assign(**{name: np.array([*map(_cell, table[name])], object) for name in texts}).rename(columns=_cell)
    with written_whole(path) as temporary:
        safe.to_csv(
            temporary, index=False, lineterminator="\n", na_rep=na, float_format=f"%.{digits}g" if digits else None
        )


def write_csv_rows(path: str | os.PathLike, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Writes a table whole. Texts that would be formulas get an apostrophe in front; numbers stay numbers."""
    with written_whole(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(_cell, columns))
        writer.writerows(map(_cell, row) for row in rows)


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    value = value.replace("\r\n", "\n").replace("\r", "\n")  # `csv.writer` does not quote a carriage return
    return f"'{value}" if begins_formula(value) and not _are_numbers(value) else value


def _are_numbers(text: str) -> bool:
    """Whether a text is a number, or a list of numbers as `comparability` writes it: `-1, 1`."""
    try:
        return bool([float(part) for part in text.split(", ")])
    except ValueError:
        return False
