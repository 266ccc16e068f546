"""Formats tables for a terminal and for Markdown."""

from collections.abc import Collection, Iterable, Sequence


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[str]) -> list[str]:
    """Pads the cells of each column to the same width.

    Args:
        rows: The rows, all with the same number of cells. The first row has the headings.
        right: Headings of the columns to align right, such as numbers.

    Returns:
        One line per row.
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
