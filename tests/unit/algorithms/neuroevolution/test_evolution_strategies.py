"""Small generations worked out by hand: every expected number follows from the scores that a test hands out."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.evolution_strategies import EvolutionStrategy
from neurozoo.algorithms.neuroevolution.settings import EsSettings
from neurozoo.environments.protocols import get_protocol
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome, Weights, decode
from neurozoo.records.published_log import ES_FIELDS
from searches import STANDARD, TIMES, check_resuming, tell

PARAMETERS, TABLE_SIZE = 5, 1_000
NOISE = np.random.default_rng(0).standard_normal(TABLE_SIZE, np.float32)
LAYOUT = SimpleNamespace(
    parameter_count=PARAMETERS, initialise=lambda noise: np.float32(0.5) * noise, needs_statistics=False
)


def algorithm(*, run=1, noise=NOISE, **changes):
    settings = {
        "population_size": 4,
        "num_test_episodes": 3,
        "mutation_power": 0.5,
        "episode_cutoff_mode": 100,
        "frames": 10_000,
        "optimizer": "sgd",
        "stepsize": 1.0,
        "l2coeff": 0.0,
    }
    settings = EsSettings(**settings | changes)
    entropy = (settings.seed, run)
    return EvolutionStrategy(settings, entropy=entropy, layout=LAYOUT, noise=noise, protocol=get_protocol("uber2018"))


def theta(es):
    (name,) = (name for name in es.get_arrays() if name.startswith("theta"))
    return es.get_arrays()[name].copy()


def played(episode):
    return decode(episode.genome, noise=NOISE, layout=LAYOUT)


def by(rule):
    def play(episode):
        steps = 1 + episode.noops % (episode.max_frames // 4)
        return EpisodeResult(float(rule(played(episode))), steps, 4 * steps)

    return play


crooked = by(lambda weights: np.round(np.sin(97 * weights).sum(), 1))


# ---- episodes


def test_the_initial_weights_are_a_scaled_slice_of_noise_and_are_tested_first():
    es = algorithm()
    batch = es.ask()
    assert batch.phase == "initial"
    assert not batch.is_counted
    assert len(batch.episodes) == 3
    (center,) = batch.parents
    assert {episode.genome for episode in batch.episodes} == {center}
    slices = np.lib.stride_tricks.sliding_window_view(np.float32(0.5) * NOISE, PARAMETERS)
    assert (slices == theta(es)).all(axis=1).sum() == 1
    np.testing.assert_array_equal(played(batch.episodes[0]), theta(es))
    assert {episode.max_frames for episode in batch.episodes} == {400_000}


def test_the_population_are_mirrored_pairs_around_the_weights():
    es = algorithm()
    tell(es, "initial", [0, 0, 0])
    batch = es.ask()
    assert batch.phase == "population"
    assert batch.is_counted
    assert batch.parents == (Genome(Weights.of(theta(es))),)
    for plus, minus in zip(batch.episodes[::2], batch.episodes[1::2], strict=True):
        (up,), (down,) = plus.genome.mutations, minus.genome.mutations
        assert up.index == down.index
        assert (up.power, down.power) == (0.5, -0.5)
        assert plus.genome.parent == minus.genome.parent == batch.parents[0]
        np.testing.assert_allclose((played(plus) + played(minus)) / 2, theta(es), atol=1e-6)  # the published check
    assert {episode.max_frames for episode in batch.episodes} == {400}
    assert len({(episode.noops, episode.seed) for episode in batch.episodes}) == 4


def test_indices_reach_both_ends_of_the_table():
    # 10 places, 400 draws: that one of the two ends is never drawn has the chance 2 * 0.9^400 < 1e-17.
    es = algorithm(population_size=800, noise=NOISE[: PARAMETERS + 9])
    tell(es, "initial", [0, 0, 0])
    assert {mutation.index for episode in es.ask().episodes for mutation in episode.genome.mutations} == set(range(10))


# ---- the step


@pytest.mark.parametrize(
    ("mode", "weights"),
    [
        ("centered_rank", (-1 / 3, 1)),  # of 1, 2, 3, 0: ranks -1/6, 1/6 and 1/2, -1/2
        ("sign", (2 - 5, 0 - -1)),
        ("centered_sign_rank", (1 / 6 - 1 / 2, -1 / 6 - -1 / 2)),  # of 2, 5, 0, -1: ranks 2, 3, 1, 0
    ],
)
@pytest.mark.parametrize("decay", [0.0, 0.25])
def test_the_weights_move_by_ranks_or_signs_times_noise(mode, weights, decay):
    es = algorithm(return_proc_mode=mode, l2coeff=decay)
    before = theta(es)
    tell(es, "initial", [0, 0, 0])
    first, _, second, _ = (episode.genome.mutations[0].index for episode in es.ask().episodes)
    tell(es, "population", [1, 2, 3, 0], signs=[2.0, 5.0, 0.0, -1.0])
    one, two = (NOISE[index : index + PARAMETERS] for index in (first, second))
    gradient = (weights[0] * one + weights[1] * two) / 4
    np.testing.assert_allclose(theta(es), before + gradient - decay * before, rtol=1e-5, atol=1e-6)
    assert es.ask().parents == (Genome(Weights.of(theta(es))),)
    assert {episode.genome for episode in es.ask().episodes} == set(es.ask().parents)


# ---- the report


def test_a_generation_reports_what_the_published_code_does():
    es = algorithm(l2coeff=0.25)
    before = theta(es).astype(float)
    assert tell(es, "initial", [3, 4, 8]) is None
    assert tell(es, "population", [1, 2, 5, 0], steps=[10, 20, 30, 40]) is None
    report = tell(es, "test", [9, 9, 12], steps=[1, 2, 4])
    measured = {name: report.pop(name) for name in ("Norm", "GradNorm", "UpdateRatio")}
    assert report == {
        "frames": (4 * 10 - 1) + (4 * 20 - 1) + (4 * 30 - 1) + (4 * 40 - 1),
        "score": 10.0,
        "score_episodes": 3,
        "test_score": 10.0,
        "test_episodes": 3,
        "Iteration": 1,
        "MutationPower": 0.5,
        "TimestepLimitPerEpisode": 100,
        "PopulationEpRewMax": 5.0,
        "PopulationEpRewMean": 2.0,
        "PopulationEpRewMedian": 1.5,
        "PopulationEpCount": 4,
        "PopulationTimesteps": 100,
        "TestRewMean": 10.0,
        "TestRewMedian": 9.0,
        "TestEpCount": 3,
        "TestEpLenSum": 7,
        "InitialRewMax": 8.0,
        "InitialRewMean": 5.0,
        "InitialRewMedian": 4.0,
        "TimestepsThisIter": 100,
        "TimestepsComputed": 100,
        "TimestepsSoFar": 100,
    }
    assert set(report) == set(ES_FIELDS) - TIMES | STANDARD
    json.dumps(report, allow_nan=False)  # plain numbers, no NumPy
    step = theta(es) - before
    gradient = step + 0.25 * before
    assert measured["Norm"] == pytest.approx((theta(es).astype(float) ** 2).sum())
    assert measured["GradNorm"] == pytest.approx((gradient**2).sum(), rel=1e-4)
    assert measured["UpdateRatio"] == pytest.approx(np.sqrt((step**2).sum() / (before**2).sum()), rel=1e-4)


def test_the_result_is_what_there_is_now_even_if_it_was_better_before():
    es = algorithm()
    tell(es, "initial", [0, 0, 0])
    for iteration, score in ((1, 100), (2, 50)):
        tell(es, "population", [0, 1, 2, 3])
        report = tell(es, "test", [score] * 3)
        assert es.best.genome == Genome(Weights.of(theta(es)))
        assert (es.best.iteration, es.best.test_score, es.best.validation_score) == (iteration, score, None)
        assert es.best.frames == es.frames
        assert report["score"] == report["test_score"] == score


def test_the_adaptive_limit_counts_each_episode():
    es = algorithm(episode_cutoff_mode="adaptive:50,0.5,2,150")
    tell(es, "initial", [0, 0, 0], steps=1000)

    def limit_after(*steps):
        tell(es, "population", [0] * 4, steps=steps)
        report = tell(es, "test", [0] * 3, steps=1000)
        assert isinstance(report["TimestepLimitPerEpisode"], int)
        return es.ask().episodes[0].max_frames // 4

    assert limit_after(50, 50, 49, 1) == 50  # half is not more than half; no pair's sum counts
    assert limit_after(50, 50, 50, 1) == 100
    assert limit_after(100, 100, 100, 100) == 150


# ---- repeatable


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": "adam"},
        {"optimizer": "sgd"},
        {"optimizer": "sgd_2017", "episode_cutoff_mode": "adaptive:10,0.1,1.5,60"},
        {"mutation_power": {"type": "exponential", "initial": 0.1, "final": 0.01, "length": 300, "field": "steps"}},
    ],
    ids=["adam", "sgd", "adaptive", "schedule"],
)
def test_stopping_and_continuing_after_any_generation_equals_never_stopping(changes):
    check_resuming(lambda: algorithm(**changes), crooked)


@pytest.mark.parametrize("array", [np.zeros(4, np.float32), np.zeros(5)], ids=["too short", "float64"])
def test_arrays_that_do_not_fit_are_refused(array):
    es = algorithm()
    with pytest.raises(ValueError, match="float32 of shape"):
        es.set_state(es.get_state(), {name: array for name in es.get_arrays()})


@pytest.mark.parametrize(("ties", "moves"), [("order", True), ("average", False)])
@pytest.mark.parametrize("mode", ["centered_rank", "centered_sign_rank"])
def test_a_generation_of_equal_scores_makes_no_step_with_average_ranks(ties, moves, mode):
    es = algorithm(tied_ranks=ties, return_proc_mode=mode, optimizer="adam")
    before = theta(es)
    tell(es, "initial", [7, 7, 7])
    tell(es, "population", [7, 7, 7, 7])
    report = tell(es, "test", [7, 7, 7])
    assert (report["GradNorm"] > 0) == moves
    assert bool(np.any(theta(es) != before)) == moves
