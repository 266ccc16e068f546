"""The rows and columns of a legend above a figure. Every `width` is that of the figure in inches."""

import math
import textwrap
from collections.abc import Sequence


def wrapped(labels: Sequence[str], width: float) -> list[str]:
    """Returns legend entries in as many lines as they need: the end of a name may be what differs."""
    return [textwrap.fill(label, max(20, int((width - 0.95) / 0.066))) for label in labels]


def legend_height(labels: Sequence[str], width: float) -> float:
    """Returns the inches that a legend needs beyond the room for a few lines that every figure has."""
    lines = sum(label.count("\n") + 1 for label in wrapped(labels, width))
    return 0.17 * max(0, math.ceil(lines / legend_columns(labels, width)) - 3)


def legend_columns(labels: Sequence[str], width: float) -> int:
    """Returns how many legend entries fit into a row."""
    entry = 0.6 + 0.075 * max(map(len, labels))
    return max(1, min(len(labels), int((width - 0.8) / entry)))
