"""Writes tables and numbers for people."""

import math
from collections.abc import Collection, Iterable, Sequence


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[str]) -> list[str]:
    """Pads the cells of each column to the same width; returns one line per row.

    The first row has the headings; `right` are those of the columns to align right, such as numbers.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if head in right else cell.ljust(width)
            for cell, width, head in zip(row, widths, rows[0], strict=True)
        ).rstrip()
        for row in rows
    ]


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Writes a table in Markdown, one line per row."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def duration_text(seconds: float) -> str:
    """Formats a duration, such as `3 d 4 h`, `2 h 5 min` or `45 s`."""
    seconds = max(0, round(seconds))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 86400:
        return f"{seconds // 3600} h {seconds % 3600 // 60} min"
    return f"{seconds // 86400} d {seconds % 86400 // 3600} h"


def number_label(value: float) -> str:
    """Formats a score in three digits or in whole numbers: 0.389, 17.8, 4,536.

    Halves, which means of few episodes often are, go up: 142.5 to 143.
    """
    return f"{math.floor(value + 0.5):,}" if 100 <= abs(value) < math.inf else f"{value:.3g}"
