"""Learning curves of other programs, to be seen beside ours and never mixed with them."""

import os
from collections.abc import Mapping

import pandas as pd

from neurozoo.algorithms.dqn.statistics_csv import read_reference


def read_references(files: Mapping[str, Mapping[str, str | os.PathLike]], *, phase: str = "train") -> pd.DataFrame:
    """Reads curves for the panels of several games.

    Args:
        files: By the name that the legend shows, then by game: a CSV of simple_dqn.
        phase: `train` or `test`, see `read_reference`.

    Returns:
        Rows with `game`, `curve`, `frames` and `score`; none if there are no files.

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
