"""The stepwise engine gives the results of a simple Gymnasium loop."""

import gymnasium
import numpy as np
import pytest
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, make_evaluator, play, trace_episode
from neurozoo.evaluation.stepwise import StepwiseEvaluator
from neurozoo.genomes.genome import Genome, Mutation, decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.networks.numpy_networks import plain_network

PARENT = Genome(5, (Mutation(6, 0.5),))
CHILD = PARENT.mutated(7, 0.5)


def made(noise, game, model):
    protocol = protocol_of(game)
    return StepwiseEvaluator(noise=noise, layout=layout_of(game, model, protocol), game=game, protocol=protocol)


def by_hand(game, theta, layout, seed, *, is_discrete):
    arrays = layout.split(theta)
    environment = gymnasium.make(game)
    observation, _ = environment.reset(seed=seed)
    score, steps, is_over = 0.0, 0, False
    while not is_over:
        value = np.asarray(observation, np.float32)
        for placed in layout.layers:
            value = value @ arrays[f"{placed.layer.name}/w"] + arrays[f"{placed.layer.name}/b"]
            if placed.layer.activation == "relu":
                value = np.maximum(value, 0)
            elif placed.layer.activation == "tanh":
                value = np.tanh(value)
        action = int(value.argmax()) if is_discrete else np.clip(value, -2, 2)  # the pendulum's torques
        observation, reward, terminated, truncated, _ = environment.step(action)
        score, steps, is_over = score + reward, steps + 1, terminated or truncated
    return score, steps


@pytest.mark.parametrize(
    ("game", "model", "is_discrete"), [("CartPole-v1", "simple", True), ("Pendulum-v1", "dense_tanh", False)]
)
def test_an_episode_is_what_gymnasium_plays_with_the_same_seed(small_noise_table, game, model, is_discrete):
    evaluator = made(small_noise_table, f"gym.{game}", model)
    evaluator.pin([PARENT])
    found = play(
        evaluator, {n: Episode(genome, 0, n, 10**6) for n, genome in enumerate([PARENT, CHILD, PARENT, CHILD])}
    )
    noise = open_noise_table(small_noise_table, verify=False)
    layout = layout_of(f"gym.{game}", model, protocol_of(f"gym.{game}"))
    for seed, genome in enumerate([PARENT, CHILD, PARENT, CHILD]):
        theta = decode(genome, noise=noise, layout=layout)
        score, steps = by_hand(game, theta, layout, seed, is_discrete=is_discrete)
        assert (found[seed].steps, found[seed].frames) == (steps, steps)
        assert found[seed].score == pytest.approx(score, rel=1e-6)
    assert len({result.score for result in found.values()}) > 1


def test_a_frame_limit_ends_an_episode(small_noise_table):
    evaluator = made(small_noise_table, "gym.CartPole-v1", "simple")
    evaluator.pin([PARENT])
    (result,) = play(evaluator, {0: Episode(PARENT, 0, 0, 3)}).values()
    assert (result.steps, result.score) == (3, 3.0)


def test_results_come_one_by_one_and_closing_drops_the_rest(small_noise_table):
    evaluator = made(small_noise_table, "gym.CartPole-v1", "simple")
    evaluator.pin([PARENT])
    evaluator.submit({n: Episode(PARENT, 0, n, 500) for n in range(3)})
    assert list(evaluator.receive(timeout=0)) == [0]
    evaluator.close()
    assert evaluator.receive(timeout=0) == {}


@pytest.mark.parametrize(
    ("game", "model", "behaviour", "complaint"),
    [
        ("gym.CartPole-v1", "small", "none", "needs a network of dense layers such as 'simple', but got 'small'"),
        (
            "gym.CartPole-v1",
            "simple",
            "ram",
            "'gym.CartPole-v1' does not have the behaviour 'ram'. Choose one of: none",
        ),
    ],
)
def test_what_does_not_fit_is_refused(small_noise_table, game, model, behaviour, complaint):
    protocol = protocol_of(game)
    with pytest.raises(NeurozooError, match=complaint):
        make_evaluator(
            core="unused", noise=small_noise_table, game=game, layout=layout_of(game, model, protocol),
            protocol=protocol, behaviour=behaviour,
        )  # fmt: skip


@pytest.mark.parametrize("model", ["small", "large", "nature"])
def test_a_network_in_numpy_computes_what_the_core_computes(core, noise_table, noise, model):
    protocol = protocol_of("pong")
    layout = layout_of("pong", model, protocol)
    played = Episode(PARENT, 1, 3, 40)
    trace = trace_episode(played, game="pong", model=model, protocol=protocol, core=core, noise=noise_table)
    network = plain_network(layout, decode(PARENT, noise=noise, layout=layout))
    planes = np.concatenate([np.zeros((3, 84, 84, 1), np.float32), trace.planes])
    for step, logits in enumerate(trace.logits):
        observation = np.concatenate(planes[step : step + 4], axis=-1)
        np.testing.assert_allclose(network(observation), logits, rtol=1e-3, atol=1e-4 * np.abs(logits).max())
    assert len(trace.logits) >= 5


def test_networks_that_are_normalised_are_refused(small_noise_table):
    with pytest.raises(NeurozooError, match="are not normalised, but 'virtual_bn' has others"):
        made(small_noise_table, "gym.PlatformerPixels-v0", "virtual_bn")


def test_evolution_plays_pictures_with_convolutions(small_noise_table, core, monkeypatch):
    monkeypatch.chdir(core.parents[2])
    game = "gym.PlatformerPixels-v0"
    evaluator = made(small_noise_table, game, "nature")
    evaluator.pin([PARENT])
    trace = evaluator.trace(Episode(PARENT, 0, 3, 10))
    assert trace.planes.shape[1:] == (84, 84, 1)
    assert trace.logits.shape[1:] == (8,)
    assert np.isfinite(trace.logits).all()


def test_an_environment_is_made_once_and_closed_whatever_the_limits_of_episodes_are(small_noise_table, monkeypatch):
    alive = []

    class Counted(gymnasium.envs.classic_control.CartPoleEnv):
        def __init__(self, **choices):
            super().__init__(**choices)
            alive.append(self)

        def close(self):
            alive.remove(self)
            super().close()

    monkeypatch.setitem(
        gymnasium.registry,
        "Counted-v0",
        gymnasium.envs.registration.EnvSpec("Counted-v0", entry_point=Counted, max_episode_steps=500),
    )
    with made(small_noise_table, "gym.Counted-v0", "simple") as evaluator:
        first = list(alive)
        assert len(first) == 1
        evaluator.pin([PARENT])
        for limit in (5, 3, 5):
            (found,) = play(evaluator, {0: Episode(PARENT, 0, 1, limit)}).values()
            assert found.steps == limit
        assert alive == first
    assert alive == []
