"""Aggregates scores over runs and games, and computes bootstrap intervals of the aggregates.

Scores are a list with one array per game, shape (..., runs); games may have different numbers of runs. All functions
keep the leading axes, so they work on the scores themselves and on 50,000 resamples of them.

Source: Agarwal et al. 2021, arXiv:2108.13264, and the formulas of rliable 1.2.0.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

ENOUGH_RUNS = 5  # per game, as recommended for the ALE; resamples of fewer are too similar for an interval or a test
_CHUNK = 2_000  # resamples held in memory at a time


def interquartile_mean(games: Sequence[np.ndarray]) -> np.ndarray:
    """Averages the middle half of the scores, so that one lucky run or one hopeless game has little influence.

    Shape (...). All scores of all games are pooled, and the lowest and highest 25 % are dropped. Of n scores, int(n /
    4) are dropped on either side, as in `scipy.stats.trim_mean`. A game with more runs has more weight.
    """
    entries = np.sort(np.concatenate(games, axis=-1), axis=-1)
    cut = entries.shape[-1] // 4
    return entries[..., cut : entries.shape[-1] - cut].mean(axis=-1)


def mean_over_games(games: Sequence[np.ndarray]) -> np.ndarray:
    """Averages the games' means over runs, so that every game has the same weight; shapes as `interquartile_mean`."""
    return np.mean([game.mean(axis=-1) for game in games], axis=0)


def median_over_games(games: Sequence[np.ndarray]) -> np.ndarray:
    """Returns the median of the games' means over runs; shapes as `interquartile_mean`."""
    return np.median([game.mean(axis=-1) for game in games], axis=0)


def optimality_gap(games: Sequence[np.ndarray]) -> np.ndarray:
    """Measures how far the scores are below 1 (human level); scores above 1 count as 1, and lower is better.

    Shapes as `interquartile_mean`; all scores of all games are pooled.
    """
    return 1 - np.minimum(np.concatenate(games, axis=-1), 1).mean(axis=-1)


def performance_profile(games: Sequence[np.ndarray], thresholds: np.ndarray) -> np.ndarray:
    """Computes the share of runs above each threshold, which shows the whole distribution of the scores.

    Shape (thresholds, ...), between 0 and 1; all runs of all games are pooled. A score equal to the threshold is not
    above it.
    """
    entries = np.concatenate(games, axis=-1)
    return np.stack([(entries > threshold).mean(axis=-1) for threshold in thresholds])


def probability_of_improvement(games: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> np.ndarray:
    """Computes the probability that a run of one agent scores more than a run of another, by any amount.

    Shape (...): for each game the share of pairs of runs in which the agent scores more, with ties counting half (the
    Mann-Whitney U statistic divided by the number of pairs), averaged over games. Both have the same games in the same
    order; the numbers of runs may differ.
    """
    means = []
    for scores, other in zip(games, others, strict=True):
        own, rival = scores[..., :, np.newaxis], other[..., np.newaxis, :]
        means.append(((own > rival) + 0.5 * (own == rival)).mean(axis=(-2, -1)))
    return np.mean(means, axis=0)


def rank_test(scores: np.ndarray, others: np.ndarray) -> float:
    """Tests whether runs of two agents score alike, without assuming a distribution (Mann-Whitney, two-sided).

    Returns:
        The exact p-value; if there are ties and more than 9,999 ways to divide the runs, that of 9,999 random ones. NaN
        if a side has fewer than `ENOUGH_RUNS`: three against three runs cannot have less than 0.1.
    """
    if min(len(scores), len(others)) < ENOUGH_RUNS:
        return np.nan
    from scipy import stats  # takes a second

    pooled = np.concatenate([scores, others])
    has_ties = len(np.unique(pooled)) < len(pooled)
    method = stats.PermutationMethod(rng=np.random.default_rng(0)) if has_ties else "exact"
    return float(stats.mannwhitneyu(scores, others, method=method).pvalue)


def signed_rank_test(differences: np.ndarray) -> float:
    """Tests whether paired differences lie around 0, without assuming a distribution (Wilcoxon, two-sided).

    Returns:
        The exact p-value, with ties, too; differences of 0 do not count, and 1 if there are no others. NaN if there are
        fewer than `ENOUGH_RUNS` pairs.
    """
    if len(differences) < ENOUGH_RUNS:
        return np.nan
    from scipy import stats  # takes a second

    moved = differences[differences != 0]
    ranks = np.rint(2 * stats.rankdata(np.abs(moved))).astype(int)  # twice the ranks: those of ties are halves
    chances = np.ones(1)  # of each sum of ranks, if signs are coin flips
    for rank in ranks:
        chances = (np.append(chances, np.zeros(rank)) + np.append(np.zeros(rank), chances)) / 2
    found = int(ranks[moved > 0].sum())
    return float(min(2 * min(chances[: found + 1].sum(), chances[found:].sum()), 1.0))


def holm_corrected(p_values: np.ndarray) -> np.ndarray:
    """Corrects p-values for the number of tests, so that no chance result among many passes for a difference.

    Those of nothing that was tested are NaN and do not count. Source: Holm 1979.
    """
    corrected = np.full(len(p_values), np.nan)
    order = np.argsort(p_values)[: np.isfinite(p_values).sum()]  # NaN is last
    corrected[order] = np.minimum(np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1)), 1)
    return corrected


Statistic = Callable[[Sequence[np.ndarray]], np.ndarray]
AGGREGATES: Mapping[str, Statistic] = {
    "iqm": interquartile_mean,
    "median": median_over_games,
    "mean": mean_over_games,
    "optimality_gap": optimality_gap,
}


def bootstrap_intervals(
    games: Sequence[np.ndarray],
    statistics: Mapping[str, Statistic],
    *,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Estimates how much each statistic would vary with other runs (stratified percentile bootstrap).

    Args:
        games: Scores, one array of shape (..., runs) per game. Leading axes, such as the points of a curve, share the
            resampled runs.
        statistics: Functions of such a list. They keep its leading axes and may add axes before them. All get the same
            resamples.
        replications: Number of resamples; 50,000 as in rliable.
        confidence: Share of the resamples inside the interval.
        seed: Seed of the resampling; the same seed gives the same interval.

    Returns:
        (low, high) per statistic, each of shape (...). Runs are drawn with replacement within each game, never across
        games. If a game has fewer than `ENOUGH_RUNS`, its spread is not known and both ends are NaN.
    """
    if min(game.shape[-1] for game in games) < ENOUGH_RUNS:
        unknown = np.full(games[0].shape[:-1], np.nan)[()]  # a number if there are no leading axes
        return dict.fromkeys(statistics, (unknown, unknown))
    generator = np.random.default_rng(seed)
    values: dict[str, list[np.ndarray]] = {name: [] for name in statistics}
    for start in range(0, replications, _CHUNK):
        count = min(_CHUNK, replications - start)
        runs = [game.shape[-1] for game in games]
        drawn = [generator.integers(number, size=(count, number)) for number in runs]
        resampled = [game[..., indices] for game, indices in zip(games, drawn, strict=True)]
        for name, statistic in statistics.items():
            values[name].append(statistic(resampled))
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    return {name: tuple(np.quantile(np.concatenate(parts, -1), tails, axis=-1)) for name, parts in values.items()}
