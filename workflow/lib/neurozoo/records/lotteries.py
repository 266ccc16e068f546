"""Finds agents whose test scores have two peaks, because chance decides whole games; a mean says nothing of these."""

import numpy as np
import pandas as pd

from neurozoo.records.run_config import IDENTITY

# Scores of games that one side wins without a point of the other.
DECIDED = {"pong": (-21, 21), "tennis": (-24, 24)}


def with_lotteries(scores: pd.DataFrame, metrics: pd.DataFrame, agent: list[str]) -> pd.DataFrame:
    """Says in a column `lottery` which agents win some games to nil and lose the others to nil.

    Reports have means only. In Pong a mean of n such games is a multiple of 42 / n above -21, which that of another
    agent is by chance in one of 42 tests. An agent plays a lottery if at least two of its tests, and half of those
    above the lowest score, are such means. A test that several reports repeat counts once.

    `scores` has a row per run with the columns of `IDENTITY` and `agent`, and `metrics` the reports of these runs.
    """
    lowest, highest = (metrics["game"].map({game: ends[place] for game, ends in DECIDED.items()}) for place in (0, 1))
    low, high = lowest.to_numpy(float), highest.to_numpy(float)
    episodes = metrics["test_episodes"].to_numpy(float, na_value=np.nan)
    won = (metrics["test_score"].to_numpy(float, na_value=np.nan) - low) * episodes / (high - low)
    tests = metrics.assign(decided=np.isclose(won, np.round(won)))[(won > 0) & (won < episodes)]
    tests = tests.drop_duplicates([*IDENTITY, "test_score"])[[*IDENTITY, "decided"]]
    decided = scores[[*dict.fromkeys((*IDENTITY, *agent))]].merge(tests, on=list(IDENTITY))
    counts = decided.groupby([*agent, "game"])["decided"].agg(["sum", "mean"])
    found = counts.index[(counts["sum"] >= 2) & (counts["mean"] >= 0.5)]
    return scores.assign(lottery=pd.MultiIndex.from_frame(scores[[*agent, "game"]]).isin(found))
