"""Formats numbers for people."""

import math


def number_label(value: float) -> str:
    """Formats a score in three digits or in whole numbers: 0.389, 17.8, 4,536.

    Halves, which means of few episodes often are, go up: 142.5 to 143.
    """
    return f"{math.floor(value + 0.5):,}" if 100 <= abs(value) < math.inf else f"{value:.3g}"
