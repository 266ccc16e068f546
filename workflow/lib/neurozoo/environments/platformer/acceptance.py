"""Judges a generator of levels by what hand-made levels are like, and by what the agent makes of its levels.

Source: section 13.5 of the description of DSAGE (acceptance of a trained generator).
"""

import os

import numpy as np

from neurozoo.environments.platformer import tiles as t
from neurozoo.environments.platformer.domain import SKY_ROWS, Decoder
from neurozoo.environments.platformer.simulator import CORE, WON, play

SKY_PERCENTILES = {5: 0.0, 50: 11.0, 95: 94.0}  # of the original's levels
FEWEST_WON, FEWEST_WHOLE_PIPES = 0.8, 0.8
_FACTOR = 2.0
_BUDGET = 450  # nodes per tick
_PIPE_WIDTH = 2


def judge(
    decoder: Decoder, *, count: int = 1000, seed: int = 0, threads: int = 1, core: str | os.PathLike = CORE
) -> dict[str, object]:
    """Draws levels from N(0, I), lets the agent play each of them once, and compares.

    Returns:
        `won` (share of levels that the agent gets through, at least 0.8), `sky_percentiles` (5th, 50th and 95th of the
        tiles in the sky; each one plus 1 within a factor of 2 of the original's plus 1), `missing_tiles` (should be
        none), `whole_pipes` (share of the runs of pipe tiles in a row that are 2 wide, at least 0.8; None without
        pipes), `met`, for each of these four whether it is met, and `is_accepted`, whether all are.
    """
    levels = t.without_wrong_ends(decoder(np.random.default_rng(seed).standard_normal((count, 32))))
    games = play(t.to_characters(levels), np.full((count, 1), _BUDGET), threads=threads, core=core)
    won = float((games.status == WON).mean())
    sky = (levels[:, :SKY_ROWS] != t.AIR).sum(axis=(1, 2))
    percentiles = {each: float(np.percentile(sky, each)) for each in SKY_PERCENTILES}
    ratios = np.array([(percentiles[each] + 1) / (wanted + 1) for each, wanted in SKY_PERCENTILES.items()])
    missing = [tile for number, tile in enumerate(t.ALPHABET) if not (levels == number).any()]
    widths = pipe_widths(levels)
    whole = float((widths == _PIPE_WIDTH).mean()) if len(widths) else None
    met = {
        "won": won >= FEWEST_WON,
        "sky_percentiles": bool(((ratios <= _FACTOR) & (ratios >= 1 / _FACTOR)).all()),
        "missing_tiles": not missing,
        "whole_pipes": whole is not None and whole >= FEWEST_WHOLE_PIPES,
    }
    return {
        "levels": count,
        "seed": seed,
        "won": round(won, 4),
        "sky_percentiles": {str(each): round(value, 2) for each, value in percentiles.items()},
        "missing_tiles": "".join(missing),
        "whole_pipes": None if whole is None else round(whole, 4),
        "met": met,
        "is_accepted": all(met.values()),
    }


def pipe_widths(levels: np.ndarray) -> np.ndarray:
    """Returns the lengths of all runs of pipe tiles in rows of levels: int, shape (runs,)."""
    is_pipe = np.pad(levels == t.PIPE, ((0, 0), (0, 0), (1, 1))).reshape(-1).astype(np.int8)
    change = np.diff(is_pipe)
    return np.flatnonzero(change == -1) - np.flatnonzero(change == 1)
