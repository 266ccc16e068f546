"""Tables for a terminal."""

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[str]) -> list[str]:
    """Brings cells below each other.

    Args:
        rows: Of equally many cells; the first are the headings.
        right: Headings of the columns that end at the right, as numbers do.

    Returns:
        A line for each row.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if head in right else cell.ljust(width)
            for cell, width, head in zip(row, widths, rows[0], strict=True)
        ).rstrip()
        for row in rows
    ]
