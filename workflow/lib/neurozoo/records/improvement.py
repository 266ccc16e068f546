"""Compares agents in pairs: how often a run of one scores more than a run of the other, and whether that is chance."""

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from neurozoo.files.csv import write_csv_table
from neurozoo.records.comparability import PLAYED, SETTINGS, VARIANT, differing_facts
from neurozoo.records.statistics import bootstrap_intervals, holm_corrected, probability_of_improvement, rank_test
from neurozoo.records.tables import ALL_GAMES, extent, final_scores

_AGENT = ("algo", "model", VARIANT, SETTINGS)
_NAMES = ("algo", "model", VARIANT)
_COUNTS = ["games", "runs", "episodes", "frames", "other_runs", "other_episodes", "other_frames"]
_COLUMNS = [
    *_NAMES, *(f"other_{name}" for name in _NAMES), "protocol", "game", *_COUNTS,
    "probability", "probability_low", "probability_high", "p", "p_holm", "left_out", SETTINGS, f"other_{SETTINGS}",
]  # fmt: skip


class _Shared(NamedTuple):
    """A game that both agents played in the same way, with their runs."""

    played: str
    game: str
    runs: pd.DataFrame
    others: pd.DataFrame

    @property
    def is_lottery(self) -> bool:
        return bool(self.runs["lottery"].any() or self.others["lottery"].any())


def comparison_table(
    metrics: pd.DataFrame,
    csv: str | os.PathLike,
    *,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> None:
    """Writes the probability of improvement for every pair of agents: an algorithm with a network and settings.

    Args:
        metrics: The merged table.
        csv: The table to write. It has each pair once, in the order of appearance, with a row for each game that both
            played in the same way: with equal facts of protocol and tests, whatever the protocol is called. A row with
            the game `all` is over these games without lotteries (see `records.lotteries`); its `left_out` says which
            games that both played are not in it, and why. If that leaves no game, its probability is empty. `protocol`
            is the way, as in `comparability.with_names`; `variant` names the settings where there are several.
            `probability` is the probability that a run of the first agent scores more than a run of the other; for the
            reverse, take 1 minus it. `runs`, `episodes` (the smallest number of test episodes behind a run's score;
            empty if unknown) and `frames` (of the earliest last test) belong to the first agent, `other_...` to the
            other. `probability_low` and `probability_high` are the ends of a bootstrap interval over runs. They are
            empty if an agent has fewer than five runs in a game, or if its resamples are all alike, which says nothing
            of how sure that is. `p` is that of `rank_test` in a game, and `p_holm` is corrected for all pairs and games
            of the table. Without any pair the table has only its header.
        replications: Number of bootstrap resamples.
        confidence: Confidence of the intervals.
        seed: Seed of the bootstrap.

    Raises:
        NeurozooError: No run has a test score.
    """
    bootstrap = {"replications": replications, "confidence": confidence, "seed": seed}
    agents = list(final_scores(metrics).groupby(list(_AGENT), sort=False))
    rows = []
    for (first, runs), (second, others) in itertools.combinations(agents, 2):
        pair = dict(zip([*_AGENT, *(f"other_{name}" for name in _AGENT)], (*first, *second), strict=True))
        shared = _shared_games(runs, others)
        for games in shared:
            sides = [side["test_score"].to_numpy(float) for side in (games.runs, games.others)]
            row = pair | {"protocol": games.played, "game": games.game, "p": rank_test(*sides)}
            rows.append(row | _compared([games], bootstrap))
        left_out = _about_left_out(runs, others)
        if shared or left_out:
            ways = "; ".join(dict.fromkeys(games.played for games in shared))
            drawn = {games.game for games in shared if games.is_lottery}
            if drawn:
                left_out = " ".join([*filter(None, [left_out]), f"Left out in {', '.join(drawn)}: a lottery."])
            counted = [games for games in shared if not games.is_lottery]
            over_all = {"protocol": ways, "game": ALL_GAMES, "games": 0, "left_out": left_out}
            rows.append(pair | over_all | (_compared(counted, bootstrap) if counted else {}))
    # Pairs that were not compared have no counts; with these empty cells, the others would become floats.
    table = pd.DataFrame(rows, columns=_COLUMNS).astype(dict.fromkeys(_COUNTS, "Int64"))
    write_csv_table(csv, table.assign(p_holm=holm_corrected(table["p"].to_numpy(float))), digits=8)


def _shared_games(runs: pd.DataFrame, others: pd.DataFrame) -> list[_Shared]:
    """Returns the games that both agents played in the same way."""
    known = dict(list(others.groupby([PLAYED, "game"], sort=False)))
    return [
        _Shared(played, game, group, known[played, game])
        for (played, game), group in runs.groupby([PLAYED, "game"], sort=False)
        if (played, game) in known
    ]


def _about_left_out(runs: pd.DataFrame, others: pd.DataFrame) -> str:
    """Returns a sentence about games that both agents played, but not all runs in the same way; else nothing."""
    ways = [dict(table.groupby("game", sort=False)[PLAYED].agg(frozenset)) for table in (runs, others)]
    games = [game for game in ways[0] if game in ways[1] and ways[0][game] != ways[1][game]]
    if not games:
        return ""
    both = pd.concat([runs, others])
    facts = ", ".join(differing_facts(both[both["game"].isin(games)]))
    return f"Left out in {', '.join(games)}: episodes were played differently ({facts})."


def _compared(shared: Sequence[_Shared], bootstrap: Mapping[str, Any]) -> dict[str, Any]:
    own, other = [games.runs for games in shared], [games.others for games in shared]
    scores = [runs["test_score"].to_numpy(float) for runs in (*own, *other)]

    names = [games.game for games in shared]
    weights = [1 / names.count(name) for name in names]  # a game that was played in several ways counts once

    def improvement(games: Sequence[np.ndarray]) -> np.ndarray:
        pairs = zip(games[: len(shared)], games[len(shared) :], strict=True)
        return np.average([probability_of_improvement([own], [other]) for own, other in pairs], axis=0, weights=weights)

    low, high = bootstrap_intervals(scores, {"": improvement}, **bootstrap)[""]
    return {
        "games": len(set(names)),
        **extent(pd.concat(own)),
        **{f"other_{name}": number for name, number in extent(pd.concat(other)).items()},
        "probability": improvement(scores),
        "probability_low": low if low < high else np.nan,
        "probability_high": high if low < high else np.nan,
    }
