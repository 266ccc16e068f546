"""PQN: returns are those of a slow twin and of numbers worked out by hand; the loss is that of the chosen actions."""

from dataclasses import replace

import numpy as np
import pytest
import twins
from neurozoo.agents.policies import EpsilonGreedy
from neurozoo.algorithms.impala.minibatches import minibatches
from neurozoo.algorithms.impala.network import ActorCritic
from neurozoo.algorithms.impala.player import Player
from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.algorithms.impala.rollouts import Rollout
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import KERAS_NETWORKS, get_keras_network
from toys import Counting, drawn_rollout, task

SHAPE, ACTIONS, TIME, COUNT = (36, 36, 1), 4, 5, 4
SETTINGS = replace(PRESETS["pqn"], num_envs=COUNT, unroll_length=TIME, batch_size=2, epochs=1, reward_clipping="none")


def make(**changes):
    layout = get_keras_network("nature_layer_norm").layout(ACTIONS, SHAPE)
    random = np.random.default_rng(1)
    return layout, ActorCritic(layout, replace(SETTINGS, **changes), random=random, byte_scale=255.0)


def targets_of(rollout, settings):
    """Targets of all steps, shape (time, num_envs), from one minibatch of everything."""
    rollout.actions[:] = np.arange(rollout.actions.size).reshape(rollout.actions.shape)
    count = rollout.actions.shape[1]
    (batch,) = minibatches(
        rollout, replace(settings, batch_size=count, num_envs=count), np.random.default_rng(0)
    ).batches()
    order = np.argsort(batch["actions"].ravel())
    return batch["targets"].ravel()[order].reshape(rollout.actions.shape)


def test_returns_of_one_environment_worked_out_by_hand():
    rollout = Rollout(length=4, num_envs=1, observation_shape=(2, 2, 1), num_actions=ACTIONS)
    rollout.rewards[:, 0] = [1, 2, 4, 3]
    rollout.values[:, 0] = [9, 6, 8, 10]
    rollout.is_last[1, 0] = True
    rollout.bootstrap[:] = 4
    settings = replace(SETTINGS, discount=0.5, gae_lambda=0.25, unroll_length=4)
    # 3 + 0.5 * 4 = 5; 4 + 0.5 * (0.25 * 5 + 0.75 * 10) = 8.375; 2: the episode ends, and nothing of the next one
    # leaks; 1 + 0.5 * (0.25 * 2 + 0.75 * 6) = 3.5
    assert targets_of(rollout, settings).tolist() == [[3.5], [2], [8.375], [5]]


@pytest.mark.parametrize("lambda_", [0.0, 0.65, 1.0])
def test_returns_are_those_of_the_twin(lambda_):
    layout = get_keras_network("nature_layer_norm").layout(ACTIONS, SHAPE)
    rollout = drawn_rollout(layout, length=7, num_envs=3)
    settings = replace(SETTINGS, gae_lambda=lambda_, unroll_length=7)
    expected = twins.q_lambda_returns(
        rewards=rollout.rewards,
        is_last=rollout.is_last,
        values=rollout.values,
        bootstrap=rollout.bootstrap,
        discount=0.99,
        lambda_=lambda_,
    )
    np.testing.assert_allclose(targets_of(rollout, settings), expected, atol=1e-5)


def test_updates_descend_the_loss_of_the_chosen_actions():
    layout, network = make()
    rollout = drawn_rollout(layout, length=TIME, num_envs=COUNT)
    batch = next(minibatches(rollout, SETTINGS, np.random.default_rng(4)).batches())
    seen = np.float32(batch["observations"][0]) / np.float32(255)
    values, _ = network.online([seen, batch["previous_actions"][0], batch["previous_rewards"][0]])
    chosen = [float(row[action]) for row, action in zip(np.asarray(values), batch["actions"][0], strict=True)]
    loss = np.mean([(value - target) ** 2 for value, target in zip(chosen, batch["targets"][0], strict=True)])
    figures = network.update(batch, learning_rate=0.0)
    assert set(figures) == {"loss_total", "loss_baseline", "value_mean", "grad_norm"}  # nothing of a policy
    assert [figures["loss_total"], figures["loss_baseline"]] == pytest.approx([loss, loss], rel=1e-4)
    assert figures["value_mean"] == pytest.approx(np.mean(chosen), rel=1e-4, abs=1e-5)
    losses = [network.update(batch, learning_rate=0.01)["loss_total"] for _ in range(10)]
    assert losses[-1] < 0.5 * losses[0]


def test_epsilon_falls_in_a_straight_line_with_the_steps_of_all_learners():
    settings = replace(SETTINGS, epsilon_start=0.8, epsilon_end=0.2, epsilon_steps=3 * 2 * 8, num_envs=3, batch_size=1)
    assert [settings.epsilon(steps) for steps in (0, 12, 24, 48, 1000)] == pytest.approx([0.8, 0.65, 0.5, 0.2, 0.2])
    layout = get_keras_network("nature_layer_norm").layout(ACTIONS, SHAPE)
    found = []

    class Watched(Player):
        def play_step(self):
            games = super().play_step()
            assert isinstance(self._policy, EpsilonGreedy)
            found.append(self._policy.epsilon)
            return games

    def forward(inputs, state):
        from neurozoo.agents.policies import NetworkOutputs

        count = len(inputs.observation)
        return NetworkOutputs(np.zeros((count, ACTIONS), np.float32), baseline=np.zeros(count, np.float32)), state

    class Room(Counting):
        shape = SHAPE

    player = Watched(task(replace(settings, learners=2), layout, Room), forward, range(3))
    player.play_rollout()
    player.next_rollout(0)
    player.play_rollout()
    # Each step is one of 3 environments of 2 learners: 6 of 48.
    assert found == pytest.approx([0.8 - 0.075 * min(step, 8) for step in range(2 * TIME)])


def test_the_preset_is_that_of_cleanrl():
    s = PRESETS["pqn"]  # section 16.6 of the specification
    assert (s.objective, s.frames, s.num_envs, s.unroll_length, s.epochs) == ("pqn", 4 * 10**7, 8, 128, 4)
    assert (s.minibatches, s.batch_steps, s.epochs * s.num_envs // s.batch_size) == ("steps", 256, 16)
    assert (s.optimizer, s.learning_rate, s.max_gradient_norm) == ("radam", 0.00025, 10.0)
    assert (s.epsilon_start, s.epsilon_end, s.epsilon_steps) == (1.0, 0.01, 10**6)
    assert (s.discount, s.gae_lambda, s.initial_weights, s.life_loss) == (0.99, 0.65, "orthogonal", "terminal")


@pytest.mark.parametrize("model", KERAS_NETWORKS)
@pytest.mark.parametrize("preset", ["pqn", "ppo"])
def test_networks_that_do_not_fit_the_objective_are_refused(model, preset):
    check = PRESETS[preset].check_model
    learns_values = preset.endswith("pqn")
    if (KERAS_NETWORKS[model].head == "q_values") == learns_values:
        check(model)
        return
    sentence = (
        "pqn, the network should have action values, but '.*' has a policy head and a baseline head"
        if learns_values
        else f"the network should have a policy head and a baseline head, but '{model}' has action values"
    )
    with pytest.raises(NeurozooError, match=sentence):
        check(model)
