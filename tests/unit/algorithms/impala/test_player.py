"""What a player writes belongs together: section 20 of the specification, 2 and 3."""

import itertools
from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.agents.policies import NetworkOutputs
from neurozoo.algorithms.impala.minibatches import minibatches
from neurozoo.algorithms.impala.objectives import vtrace_losses
from neurozoo.algorithms.impala.player import Game, Player
from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.algorithms.impala.rollouts import Rollout
from toys import Counting, Toy, batch_of, task

TIME = 4


class Recurrent:
    """A network whose memory counts the steps since it was cleared, and whose logits tell what it saw."""

    def __init__(self):
        self.asked = []

    def __call__(self, inputs, state):
        self.asked.append((deepcopy(inputs), state))
        batch = len(inputs.observation)
        logits = np.zeros((batch, Counting.num_actions), np.float32)
        logits[:, 0] = inputs.observation[:, 0, 0, 0]
        logits[np.arange(batch), inputs.observation[:, 0, 0, 0] % Counting.num_actions] += 500  # this one is drawn
        return NetworkOutputs(logits, baseline=10.0 * logits[:, 0]), (state[0] + 1,)


SETTINGS = replace(PRESETS["impala_paper"], num_envs=3, batch_size=1, unroll_length=TIME)


def player_of(network, settings=SETTINGS, *, environments=Counting, state_shapes=((1,),)):
    layout = SimpleNamespace(observation_shape=(2, 2, 1), num_actions=4, state_shapes=state_shapes)
    return Player(task(settings, layout, environments), network, range(settings.num_envs))


@pytest.fixture(params=["terminal", "ignore"])
def played(request):
    """Three rollouts of three environments, and what the network was asked."""
    network, rollouts, games = Recurrent(), [], []
    player = player_of(network, replace(SETTINGS, life_loss=request.param))
    for number in range(3):
        games += player.play_rollout()
        rollouts.append(deepcopy(player.next_rollout(number)))
    return request.param == "terminal", rollouts, games, network


def seen(rollouts, name):
    return np.concatenate([getattr(each, name)[:TIME] for each in rollouts])


def test_observation_action_and_reward_of_a_step_belong_together(played):
    _, rollouts, _, _ = played
    observations = seen(rollouts, "observations")[:, :, 0, 0, 0].astype(int)
    steps = np.arange(3 * TIME)[:, None]
    np.testing.assert_array_equal(observations, steps + np.array([0, 100, 200]))
    np.testing.assert_array_equal(seen(rollouts, "rewards"), np.broadcast_to(steps + 1, (12, 3)))
    np.testing.assert_array_equal(seen(rollouts, "actions"), observations % 4)
    np.testing.assert_array_equal(seen(rollouts, "logits").argmax(axis=-1), observations % 4)


def test_an_episode_ends_with_the_game_and_with_a_life_if_wanted(played):
    lives, rollouts, _, _ = played
    is_last = seen(rollouts, "is_last")
    expected = np.zeros((12, 3), bool)
    expected[2::3, 0] = expected[4::5, 1] = True
    if lives:
        expected[1::3, 0] = expected[1::5, 1] = expected[1, 2] = True
    np.testing.assert_array_equal(is_last, expected)
    # Then the next step is the first, and knows nothing of what was before.
    is_first = seen(rollouts, "is_first")
    np.testing.assert_array_equal(is_first[1:], expected[:-1])
    assert is_first[0].all()
    for name, before in (("previous_actions", "actions"), ("previous_rewards", "rewards")):
        expected_values = np.where(expected[:-1], 0, seen(rollouts, before)[:-1])
        np.testing.assert_array_equal(seen(rollouts, name)[1:], expected_values)
        assert not seen(rollouts, name)[0].any()


def test_the_memory_is_cleared_where_an_episode_begins(played):
    _, rollouts, _, network = played
    is_first = seen(rollouts, "is_first")
    age = np.zeros(3)
    for first, (inputs, state) in zip(is_first, network.asked, strict=True):
        np.testing.assert_array_equal(inputs.is_first, first)
        age[first] = 0
        np.testing.assert_array_equal(state[0][:, 0], age)
        age += 1


def test_a_rollout_keeps_the_memory_from_before_its_first_step(played):
    _, rollouts, _, network = played
    for number, rollout in enumerate(rollouts[1:], 1):
        _, state_seen = network.asked[number * TIME]
        cleared = np.where(rollout.is_first[0][:, None], 0, rollout.state[0])
        np.testing.assert_array_equal(cleared, state_seen[0])
    assert rollouts[1].state[0].any()


