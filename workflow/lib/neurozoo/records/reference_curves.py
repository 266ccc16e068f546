"""Reads learning curves of other programs, which figures show beside ours and never mix with them."""

import os
from collections.abc import Mapping

import pandas as pd

from neurozoo.records.simple_dqn_csv import read_reference


def read_references(files: Mapping[str, Mapping[str, str | os.PathLike]], *, phase: str = "train") -> pd.DataFrame:
    """Reads curves for the panels of several games.

    Args:
        files: A CSV of simple_dqn for each name in the legend and each game.
        phase: `train` or `test`, see `read_reference`.

    Returns:
        Rows with `game`, `curve`, `frames` and `score`; no rows if there are no files.

    Raises:
        NeurozooError: A file is missing or damaged.
    """
    empty = pd.DataFrame({"game": [], "curve": [], "frames": [], "score": []})
    curves = [
        read_reference(path, phase=phase).assign(game=game, curve=f"{name} ({phase})")
        for name, games in files.items()
        for game, path in games.items()
    ]
    return pd.concat(curves, ignore_index=True)[[*empty]] if curves else empty
