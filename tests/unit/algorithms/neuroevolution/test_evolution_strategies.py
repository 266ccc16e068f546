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

PARAMETERS, TABLE_SIZE = 5, 1_000
NOISE = np.random.default_rng(0).standard_normal(TABLE_SIZE, np.float32)
LAYOUT = SimpleNamespace(
    parameter_count=PARAMETERS, initialise=lambda noise: np.float32(0.5) * noise, needs_statistics=False
)
TIMES = {
    "TimestepsPerSecondThisIter",
    "TimeElapsedThisIter",
    "TimeElapsedThisIterTotal",
    "TimeElapsed",
    "TimeElapsedTotal",
}  # which the training loop adds


def algorithm(*, run=1, **changes):
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
    return EvolutionStrategy(settings, entropy=entropy, layout=LAYOUT, noise=NOISE, protocol=get_protocol("uber2018"))


def results(scores, *, steps=10, signs=None):
    """One result for each score; `steps` is a number or one number for each."""
    every = np.broadcast_to(steps, len(scores)).tolist()
    signs = [0.0] * len(scores) if signs is None else signs
    return [
        EpisodeResult(float(score), n, 4 * n - 1, 0.1, sign)
        for score, n, sign in zip(scores, every, signs, strict=True)
    ]


def tell(es, phase, scores, **options):
    batch = es.ask()
    assert batch.phase == phase
    assert len(batch.episodes) == len(scores)
    return es.tell(results(scores, **options))


def theta(es):
    (name,) = (name for name in es.get_arrays() if name.startswith("theta"))
    return es.get_arrays()[name].copy()


def played(episode):
    return decode(episode.genome, noise=NOISE, layout=LAYOUT)


