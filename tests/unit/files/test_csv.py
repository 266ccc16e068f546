"""Tables that people open in spreadsheets."""

import csv
from pathlib import Path

import neurozoo
import numpy as np
import pandas as pd
import pytest
from neurozoo.files.csv import write_csv_rows, write_csv_table

FORMULAS = ["=2+3", "+x", "-x", "@f", "\tx", "\rx", "\nx", "=", "-1, x", "--1", "\uff1d2+3", "\uff20f", "-", "+1-2"]
NUMBERS = ["-1", "+1", "-1.5e-3", "-1, 1", "-inf"]
PLAIN = ["", "a=b", "1+1", "'=2", " =2", "(-x)", "ε-greedy"]


def cells(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [row[0] for row in csv.reader(file)]


@pytest.mark.parametrize("write", ["rows", "table"])
def test_texts_that_would_be_formulas_get_an_apostrophe_and_numbers_stay(tmp_path, write):
    texts = [*FORMULAS, *NUMBERS, *PLAIN]
    if write == "rows":
        write_csv_rows(tmp_path / "t.csv", ["=head", "n"], ((text, 0) for text in texts))
    else:
        write_csv_table(tmp_path / "t.csv", pd.DataFrame({"=head": texts, "n": 0}))
    escaped = ["'" + text.replace("\r", "\n") for text in FORMULAS]  # readers end a row at a carriage return
    assert cells(tmp_path / "t.csv") == ["'=head", *escaped, *NUMBERS, *PLAIN]


def test_numbers_and_missing_values_are_written_as_pandas_writes_them(tmp_path):
    table = pd.DataFrame(
        {
            "whole": pd.array([-1, None], "Int64"),
            "point": [-1 / 3, np.nan],
            "mixed": pd.Series([-2, None], dtype=object),  # stays -2, not -2.0
            "text": pd.array(["-x", None], "string"),
        }
    )
    write_csv_table(tmp_path / "t.csv", table, digits=3, na="nan")
    assert (tmp_path / "t.csv").read_text() == "whole,point,mixed,text\n-1,-0.333,-2,'-x\nnan,nan,nan,nan\n"


def test_no_other_module_writes_tables():
    """`metrics_files` joins tables that are written already."""
    library = Path(neurozoo.__file__).parent
    writers = [
        str(path.relative_to(library))
        for path in library.rglob("*.py")
        if any(call in path.read_text() for call in ("to_csv(", "DictWriter(", "csv.writer(", "csv_format.writer("))
    ]
    assert sorted(writers) == ["files/csv.py", "records/metrics_files.py"]
