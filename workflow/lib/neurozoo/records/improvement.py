"""Compares agents in pairs: the probability that a run of one scores more than a run of the other."""

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from neurozoo.files import written_whole
from neurozoo.records.statistics import bootstrap_intervals, probability_of_improvement
from neurozoo.records.tables import ALL_GAMES, extent, final_scores

_PAIR = ("algo", "model", "other_algo", "other_model")
_COLUMNS = [
    *_PAIR, "protocol", "game", "games", "runs", "episodes", "frames", "other_runs", "other_episodes", "other_frames",
    "probability", "probability_low", "probability_high",
]  # fmt: skip


class _Shared(NamedTuple):
    """A game that both agents played under the same protocol, with their runs."""

    protocol: str
    game: str
    runs: pd.DataFrame
    others: pd.DataFrame


def comparison_table(
    metrics: pd.DataFrame,
    csv: str | os.PathLike,
    *,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> None:
    """Writes the probability of improvement for every pair of agents; an agent is an algorithm with a network.

    Args:
        metrics: The merged table.
        csv: The table to write. It has each pair once, in the order of appearance, with a row for each game that both
            played under the same protocol, and a row with the game `all` over these games. `probability` is the
            probability that a run of the first agent scores more than a run of the other; for the reverse, take 1
            minus it. `runs`, `episodes` (the smallest number of test episodes behind a run's score; empty if unknown)
            and `frames` (of the shortest run) belong to the first agent, `other_...` to the other. `probability_low`
            and `probability_high` are the ends of a bootstrap interval over runs; they are empty if there is a single
            run. Without any pair the table has only its header.
        replications: Number of bootstrap resamples.
        confidence: Confidence of the intervals.
        seed: Seed of the bootstrap.

    Raises:
        NeurozooError: No run has a test score.
    """
    bootstrap = {"replications": replications, "confidence": confidence, "seed": seed}
    agents = list(final_scores(metrics).groupby(["algo", "model"], sort=False))
    rows = []
    for (first, runs), (second, others) in itertools.combinations(agents, 2):
        pair = dict(zip(_PAIR, (*first, *second), strict=True))
        shared = list(_shared_games(runs, others))
        for games in shared:
            rows.append(pair | {"protocol": games.protocol, "game": games.game} | _compared([games], bootstrap))
        if shared:
            protocols = ", ".join(dict.fromkeys(games.protocol for games in shared))
            rows.append(pair | {"protocol": protocols, "game": ALL_GAMES} | _compared(shared, bootstrap))
    with written_whole(csv) as temporary:
        table = pd.DataFrame(rows, columns=_COLUMNS)
        table.to_csv(temporary, index=False, lineterminator="\n", float_format="%.8g")


def _shared_games(runs: pd.DataFrame, others: pd.DataFrame) -> Iterator[_Shared]:
    """Yields the games that both agents played under the same protocol."""
    known = dict(list(others.groupby(["protocol", "game"], sort=False)))
    for (protocol, game), group in runs.groupby(["protocol", "game"], sort=False):
        if (protocol, game) in known:
            yield _Shared(protocol, game, group, known[protocol, game])


def _compared(shared: Sequence[_Shared], bootstrap: Mapping[str, Any]) -> dict[str, Any]:
    own, other = [games.runs for games in shared], [games.others for games in shared]
    scores = [runs["test_score"].to_numpy(float) for runs in (*own, *other)]

    def improvement(games: Sequence[np.ndarray]) -> np.ndarray:
        return probability_of_improvement(games[: len(shared)], games[len(shared) :])

    low, high = bootstrap_intervals(scores, {"": improvement}, **bootstrap)[""]
    return {
        "games": len(shared),
        **extent(pd.concat(own)),
        **{f"other_{name}": number for name, number in extent(pd.concat(other)).items()},
        "probability": improvement(scores),
        "probability_low": low,
        "probability_high": high,
    }
