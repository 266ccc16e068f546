"""Policies choose what their definitions say, remember what they should, and repeat with their random numbers."""

import numpy as np
import pytest
from neurozoo.agents.policies import EpsilonGreedy, Greedy, NetworkOutputs, PolicyInputs, Sampled


def fixed(*preferences):
    """A network that says the same in all environments."""

    def forward(inputs, state):
        rows = np.tile(np.float32(preferences), (len(inputs.observation), 1))
        return NetworkOutputs(rows), state

    return forward


def inputs(batch, *, action=0, reward=0.0, is_first=False):
    """Observations of no content, with a history."""
    return PolicyInputs(
        np.zeros((batch, 1), np.float32),
        np.full(batch, action),
        np.full(batch, reward, np.float32),
        np.full(batch, is_first),
    )


def test_greedy_plays_the_first_of_the_largest_preferences():
    step = Greedy(fixed(0.0, 2.0, 2.0)).step(inputs(3), (), np.random.default_rng(0))
    assert step.action.tolist() == [1, 1, 1]
    assert step.outputs.preferences.shape == (3, 3)


def test_sampled_plays_each_action_with_its_softmax_probability():
    odds = np.array([1.0, 2.0, 5.0])
    step = Sampled(fixed(*np.log(odds))).step(inputs(80_000), (), np.random.default_rng(0))
    counts = np.bincount(step.action, minlength=3)
    # Standard deviation of a count: at most sqrt(80,000 / 4) = 141; five of them.
    np.testing.assert_allclose(counts, 80_000 * odds / 8, atol=705)


def test_epsilon_greedy_plays_a_uniform_action_with_probability_epsilon():
    policy = EpsilonGreedy(Greedy(fixed(0.0, 1.0, 0.0, 0.0)), epsilon=0.4, num_actions=4)
    step = policy.step(inputs(80_000), (), np.random.default_rng(0))
    counts = np.bincount(step.action, minlength=4)
    np.testing.assert_allclose(counts, [8_000, 56_000, 8_000, 8_000], atol=705)


@pytest.mark.parametrize(("epsilon", "is_lazy", "asked"), [(1.0, True, 0), (1.0, False, 1), (0.0, True, 1)])
def test_a_lazy_policy_does_not_ask_the_network_when_all_actions_are_random(epsilon, is_lazy, asked):
    calls = []

    def forward(known, state):
        calls.append(known)
        return fixed(0.0, 1.0)(known, state)

    policy = EpsilonGreedy(Greedy(forward), epsilon=epsilon, num_actions=2, is_lazy=is_lazy)
    step = policy.step(inputs(5), (), np.random.default_rng(0))
    assert len(calls) == asked
    assert (step.outputs is None) == (asked == 0)


def counter(known, state):
    """A network that remembers the sum of its rewards and of its actions, and prefers action 1 beyond a sum of 2."""
    (sums,) = state
    sums = sums + known.previous_reward[:, np.newaxis] + known.previous_action[:, np.newaxis]
    return NetworkOutputs(np.concatenate([np.full_like(sums, 2.0), sums], axis=1), baseline=sums[:, 0]), (sums,)


@pytest.mark.parametrize("epsilon", [None, 0.0, 1.0])
def test_a_memory_goes_from_step_to_step_and_is_cleared_where_an_episode_begins(epsilon):
    policy = Greedy(counter, state_shapes=[(1,)])
    if epsilon is not None:  # A network with a memory is always asked.
        policy = EpsilonGreedy(policy, epsilon=epsilon, num_actions=2, is_lazy=True)
    rng = np.random.default_rng(0)
    state = policy.initial_state(2)
    assert [part.shape for part in state] == [(2, 1)]
    said = []
    for is_first in ([True, True], [False, False], [False, True], [False, False]):
        known = inputs(2, action=1, reward=0.5)._replace(is_first=np.array(is_first))
        step = policy.step(known, state, rng)
        state = step.state
        said.append(step.outputs.baseline.tolist())
        if epsilon != 1.0:
            assert step.action.tolist() == [int(total > 2) for total in said[-1]]
    assert said == [[1.5, 1.5], [3.0, 3.0], [4.5, 1.5], [6.0, 3.0]]
