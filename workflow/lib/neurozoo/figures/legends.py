"""The legend above a figure: lines and columns of its entries, and their height."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

_LETTER, _KEY, _SIDES, _LINE, _AROUND = 0.072, 0.6, 0.8, 0.19, 0.2  # inches, in the sizes of `style.figure_theme`
_SHORTEST = 20  # letters of a line; narrower columns are hard to read


@dataclass(frozen=True)
class Legend:
    """The entries of a legend, arranged."""

    labels: tuple[str, ...]  # the entries, with line breaks
    columns: int  # number of columns
    height: float  # inches


def arranged(labels: Sequence[str], width: float) -> Legend:
    """Arranges a legend in few lines. Long names are broken and not cut, because their ends may be what differs.

    Args:
        labels: The entries; a single one needs no legend and no height.
        width: Inches of the figure.
    """
    found = [_in_columns(labels, columns, width) for columns in range(1, len(labels) + 1)]
    return min(filter(None, found), key=lambda legend: legend.height)


def _in_columns(labels: Sequence[str], columns: int, width: float) -> Legend | None:
    """Returns the legend in so many columns, from top to bottom; None if they would be too narrow for their names."""
    letters = int(((width - _SIDES) / columns - _KEY) / _LETTER)
    if columns > 1 and letters < min(_SHORTEST, max(map(len, labels))):
        return None
    texts = tuple(textwrap.fill(label, max(_SHORTEST, letters)) for label in labels)
    rows = -(-len(texts) // columns)
    lines = sum(max(text.count("\n") + 1 for text in texts[row::rows]) for row in range(rows))
    return Legend(texts, columns, _LINE * lines + _AROUND if len(texts) > 1 else 0.0)
