"""`levels.parquet`: everything that a search has evaluated, one row per level."""

import os
from collections.abc import Mapping

import numpy as np

from neurozoo.errors import NeurozooError, explained
from neurozoo.files import open_file, written_whole


def write_levels(path: str | os.PathLike, columns: Mapping[str, np.ndarray]) -> None:
    """Writes a `.parquet` with a row per level. Equal arrays give equal bytes.

    Entries of several dimensions become lists; their shape is in the column's metadata.
    """
    import pyarrow as pa
    from pyarrow import parquet

    fields, arrays = [], []
    for name, column in columns.items():
        shape, values = column.shape[1:], pa.array(column.reshape(-1))
        if shape:
            values = pa.FixedSizeListArray.from_arrays(values, int(np.prod(shape)))
        about = {"shape": ",".join(map(str, shape))} if shape else None
        fields.append(pa.field(name, values.type, metadata=about))
        arrays.append(values)
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    try:
        with written_whole(path) as temporary:
            parquet.write_table(table, temporary, compression="zstd")
    except OSError as error:
        raise explained(error, path) from error


def read_levels(path: str | os.PathLike, columns: list[str] | None = None) -> dict[str, np.ndarray]:
    """Reads arrays of a table of levels by name, in their shapes. A file from a stranger is safe to read."""
    from pyarrow import ArrowException, parquet

    try:
        with open_file(path) as file:
            table = parquet.read_table(file, columns=columns)
        if missing := [name for name in columns or () if name not in table.column_names]:
            raise ValueError(f"it lacks {', '.join(missing)}")
        found = {}
        for field in table.schema:
            column = table.column(field.name).combine_chunks()
            if shape := (field.metadata or {}).get(b"shape"):
                flat = column.flatten().to_numpy(zero_copy_only=False)
                found[field.name] = flat.reshape(len(column), *map(int, shape.decode().split(",")))
            else:
                found[field.name] = column.to_numpy(zero_copy_only=False)
        return found
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing. Train the run, or copy all its files.") from error
    except (OSError, ValueError, ArrowException) as error:
        raise NeurozooError(f"{path} is no table of levels ({error}). Delete it and train the run again.") from error
