import numpy as np
import pytest
from neurozoo.agents.frozen import observation_range
from neurozoo.environments.game_networks import any_layout_of
from neurozoo.environments.mazes.recurrent_agent import RecurrentAgent, shapes
from neurozoo.environments.observations import byte_scale, observation_shape
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_keras_network
from neurozoo.networks.keras_networks import MEMORY

MAZE = get_keras_network("maze_recurrent")


def lively(num_actions=3):
    """A layout, and weights whose outputs depend on everything."""
    layout = MAZE.layout(num_actions)
    rng = np.random.default_rng(1)
    return layout, layout.draw(rng) + rng.normal(0, 0.1, layout.parameter_count).astype(np.float32)


def observations(rng, *shape):
    seen = rng.integers(9, size=(*shape, 5, 5, 4)).astype(np.float32)
    seen[..., 3] = rng.integers(4, size=shape)[..., None, None]
    return seen


def test_it_has_the_published_number_of_parameters():
    # 433,953 in PyTorch, which has the 1,024 biases of the LSTM twice; 33 for each action.
    assert MAZE.layout(7).parameter_count == 433_953 - 1024
    assert MAZE.layout(3).parameter_count == 433_953 - 1024 - 4 * 33
    layout, theta = lively()
    np.testing.assert_array_equal(layout.theta_of(layout.keras_model(theta)), theta)
    assert {name: part.shape for name, part in layout.split(theta).items()} == shapes(3)


def test_it_answers_as_the_twin_of_the_core():
    layout, theta = lively()
    agent = RecurrentAgent(layout.split(theta))
    rng = np.random.default_rng(2)
    seen, memory = observations(rng, 6), rng.normal(size=(6, 2, 256)).astype(np.float32)
    given = [seen, np.ones(6, np.int32), np.full(6, 0.5, np.float32), memory[:, 0], memory[:, 1]]
    logits, _, *states = (np.asarray(each) for each in layout.keras_model(theta)(given))
    expected, after = agent.preferences(seen[..., :3], seen[:, 0, 0, 3].astype(int), memory)
    assert np.ptp(expected, axis=0).min() > 0.1
    # Sums of 405 products in float32.
    np.testing.assert_allclose(logits, expected, atol=2e-5)
    np.testing.assert_allclose(np.stack(states, axis=1), after, atol=2e-5)


def test_an_unroll_is_as_many_steps_and_forgets_where_episodes_begin():
    layout, theta = lively()
    model, rng = layout.keras_model(theta), np.random.default_rng(3)
    seen, is_first = observations(rng, 5, 2), np.zeros((5, 2), bool)
    is_first[2, 1] = True
    state = [rng.normal(size=(2, 256)).astype(np.float32) for _ in MEMORY]
    history = [np.zeros((5, 2), np.int32), np.zeros((5, 2), np.float32)]
    logits, values = (np.asarray(each) for each in layout.unroll(model, [seen, *history], is_first, state))
    for step in range(5):
        state = [np.where(is_first[step][:, None], 0, part) for part in state]
        said, baseline, *state = (np.asarray(each) for each in model([seen[step], *(h[step] for h in history), *state]))
        # Sums of 405 products in float32.
        np.testing.assert_allclose(logits[step], said, atol=2e-5)
        np.testing.assert_allclose(values[step], baseline[:, 0], atol=2e-5)


def test_cells_are_remembered_at_first():
    forget = MAZE.layout(3).split(MAZE.layout(3).draw(np.random.default_rng(4), "fan_in"))["lstm/b"]
    assert forget.reshape(4, 256).sum(axis=1).tolist() == [0, 256, 0, 0]


def test_games_with_screens_get_a_sentence():
    with pytest.raises(NeurozooError, match=r"'maze_recurrent' sees mazes, .* have the shape \(84, 84, 4\)"):
        any_layout_of("pong", "maze_recurrent", protocol_of("pong", "machado2018"))


def test_the_actions_of_the_original_are_an_action_set():
    layouts = [any_layout_of("maze", "maze_recurrent", protocol_of("maze", action_set=s)) for s in ("minimal", "full")]
    assert [each.num_actions for each in layouts] == [3, 7]
    assert byte_scale(protocol_of("maze")) == 1
    games = {"maze": [0, 8], "hard_maze": [0, 1], "gym.CartPole-v1": None, "gym.PlatformerPixels-v0": [0, 1]}
    for game, wanted in games.items():
        protocol = protocol_of(game)
        assert observation_range(protocol, observation_shape(game, protocol)) == wanted
    protocol = protocol_of("pong", "gym_v4")
    assert observation_range(protocol, observation_shape("pong", protocol)) == [0, 255]
    assert byte_scale(protocol_of("pong", "machado2018")) == 255