def by_rule(es, rule):
    return [
        EpisodeResult(float(rule(played(episode))), steps := 1 + episode.noops % (episode.max_frames // 4), 4 * steps)
        for episode in es.ask().episodes
    ]


def generation(es, rule):
    report = None
    while report is None:
        report = es.tell(by_rule(es, rule))
    return report


def crooked(weights):
    return np.round(np.sin(97 * weights).sum(), 1)


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
    # 996 places, 20,000 draws: that one of the two ends is never drawn has the chance 2 * exp(-20) < 1e-8.
    es = algorithm(population_size=40_000)
    tell(es, "initial", [0, 0, 0])
    indices = {mutation.index for episode in es.ask().episodes for mutation in episode.genome.mutations}
    assert (min(indices), max(indices)) == (0, TABLE_SIZE - PARAMETERS)


def test_later_generations_start_with_the_population():
    es = algorithm()
    tell(es, "initial", [0, 0, 0])
    tell(es, "population", [0, 1, 2, 3])
    assert not es.ask().is_counted
    tell(es, "test", [0, 0, 0])
    assert es.ask().phase == "population"


# ---- the step


def test_the_weights_move_by_ranks_times_noise():
    es = algorithm()
    before = theta(es)
    tell(es, "initial", [0, 0, 0])
    first, _, second, _ = (episode.genome.mutations[0].index for episode in es.ask().episodes)
    tell(es, "population", [1, 2, 3, 0])
    # Centered ranks -1/6, 1/6 and 1/2, -1/2: differences -1/3 and 1; of 4 values.
    gradient = (-1 / 3 * NOISE[first : first + PARAMETERS] + NOISE[second : second + PARAMETERS]) / 4
    np.testing.assert_allclose(theta(es), before + gradient, rtol=1e-5, atol=1e-6)
    assert es.ask().parents == (Genome(Weights.of(theta(es))),)
    assert {episode.genome for episode in es.ask().episodes} == set(es.ask().parents)


def test_weight_decay_is_part_of_the_gradient():
    es = algorithm(l2coeff=0.25)
    before = theta(es)
    tell(es, "initial", [0, 0, 0])
    first, _, second, _ = (episode.genome.mutations[0].index for episode in es.ask().episodes)
    tell(es, "population", [1, 2, 3, 0])
    gradient = (-1 / 3 * NOISE[first : first + PARAMETERS] + NOISE[second : second + PARAMETERS]) / 4
    np.testing.assert_allclose(theta(es), before + gradient - 0.25 * before, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("mode", "weights"),
    [
        ("sign", (2 - 5, 0 - -1)),
        ("centered_sign_rank", (1 / 6 - 1 / 2, -1 / 6 - -1 / 2)),  # of 2, 5, 0, -1: ranks 2, 3, 1, 0
    ],
)
def test_the_signs_of_rewards_can_weigh_the_gradient(mode, weights):
    es = algorithm(return_proc_mode=mode)
    before = theta(es)
    tell(es, "initial", [0, 0, 0])
    first, _, second, _ = (episode.genome.mutations[0].index for episode in es.ask().episodes)
    tell(es, "population", [9, 9, 9, 9], signs=[2.0, 5.0, 0.0, -1.0])
    slices = [NOISE[index : index + PARAMETERS] for index in (first, second)]
    np.testing.assert_allclose(
        theta(es), before + (weights[0] * slices[0] + weights[1] * slices[1]) / 4, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "sgd_2017"])
def test_a_quadratic_bowl_is_climbed(optimizer):
    goal = np.array([3, -2, 1, 0, -1], np.float32)

    def height(weights):
        return -((weights - goal) ** 2).sum()

    es = algorithm(population_size=40, mutation_power=0.1, optimizer=optimizer, stepsize=0.1)
    tests = [generation(es, height)["score"] for _ in range(120)]
    first = np.mean(tests[:10])
    assert np.mean(tests[-10:]) > first / 5  # a fifth of the way is left at most; both are negative
    assert first < -1


def test_the_number_of_threads_changes_nothing():
    one, many = algorithm(optimizer="adam"), algorithm(optimizer="adam")
    one.threads, many.threads = 1, 4
    for _ in range(3):
        assert generation(one, crooked) == generation(many, crooked)
    np.testing.assert_array_equal(theta(one), theta(many))


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
    standard = {"frames", "score", "score_episodes", "test_score", "test_episodes"}
    assert set(report) == set(ES_FIELDS) - TIMES | standard
    json.dumps(report, allow_nan=False)  # plain numbers, no NumPy
    step = theta(es) - before
    gradient = step + 0.25 * before
    assert measured["Norm"] == pytest.approx((theta(es).astype(float) ** 2).sum())
    assert measured["GradNorm"] == pytest.approx((gradient**2).sum(), rel=1e-4)
    assert measured["UpdateRatio"] == pytest.approx(np.sqrt((step**2).sum() / (before**2).sum()), rel=1e-4)


def test_steps_and_frames_add_up_without_tests():
    es = algorithm()
    tell(es, "initial", [0, 0, 0], steps=5000)
    for _ in range(2):
        tell(es, "population", [0, 1, 2, 3], steps=50)
        report = tell(es, "test", [0, 0, 0], steps=5000)
    assert report["TimestepsThisIter"] == 200
    assert report["TimestepsSoFar"] == report["TimestepsComputed"] == es.steps == 400
    assert report["frames"] == es.frames == 4 * 400 - 8


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


def test_without_a_limit_of_its_own_the_log_says_none():
    es = algorithm(episode_cutoff_mode="env_default")
    assert generation(es, crooked)["TimestepLimitPerEpisode"] is None


def test_a_schedule_sets_the_power_of_the_generation_it_is_logged_with():
    es = algorithm(mutation_power={"type": "linear", "initial": 0.5, "final": 0.1, "length": 4})
    assert [generation(es, crooked)["MutationPower"] for _ in range(3)] == pytest.approx([0.5, 0.4, 0.3])
    assert [episode.genome.mutations[0].power for episode in es.ask().episodes] == pytest.approx([0.2, -0.2] * 2)


def test_the_budget_is_checked_between_generations():
    es = algorithm(frames=300)
    assert not es.is_done
    tell(es, "initial", [0] * 3, steps=1000)
    assert not es.is_done
    tell(es, "population", [0, 1, 2, 3], steps=1000)
    tell(es, "test", [0] * 3)
    assert es.is_done


# ---- repeatable


def test_asking_twice_gives_the_same():
    es = algorithm()
    for _ in range(5):
        assert es.ask() == es.ask()
        es.tell(by_rule(es, crooked))


def test_another_run_or_seed_starts_elsewhere():
    starts = [theta(es) for es in (algorithm(), algorithm(run=2), algorithm(seed=1))]
    assert len({start.tobytes() for start in starts}) == 3


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
    whole = algorithm(**changes)
    expected = [generation(whole, crooked) for _ in range(5)]
    for stop in range(5):
        first = algorithm(**changes)
        reports = [generation(first, crooked) for _ in range(stop)]
        arrays = {name: array.copy() for name, array in first.get_arrays().items()}
        second = algorithm(**changes)
        second.set_state(json.loads(json.dumps(first.get_state())), arrays)
        assert second.best == first.best
        reports += [generation(second, crooked) for _ in range(5 - stop)]
        assert reports == expected
        assert second.get_state() == whole.get_state()
        assert second.best == whole.best
        for name, array in whole.get_arrays().items():
            np.testing.assert_array_equal(second.get_arrays()[name], array)


def test_a_name_of_an_array_stands_for_one_content():
    es, seen = algorithm(optimizer="adam"), {}
    for _ in range(4):
        for name, array in es.get_arrays().items():
            assert seen.setdefault(name, array.tobytes()) == array.tobytes()
        generation(es, crooked)
    assert {f"{array}-{number:05}" for array in ("theta", "m", "v") for number in range(4)} == set(seen)


@pytest.mark.parametrize("array", [np.zeros(4, np.float32), np.zeros(5)], ids=["too short", "float64"])
def test_arrays_that_do_not_fit_are_refused(array):
    es = algorithm()
    with pytest.raises(ValueError, match="float32 of shape"):
        es.set_state(es.get_state(), {name: array for name in es.get_arrays()})


@pytest.mark.parametrize("count", [3, 5])
def test_too_few_or_too_many_results_are_an_error(count):
    es = algorithm()
    tell(es, "initial", [0, 0, 0])
    with pytest.raises(ValueError, match="4 results were expected"):
        es.tell(results([0] * count))


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
