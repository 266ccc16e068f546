import itertools

import numpy as np
import pytest
from neurozoo.records.statistics import (
    AGGREGATES,
    bootstrap_intervals,
    holm_corrected,
    interquartile_mean,
    mean_over_games,
    median_over_games,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
    rank_test,
    signed_rank_test,
)
from scipy.stats import mannwhitneyu, trim_mean


def games(*scores):
    return [np.array(game, float) for game in scores]


def test_the_interquartile_mean_drops_a_quarter_of_all_entries_on_either_side():
    # Pooled and sorted: 0 1 2 3 4 5 6 100; the middle half is 2 3 4 5.
    assert interquartile_mean(games([100, 2, 0, 3], [6, 4, 1, 5])) == 3.5


def test_the_interquartile_mean_drops_no_fraction_of_an_entry():
    # Six entries: int(1.5) = 1 goes on either side.
    assert interquartile_mean(games([0, 1, 2], [3, 4, 50])) == 2.5
    for count in range(1, 14):
        values = np.random.default_rng(count).normal(size=count)
        assert interquartile_mean([values]) == pytest.approx(trim_mean(values, 0.25), rel=1e-12)


def test_mean_and_median_weigh_every_game_the_same():
    unequal = games([0, 2], [4], [10, 10, 10, 14])  # means 1, 4, 11
    assert mean_over_games(unequal) == pytest.approx(16 / 3)
    assert median_over_games(unequal) == 4


def test_the_optimality_gap_counts_scores_above_human_level_as_one():
    assert optimality_gap(games([0.5, 2.0], [-1.0, 1.0])) == pytest.approx(1 - (0.5 + 1 - 1 + 1) / 4)


def test_the_profile_is_the_share_of_runs_above_each_threshold():
    profile = performance_profile(games([0.1, 0.5], [0.5, 2.0, 3.0]), np.array([0, 0.1, 0.4, 0.5, 2.5, 3]))
    assert profile.tolist() == [1, 0.8, 0.8, 0.4, 0.2, 0]  # equal is not above


def test_the_probability_of_improvement_counts_pairs_and_half_of_ties():
    # Pairs of the first game: 1 < 2, 1 < 3, 3 > 2, 3 = 3: 1.5 of 4. Of the second: 5 > 1.
    found = probability_of_improvement(games([1, 3], [5]), games([2, 3], [1]))
    assert found == pytest.approx((1.5 / 4 + 1) / 2)
    assert probability_of_improvement(games([2, 3], [1]), games([1, 3], [5])) == pytest.approx(1 - found)
    assert probability_of_improvement(games([4, 4]), games([4, 4, 4])) == 0.5


def test_intervals_are_those_of_a_plain_bootstrap():
    generator = np.random.default_rng(5)
    scores = [generator.normal(size=6), generator.normal(2, 3, size=5)]
    thresholds = np.array([-1.0, 0.5, 2.0])
    statistics = {**AGGREGATES, "profile": lambda games: performance_profile(games, thresholds)}
    found = bootstrap_intervals(scores, statistics, replications=20_000)
    plain = {name: [] for name in statistics}
    for _ in range(3_000):
        resample = [[game[generator.integers(len(game))] for _ in game] for game in scores]
        pooled = sorted(value for game in resample for value in game)
        means = sorted(sum(game) / len(game) for game in resample)
        plain["iqm"].append(sum(pooled[2:9]) / 7)
        plain["median"].append(sum(means) / 2)
        plain["mean"].append(sum(means) / 2)
        plain["optimality_gap"].append(1 - sum(min(value, 1) for value in pooled) / 11)
        plain["profile"].append([sum(value > threshold for value in pooled) / 11 for threshold in thresholds])
    for name, values in plain.items():
        expected = np.percentile(values, [2.5, 97.5], axis=0)
        # The ends of 3,000 resamples vary by some hundredths of these scores; those of a profile by a run.
        assert np.stack(found[name]) == pytest.approx(expected, abs=0.101 if name == "profile" else 0.12), name


