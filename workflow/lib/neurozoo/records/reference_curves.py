"""Reads learning curves of other programs, which figures show beside ours and never mix with them."""

import os
from collections.abc import Mapping

import numpy as np
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


def shown_references(references: pd.DataFrame | None, reports: pd.DataFrame, *, up_to: float | None) -> pd.DataFrame:
    """Returns the part of reference curves that stands beside a game's runs; between their reports, they are linear.

    Args:
        references: Rows of `read_references`; None for none.
        reports: Rows of runs with `game` and `frames`; games without runs have no references.
        up_to: Their last frame; None for the last frame of the runs of the same game.
    """
    if references is None:
        return reports.iloc[:0]
    ends = reports.groupby("game")["frames"].max()
    last = references["game"].map(ends) if up_to is None else up_to
    references = references.assign(last=last)[references["game"].isin(ends.index)]
    parts = [
        _cut(curve, float(curve["last"].iloc[0])) for _, curve in references.groupby(["game", "curve"], sort=False)
    ]
    return pd.concat(parts).drop(columns="last") if parts else references.drop(columns="last")


def _cut(curve: pd.DataFrame, last: float) -> pd.DataFrame:
    curve = curve.sort_values("frames", kind="stable")
    shown = curve[curve["frames"] <= last]
    if len(shown) in (0, len(curve)) or shown["frames"].iloc[-1] == last:
        return shown
    end = curve.iloc[[len(shown)]]  # the first report beyond
    score = np.interp(last, curve["frames"].astype(float), curve["score"].astype(float))
    return pd.concat([shown, end.assign(frames=last, score=score)])
