"""Reads the metrics of runs with Arrow, and writes them as one table, a few runs at a time.

Types are decided over all runs before anything is written: a field is a whole number only if every run says so.
"""

import csv as csv_format
import io
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet

from neurozoo.files import open_file, open_text

_ROWS = 50_000  # of a group in a Parquet file
_COLUMNS = 8  # that are converted at once
_NAMES = {"string": pa.string(), "Int64": pa.int64(), "Float64": pa.float64(), "boolean": pa.bool_()}

Types = Mapping[str, str]  # pandas' names of types, by column


def read_table(path: str | os.PathLike, *, types: Types, columns: Collection[str] | None = None) -> pa.Table:
    """Reads a `.csv` of metrics, or some of its columns; the types of those without one come from their values.

    Raises:
        ValueError: A row has too many or too few cells, or a value does not have the type of its column.
    """
    with open_text(path, newline="") as file:
        header = next(csv_format.reader(file), [])
    if len(set(header)) < len(header):
        raise ValueError("two columns have the same name")
    chosen = None if columns is None else [name for name in header if name in columns]
    kinds = {name: _NAMES[kind] for name, kind in types.items() if name in header}
    try:
        return _read(path, kinds, chosen)
    except pa.ArrowInvalid:
        # Published logs write some whole numbers as 200.0.
        whole = {name for name, kind in kinds.items() if kind == pa.int64()}
        table = _read(path, kinds | dict.fromkeys(whole, pa.float64()), chosen)
        for place, name in enumerate(table.column_names):
            if name in whole:
                table = table.set_column(place, name, table[name].cast(pa.int64()))
        return table


def _read(path: str | os.PathLike, kinds: Mapping[str, pa.DataType], columns: Sequence[str] | None) -> pa.Table:
    with open_file(path) as file:
        return arrow_csv.read_csv(
            file,
            read_options=arrow_csv.ReadOptions(
                use_threads=False, block_size=min(os.fstat(file.fileno()).st_size + 1, 2**30)
            ),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=kinds, null_values=[""], strings_can_be_null=True, include_columns=columns
            ),
        )


def find_types(paths: Sequence[str | os.PathLike], *, types: Types) -> dict[str, str]:
    """Returns the type of every column in any of several tables; raises UnusableTableError for one that is damaged."""
    found: dict[str, str] = {}
    for path in paths:
        for field in _read_noted(path, types).schema:
            found[field.name] = types.get(field.name) or _joined(found.get(field.name), field.type)
    return {name: kind or "Int64" for name, kind in found.items()}  # empty everywhere


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """Returns a table with the types of pandas that know missing values."""
    kinds = {pa.string(): pd.StringDtype(), pa.float64(): pd.Float64Dtype(), pa.bool_(): pd.BooleanDtype()}
    kinds |= {pa.int64(): pd.Int64Dtype(), pa.null(): pd.Int64Dtype(), pa.large_string(): pd.StringDtype()}
    return table.to_pandas(types_mapper=kinds.get)


def read_narrow(
    parquet: BinaryIO, *, is_needed: Callable[[str], bool], is_repeated: Callable[[str], bool]
) -> pd.DataFrame:
    """Reads the columns of an open merged table that are needed, in little memory.

    Columns of texts that repeat for all rows of a run become categories.
    """
    names = [name for name in pa.parquet.read_schema(parquet).names if is_needed(name)]
    columns: dict[str, pd.Series] = {}
    for start in range(0, len(names), _COLUMNS):
        chosen = names[start : start + _COLUMNS]
        texts = [name for name in chosen if is_repeated(name)]
        table = pa.parquet.read_table(parquet, columns=chosen, read_dictionary=texts, use_threads=False)
        columns |= dict(as_pandas(table.replace_schema_metadata(None)).items())  # pandas' types would undo categories
        del table
        pa.default_memory_pool().release_unused()
    return pd.DataFrame(columns, copy=False)


def _joined(before: str | None, found: pa.DataType) -> str:
    """Returns the type of a column with values of two types; an empty text stands for no values yet."""
    now = {pa.null(): "", pa.int64(): "Int64", pa.float64(): "Float64", pa.bool_(): "boolean"}.get(found, "string")
    if not before or not now or before == now:
        return before or now
    return "Float64" if {before, now} == {"Int64", "Float64"} else "string"


def _read_noted(path: str | os.PathLike, types: Types, columns: Collection[str] | None = None) -> pa.Table:
    try:
        return read_table(path, types=types, columns=columns)
    except (ValueError, pa.ArrowException) as error:
        raise UnusableTableError(path, error) from error


class UnusableTableError(ValueError):
    """A file that is no table of metrics, `path`; the text is the reason."""

    def __init__(self, path: str | os.PathLike, error: Exception) -> None:
        super().__init__(str(error))
        self.path = path


def write_parquet(
    paths: Sequence[str | os.PathLike], parquet: str | os.PathLike, *, types: Types, labels: Mapping[str, str]
) -> None:
    """Writes several tables as one, with the type of every column, in the order of the columns.

    `labels` are the values of the column `label` by the path of a table; the column is in `types` if there are any.
    """
    empty = pd.DataFrame({name: pd.array([], dtype=kind) for name, kind in types.items()})
    schema = pa.Schema.from_pandas(empty, preserve_index=False)
    with pa.parquet.ParquetWriter(parquet, schema) as writer:
        for group in _groups(paths, schema, types, labels):
            writer.write_table(group)
            del group
            pa.default_memory_pool().release_unused()


def _groups(
    paths: Sequence[str | os.PathLike], schema: pa.Schema, types: Types, labels: Mapping[str, str]
) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    for path in paths:
        table = _read_noted(path, types)
        if os.fspath(path) in labels:
            values = pa.array([labels[os.fspath(path)]] * len(table), pa.string())
            table = table.drop_columns(["label"]) if "label" in table.column_names else table
            table = table.append_column("label", values)
        columns = [
            table[field.name].cast(field.type) if field.name in table.column_names else pa.nulls(len(table), field.type)
            for field in schema
        ]
        waiting.append(pa.table(columns, schema=schema))
        if sum(map(len, waiting)) >= _ROWS:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def copy_rows(path: str | os.PathLike, merged: BinaryIO, *, columns: Sequence[str], label: str | None) -> None:
    """Appends the rows of a table to another one that may have more columns. Rows of equal columns are copied as lines.

    The last column gets a label; None keeps that of the table, if any.

    Raises:
        ValueError, csv.Error: The table is damaged.
    """
    with open_file(path) as file:
        data = file.read()
    head, _, body = data.partition(b"\n")
    if label is None and head == csv_line(columns).encode() and b"\r" not in body and b"\n\n" not in body:
        merged.write(body if body.endswith(b"\n") or not body else body + b"\n")
        return
    rows = csv_format.reader(io.StringIO(data.decode("utf-8"), newline=""))
    names = next(rows)
    places = {name: place for place, name in enumerate(names)} | ({"label": len(names)} if label else {})
    pick = itemgetter(*(places.get(name, -1) for name in columns))  # -1 is an empty cell behind the others
    extra = [label, ""] if label else [""]
    lines = io.TextIOWrapper(merged, encoding="utf-8", newline="", write_through=True)
    csv_format.writer(lines, lineterminator="\n").writerows(pick([*row, *extra]) for row in rows if row)
    lines.detach()  # which leaves the file open


def csv_line(cells: Iterable[str]) -> str:
    """Returns a line of a table, without its end."""
    line = io.StringIO()
    csv_format.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()