def test_the_last_entry_of_a_rollout_is_the_first_of_the_next(played):
    _, rollouts, _, _ = played
    for one, other in itertools.pairwise(rollouts):
        for name in Rollout.ARRAYS[: Rollout.INPUTS]:
            np.testing.assert_array_equal(getattr(one, name)[-1], getattr(other, name)[0])


def test_games_are_whole_whatever_ends_an_episode(played):
    _, _, games, _ = played
    # Each reward is at least 1, so clipped to 1. Game 0 ends with step 2 of the first rollout, ...
    assert [game for game in games if game.environment == 0] == [
        Game(0, 1 + 2 + 3, 3, 3, 2), Game(0, 4 + 5 + 6, 3, 3, 1), Game(0, 7 + 8 + 9, 3, 3, 0),
        Game(0, 10 + 11 + 12, 3, 3, 3),
    ]  # fmt: skip
    assert [game for game in games if game.environment == 1] == [Game(1, 15, 5, 5, 0), Game(1, 40, 5, 5, 1)]
    assert not [game for game in games if game.environment == 2]


def test_the_baseline_is_written_and_looks_one_step_ahead():
    network = Recurrent()
    player = player_of(network, replace(SETTINGS, objective="ppo", unroll_length=3, life_loss="ignore"))
    player.play_rollout()
    rollout = deepcopy(player.next_rollout(0))
    said = np.where(rollout.observations[..., 0, 0, 0] % 4 == 0, 500, 0) + rollout.observations[..., 0, 0, 0]
    np.testing.assert_array_equal(rollout.values, 10 * said[:3])
    np.testing.assert_array_equal(rollout.bootstrap, 10 * said[3])
    player.play_step()
    for _, memory in network.asked[-2:]:  # looking ahead leaves the memory as it is
        assert memory[0][:, 0].tolist() == [0, 3, 3]  # environment 0 begins an episode


def test_screens_are_stacked_as_channels():
    stacks = np.random.default_rng(0).integers(256, size=(3, 4, 6, 5)).astype(np.uint8)
    rollout = Rollout(length=2, num_envs=3, observation_shape=(6, 5, 4), num_actions=4)
    rollout.see(1, stacks)
    np.testing.assert_array_equal(rollout.observations[1], stacks.transpose(0, 2, 3, 1))


class Endless(Toy):
    """Gives one point per step, forever; a limit stops an episode after three steps."""

    limits_only_stop = True

    def reset(self, index, rng):
        self.ages = getattr(self, "ages", np.zeros(self.count, int))
        self.ages[index] = 0

    def step(self, index, action):
        self.ages[index] += 1
        return 1.0, False, self.ages[index] == 3, False

    def show(self, index):
        self.stacks[index] = self.ages[index]


@pytest.mark.parametrize("objective", ["ppo", "vtrace"])
@pytest.mark.parametrize("limits_only_stop", [True, False])
def test_a_limit_of_steps_does_not_take_away_what_would_have_followed(objective, limits_only_stop):
    """Of one point per step and a discount of 0.9, the value is 1 / (1 - 0.9) = 10: then nothing is left to learn."""

    def knows(inputs, state):
        batch = len(inputs.observation)
        assert (inputs.is_first == (inputs.observation[:, 0, 0, 0] == 0)).all()
        return NetworkOutputs(np.zeros((batch, 4), np.float32), baseline=np.full(batch, 10.0, np.float32)), state

    class Limited(Endless):
        pass

    Limited.limits_only_stop = limits_only_stop
    settings = replace(
        PRESETS["ppo" if objective == "ppo" else "impala_paper"],
        discount=0.9,
        num_envs=2,
        batch_size=2,
        unroll_length=TIME,
    )
    player = player_of(knows, settings, environments=Limited, state_shapes=())
    player.play_rollout()
    rollout = player.rollout
    np.testing.assert_array_equal(rollout.is_last[:, 0], [False, False, True, False])
    if objective == "ppo":
        (batch,) = minibatches(rollout, replace(settings, epochs=1), np.random.default_rng(0)).batches()
        error = np.abs(batch["advantages"]).max()
    else:
        values = np.full((TIME + 1, 2), 10.0, np.float32)
        figures = vtrace_losses(settings, batch_of(rollout), np.zeros((TIME + 1, 2, 4), np.float32), values)
        error = float(figures["loss_baseline"])
    assert (error < 1e-4) == limits_only_stop
