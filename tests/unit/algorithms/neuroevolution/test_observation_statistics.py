"""Statistics of observations and noise on actions, against numbers worked out by hand."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.evolution_strategies import EvolutionStrategy, ObservationStatistics
from neurozoo.algorithms.neuroevolution.settings import EsSettings
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.evaluation.stepwise import StepwiseEvaluator
from neurozoo.genomes.genome import Genome, Weights
from searches import check_resuming

GAME = "gym.Pendulum-v1"
PROTOCOL = protocol_of(GAME)
LAYOUT = layout_of(GAME, "mujoco", PROTOCOL)


class Always:
    """Random numbers that let every episode enter the statistics."""

    def random(self, count):
        return np.zeros(count)


def episode_of(*observations):
    """The result of an episode with these observations."""
    seen = np.array(observations, np.float64)
    return EpisodeResult(0.0, len(seen), len(seen), behaviour=np.stack([seen.sum(0), np.square(seen).sum(0)]))


# ---- arithmetic


def test_before_any_observation_the_mean_is_0_and_the_deviation_1():
    reference = ObservationStatistics((1, 1, 2), share=1.0).reference
    assert reference.dtype == np.float32
    np.testing.assert_array_equal(reference, [[[[0, 0]]], [[[1, 1]]]])


def test_statistics_are_those_of_all_observations_and_the_initial_hundredth():
    statistics = ObservationStatistics((1, 1, 2), share=1.0)
    statistics.add([episode_of((1, 10), (3, 10)), episode_of((5, 10))], Always())
    assert statistics.count == 3.01
    # By hand: sums 9 and 30, squares 35.01 and 300.01, of 3.01 observations.
    mean, deviation = statistics.reference.reshape(2, 2)
    np.testing.assert_allclose(mean, [9 / 3.01, 30 / 3.01], rtol=1e-6)
    # (35.01 * 3.01 - 81) / 3.01^2 = 24.3801 / 9.0601; (300.01 * 3.01 - 900) / 3.01^2 = 3.0301 / 9.0601.
    np.testing.assert_allclose(deviation, np.sqrt([24.3801 / 9.0601, 3.0301 / 9.0601]), rtol=1e-6)


def test_the_deviation_is_at_least_a_tenth():
    statistics = ObservationStatistics((1, 1, 1), share=1.0)
    statistics.add([episode_of(*[(0.001 * (n % 2),) for n in range(10_000)])], Always())
    assert statistics.reference[1].item() == pytest.approx(0.1)


def test_only_the_drawn_episodes_enter():
    class Drawn:
        def random(self, count):
            return np.array([0.009, 0.011, 0.0])[:count]

    statistics = ObservationStatistics((1, 1, 1), share=0.01)
    statistics.add([episode_of((2,)), episode_of((400,)), episode_of((6,), (7,))], Drawn())
    assert statistics.count == 3.01
    assert statistics.sums.tolist() == [[15.0], [4.0 + 36 + 49 + 0.01]]


# ---- episodes


def evaluator(noise, behaviour="none"):
    return StepwiseEvaluator(noise=noise, layout=LAYOUT, game=GAME, protocol=PROTOCOL, behaviour=behaviour)


def played(noise, *, action_noise=0.0, seed=3, reference=None, behaviour="none", steps=20):
    genome = Genome(Weights.of(np.zeros(LAYOUT.parameter_count)))
    engine = evaluator(noise, behaviour)
    engine.set_reference(
        np.array([[0, 0, 0], [1, 1, 1]], np.float32).reshape(2, 1, 1, 3) if reference is None else reference
    )
    engine.pin([genome])
    engine.submit({0: Episode(genome, 0, seed, steps, action_noise)})
    return engine.receive(timeout=0)[0]


def test_an_episode_sums_its_observations_and_their_squares(small_noise_table):
    result = played(small_noise_table, behaviour="observation_sums")
    environment = gymnasium.make("Pendulum-v1")
    observation, _ = environment.reset(seed=3)
    sums = np.zeros((2, 3))
    for _ in range(20):  # the weights are 0, so the actions are, too
        sums += (observation.astype(float), observation.astype(float) ** 2)
        observation, *_ = environment.step(np.zeros(1, np.float32))
    np.testing.assert_allclose(result.behaviour, sums)
    assert result.steps == 20


def test_noise_moves_the_actions_and_depends_on_the_episodes_seed_only(small_noise_table):
    quiet, noisy, again, other = (
        played(small_noise_table, action_noise=noise, seed=seed)
        for noise, seed in ((0, 3), (0.5, 3), (0.5, 3), (0.5, 4))
    )
    assert noisy == dataclasses.replace(again, seconds=noisy.seconds)
    assert len({quiet.score, noisy.score, other.score}) == 3
    # Weights of 0 act 0; the noise of this seed is what the action is.
    from neurozoo.randomness import Purpose, generator

    environment = gymnasium.make("Pendulum-v1")
    environment.reset(seed=3)
    random, score = generator((3,), Purpose.ACTION_NOISE), 0.0
    for _ in range(20):
        action = np.float32(0.5) * random.standard_normal(1, np.float32)
        score += float(environment.step(np.clip(action, -2, 2))[1])
    assert noisy.score == pytest.approx(score, rel=1e-6)


def test_a_network_with_statistics_does_not_play_without_them(small_noise_table):
    genome = Genome(Weights.of(np.zeros(LAYOUT.parameter_count)))
    engine = evaluator(small_noise_table)
    engine.pin([genome])
    engine.submit({0: Episode(genome, 0, 1, 5)})
    with pytest.raises(NeurozooError, match="needs the mean and standard deviation of observations"):
        engine.receive(timeout=0)
    with pytest.raises(NeurozooError, match=r"needs a reference batch of shape \(2, 1, 1, 3\)"):
        engine.set_reference(np.zeros((3, 1, 1, 3), np.float32))


# ---- evolution strategies


def made(**changes):
    settings = {"population_size": 4, "num_test_episodes": 1, "observation_statistics": 1.0, "action_noise": 0.25}
    noise = np.random.default_rng(1).normal(size=LAYOUT.parameter_count + 50).astype(np.float32)
    return EvolutionStrategy(
        EsSettings(**settings | changes), entropy=(0, 1), layout=LAYOUT, noise=noise, protocol=PROTOCOL
    )


def tell(es, observation):
    results = [
        dataclasses.replace(episode_of((observation,) * 3), score=float(n)) for n in range(len(es.ask().episodes))
    ]
    return es.tell(results)


def test_the_population_plays_with_noise_and_old_statistics_and_tests_without_noise_and_with_new_ones():
    es = made()
    assert es.behaviour == "observation_sums"
    tell(es, 9.0)  # the test of the initial weights does not count
    np.testing.assert_array_equal(es.reference.reshape(2, 3), [[0] * 3, [1] * 3])
    assert {episode.action_noise for episode in es.ask().episodes} == {0.25}
    tell(es, 2.0)
    assert {episode.action_noise for episode in es.ask().episodes} == {0.0}
    np.testing.assert_allclose(es.reference[0].reshape(3), [4 * 2 / 4.01] * 3, rtol=1e-6)


def test_stopping_and_continuing_after_any_generation_equals_never_stopping():
    def play(episode):
        return episode_of((1.5 + episode.seed % 7,) * 3)

    check_resuming(lambda: made(observation_statistics=0.5), play, generations=4)


def test_what_does_not_fit_is_refused():
    with pytest.raises(NeurozooError, match=r"for gym\. worlds with vectors only"):
        layout_of("hard_maze", "mujoco", protocol_of("hard_maze"))
    EsSettings(action_noise=0.1).check_game(GAME)
    for game in ("hard_maze", "gym.CartPole-v1", "pong"):
        with pytest.raises(NeurozooError, match="action_noise is for"):
            EsSettings(action_noise=0.1).check_game(game)