def test_intervals_are_the_percentiles_of_all_possible_resamples():
    means = [np.mean(resample) for resample in itertools.product([0, 2, 10, 20, 50], repeat=5)]
    expected = np.quantile(np.repeat(means, 10), [0.1, 0.9])
    found = bootstrap_intervals(
        games([0, 2, 10, 20, 50]), {"mean": mean_over_games}, replications=20_000, confidence=0.8
    )["mean"]
    assert found == pytest.approx(tuple(expected), abs=0.41)  # means are steps of 0.4


def test_the_rank_test_is_exact_and_needs_five_runs():
    low, high = np.arange(5.0), np.arange(5.0, 10.0)
    assert rank_test(low, high) == pytest.approx(2 / 252)  # of 252 ways to divide ten runs, two are as extreme
    # With four ties: as extreme as 0 0 0 0 0 against 0 0 0 1 1 is every division that has both ones on one side.
    assert rank_test(np.zeros(5), np.array([0.0, 0, 0, 1, 1])) == pytest.approx(2 * 56 / 252)
    assert rank_test(low, low + 0.5) == mannwhitneyu(low, low + 0.5, method="exact").pvalue
    assert np.isnan(rank_test(low[:4], high))


def test_the_signed_rank_test_counts_all_signs_of_the_differences():
    differences = np.array([-1.0, 2, -3, -3, 0, -5])  # ranks 1, 2, 3.5, 3.5, 5; those of negative ones sum to 13 of 15
    ranks = np.array([1, 2, 3.5, 3.5, 5])
    sums = [ranks[list(signs)].sum() for signs in itertools.product([False, True], repeat=5)]
    assert signed_rank_test(differences) == pytest.approx(2 * np.mean([total >= 13 for total in sums]))
    assert signed_rank_test(-np.arange(1.0, 21)) == 2**-19
    assert signed_rank_test(np.zeros(6)) == 1
    assert np.isnan(signed_rank_test(np.ones(4)))


def test_holm_multiplies_the_smallest_p_by_all_tests_and_never_falls():
    # 0.01 x 4, 0.011 x 3 (but not below 0.04), 0.03 x 2, 0.9 x 1; NaN is no test.
    found = holm_corrected(np.array([0.9, np.nan, 0.01, 0.03, 0.011]))
    assert found == pytest.approx([0.9, np.nan, 0.04, 0.06, 0.04], nan_ok=True)
    assert holm_corrected(np.array([0.7, 0.8])).tolist() == [1, 1]


def test_runs_are_never_drawn_across_games():
    low, high = bootstrap_intervals(games([1] * 6, [5] * 5), {"mean": mean_over_games}, replications=500)["mean"]
    assert (low, high) == (3, 3)


def test_a_game_with_four_runs_leaves_the_interval_unknown():
    intervals = bootstrap_intervals(games([1, 2, 3, 4, 5], [3, 4, 5, 6]), AGGREGATES, replications=10)
    assert np.isnan([end for interval in intervals.values() for end in interval]).all()


def test_the_same_seed_gives_the_same_interval():
    def interval(seed):
        return bootstrap_intervals(games([1, 2, 4, 9, 8], [3, 5, 7, 1, 2]), AGGREGATES, replications=300, seed=seed)

    assert interval(4) == interval(4)
    assert interval(4) != interval(5)


def test_all_statistics_of_resamples_equal_those_of_each_resample_alone():
    generator = np.random.default_rng(0)
    stacked = [generator.normal(size=(6, 5)), generator.normal(size=(6, 3))]
    profile = [lambda games: performance_profile(games, np.array([0.0]))[0]]
    pairs = [lambda games: probability_of_improvement(games[:1], games[1:])]
    for statistic in (*AGGREGATES.values(), *profile, *pairs):
        alone = [statistic([game[row] for game in stacked]) for row in range(6)]
        assert statistic(stacked) == pytest.approx(alone, rel=1e-12)


def test_a_curve_is_resampled_as_whole_runs():
    curve = np.array(
        [[1.0, 2.0, 6.0, 3.0, 9.0], [10.0, 20.0, 60.0, 30.0, 90.0]]
    )  # (points, runs); the second point is ten times the first
    low, high = bootstrap_intervals([curve], {"mean": mean_over_games}, replications=200)["mean"]
    assert low.shape == (2,)
    assert (low[1], high[1]) == pytest.approx((10 * low[0], 10 * high[0]))
