"""Rollouts, tests and movies of networks with a history and a memory: the player acts by the recorded rule."""

import json

import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments import make_world
from neurozoo.rollouts.epsilon_greedy import play_epsilon_greedily
from neurozoo.rollouts.perturbations import ACTION, Perturbation
from neurozoo.rollouts.player import Player, default_epsilon
from neurozoo.rollouts.replayed import ReplayedNetwork
from neurozoo.rollouts.rollout import record_rollout
from neurozoo.rollouts.rollout_files import open_rollout, recognise

MODELS = ["impala_shallow", "impala_shallow_lstm"]


@pytest.fixture(scope="module")
def rollout_of(policy_folder, tmp_path_factory):
    made = {}

    def record(model):
        if model not in made:
            made[model] = tmp_path_factory.mktemp("rollout") / "rollout.npz"
            record_rollout(policy_folder(model), made[model], max_steps=30, episodes=1, seed=3)
        return made[model]

    return record


def actions_of_twin(checkpoint, path):
    """The same episode, step by step: one call of the trained network per step, and a draw for each action."""
    layout = checkpoint.layout
    network = layout.keras_model(checkpoint.theta)
    with np.load(path) as arrays:
        (first, noops, emulator), *_ = arrays["starts"].tolist()
    assert first == 0
    world = make_world(checkpoint.game, checkpoint.protocol)
    observation = world.reset(noops=noops, seed=emulator)
    rng = np.random.default_rng([3, 0, ACTION])
    state = [np.zeros((1, *shape), np.float32) for shape in layout.state_shapes]
    action, reward, actions = 0, 0.0, []
    for _ in range(30):
        said, _, *state = (
            np.asarray(each) for each in network([observation[None], np.int32([action]), np.float32([reward]), *state])
        )
        action = int(np.argmax(said.astype(np.float64) + rng.gumbel(size=said.shape)))
        actions.append(action)
        observation, reward, _ = world.act(np.eye(layout.num_actions, dtype=np.float32)[action])
    return actions


@pytest.mark.parametrize("model", MODELS)
def test_a_rollout_is_the_policys_own_episode(policy, rollout_of, model):
    path = rollout_of(model)
    actions = actions_of_twin(policy(model), path)
    with np.load(path) as arrays:
        assert arrays["actions"].tolist() == actions
        assert len(set(actions)) > 1
        assert arrays["representation"].shape == (30, 256)


@pytest.mark.parametrize("model", MODELS)
def test_a_replayed_network_computes_what_the_player_did(policy_folder, rollout_of, model):
    frozen = open_frozen(policy_folder(model))
    with np.load(rollout_of(model)) as arrays:
        network = ReplayedNetwork(frozen, [frozen.representation.name, "policy"])
        network.rewind(actions=arrays["actions"], scores=arrays["score"], starts=arrays["starts"][:, 0].tolist())
        blocks = [network(arrays["observations"][first : first + 7]) for first in range(0, 30, 7)]
        representation = np.concatenate([block[0] for block in blocks])
        np.testing.assert_allclose(representation, arrays["representation"], atol=1e-5)
    with open_rollout(rollout_of(model), frozen) as rollout:
        recognise(rollout, frozen)


def test_a_replayed_network_forgets_at_the_start_of_an_episode(policy_folder, rollout_of):
    frozen = open_frozen(policy_folder())
    network = ReplayedNetwork(frozen, ["lstm"])
    with np.load(rollout_of("impala_shallow_lstm")) as arrays:
        observations = np.concatenate([arrays["observations"][:10]] * 2)
        actions = np.concatenate([arrays["actions"][:10]] * 2)
        scores = np.concatenate([arrays["score"][:10]] * 2)
    network.rewind(actions=actions, scores=scores, starts=[0, 10])
    (activations,) = network(observations)
    np.testing.assert_array_equal(activations[:10], activations[10:])
    network.rewind(actions=actions, scores=scores, starts=[0])
    assert (network(observations)[0][10:] != activations[10:]).any()


def test_a_player_begins_every_episode_without_memory(policy_folder):
    player = Player(open_frozen(policy_folder()), Perturbation(), seed=0)
    random = np.random.default_rng(0)
    observations = random.random((4, 84, 84, 4), np.float32)

    def decisions(episode):
        player.begin(episode)
        return [player.decide(observation, reward) for observation, reward in zip(observations, (0, 1, 0, -1))]  # noqa: B905

    first, again = decisions(0), decisions(0)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.outputs, other.outputs)
        np.testing.assert_array_equal(one.chosen, other.chosen)


def test_a_test_adds_no_random_actions_to_drawn_ones(policy_folder, frozen_folder, tmp_path):
    assert default_epsilon(open_frozen(policy_folder())) == 0.0
    assert default_epsilon(open_frozen(frozen_folder("small"))) == 0.05
    record = play_epsilon_greedily(policy_folder(), tmp_path / "test.json", episodes=1, steps=1)
    assert record["epsilon"] == 0.0
    assert json.loads((tmp_path / "test.json").read_text())["tests"][0]["episodes"]
