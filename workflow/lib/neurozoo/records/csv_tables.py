"""Reads CSV tables with known columns; a table from a stranger is safe to read."""

import os
from collections.abc import Collection

import pandas as pd

from neurozoo.errors import NeurozooError
from neurozoo.files import open_file


def read_csv_table(
    path: str | os.PathLike,
    *,
    numbers: Collection[str],
    texts: Collection[str],
    remedy: str,
    more_numbers: Collection[str] = (),
    more_texts: Collection[str] = (),
) -> pd.DataFrame:
    """Reads a table and checks its columns.

    Args:
        path: The file.
        numbers: Columns that it must have, of numbers or empty cells.
        texts: Columns that it must have, of texts without empty cells.
        remedy: What the user can do about a bad file, for error messages.
        more_numbers: Columns of numbers that it may have.
        more_texts: Columns of texts that it may have, and whose cells may be empty.
    """
    try:
        with open_file(path) as file:
            types = dict.fromkeys((*texts, *more_texts), "string")
            # Not pandas' own list of missing values: a network may be called `null`, and a label `None`.
            table = pd.read_csv(file, index_col=False, dtype=types, keep_default_na=False, na_values=["", "nan"])
        check_columns(table, numbers=numbers, texts=texts, more_numbers=more_numbers)
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing. {remedy}") from error
    except (ValueError, OverflowError, OSError) as error:
        raise NeurozooError(f"{path} is damaged or not such a table ({str(error)[:200]}). {remedy}") from error
    return table


def check_columns(
    table: pd.DataFrame, *, numbers: Collection[str], texts: Collection[str], more_numbers: Collection[str] = ()
) -> None:
    """Raises ValueError if a column is missing or of another kind; arguments as for `read_csv_table`."""
    if missing := [name for name in (*texts, *numbers) if name not in table]:
        raise ValueError(f"it lacks {', '.join(missing)}")
    for name in (*numbers, *more_numbers):
        if name in table and not (table[name].isna().all() or pd.api.types.is_numeric_dtype(table[name])):
            raise ValueError(f"{name} should be a column of numbers")
    for name in texts:
        if table[name].isna().any():
            raise ValueError(f"{name} has empty cells")
