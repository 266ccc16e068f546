"""Who is better than whom, and how sure that is: algorithms and networks in pairs."""

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from neurozoo.files import written_whole
from neurozoo.statistics import bootstrap_intervals, probability_of_improvement
from neurozoo.tables import ALL_GAMES, extent, final_scores

_PAIR = ("algo", "model", "other_algo", "other_model")
_COLUMNS = [
    *_PAIR, "protocol", "game", "games", "runs", "episodes", "frames", "other_runs", "other_episodes", "other_frames",
    "probability", "probability_low", "probability_high",
]  # fmt: skip

_Shared = tuple[str, str, pd.DataFrame, pd.DataFrame]  # protocol, game, and the two agents' runs


def comparison_table(
    metrics: pd.DataFrame,
    csv: str | os.PathLike,
    *,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> None:
    """Tabulates the probability of improvement of each agent (algorithm with network) over each other one.

    Args:
        metrics: The merged table.
        csv: The table to write. Each pair of agents stands there once, in the order in which they appear, with a row
            for each game that both played under the same protocol, and one with the game `all` over these.
            `probability` is that of a run of the first scoring more than one of the other; 1 minus it is the other
            way round. `runs`, `episodes` (the fewest test episodes behind a run's score; empty if unknown) and
            `frames` (of the shortest run) are the first's, `other_...` the other's. `probability_low` and
            `probability_high` are the ends of a bootstrap interval over runs, empty where there is a single run.
            Without a pair there is only the header.
        replications: Bootstrap resamples.
        confidence: Of the intervals.
        seed: Of the bootstrap.

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
            rows.append(pair | {"protocol": games[0], "game": games[1]} | _compared([games], bootstrap))
        if shared:
            protocols = ", ".join(dict.fromkeys(protocol for protocol, *_ in shared))
            rows.append(pair | {"protocol": protocols, "game": ALL_GAMES} | _compared(shared, bootstrap))
    with written_whole(csv) as temporary:
        table = pd.DataFrame(rows, columns=_COLUMNS)
        table.to_csv(temporary, index=False, lineterminator="\n", float_format="%.8g")


def _shared_games(runs: pd.DataFrame, others: pd.DataFrame) -> Iterator[_Shared]:
    """Yields the games that both agents played in the same way."""
    known = dict(list(others.groupby(["protocol", "game"], sort=False)))
    for (protocol, game), group in runs.groupby(["protocol", "game"], sort=False):
        if (protocol, game) in known:
            yield protocol, game, group, known[protocol, game]


def _compared(shared: Sequence[_Shared], bootstrap: Mapping[str, float]) -> dict[str, float]:
    own, other = (pd.concat([games[i] for games in shared]) for i in (2, 3))
    scores = [games[i]["test_score"].to_numpy(float) for i in (2, 3) for games in shared]

    def improvement(games: Sequence[np.ndarray]) -> np.ndarray:
        return probability_of_improvement(games[: len(shared)], games[len(shared) :])

    low, high = bootstrap_intervals(scores, {"": improvement}, **bootstrap)[""]
    return {
        "games": len(shared),
        **extent(own),
        **{f"other_{name}": number for name, number in extent(other).items()},
        "probability": improvement(scores),
        "probability_low": low,
        "probability_high": high,
    }
