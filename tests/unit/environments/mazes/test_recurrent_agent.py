import math

import numpy as np
import pytest
from neurozoo.environments.mazes.recurrent_agent import RecurrentAgent, choose, layout, shapes
from neurozoo.errors import NeurozooError


def agent(seed=0, num_actions=7):
    network = layout(num_actions)
    return RecurrentAgent(network.split(network.draw(np.random.default_rng(seed), "orthogonal")))


def test_the_network_has_the_published_layers():
    sizes = {name: math.prod(shape) for name, shape in shapes().items()}

    def count(*layers):
        return sum(size for name, size in sizes.items() if name.split("/")[0] in layers)

    assert count("view") == 448
    assert count("direction") == 25
    assert count("lstm") == 416_768 - 1024  # PyTorch has the biases twice
    assert count("actor", "policy") == 8224 + 231
    assert count("critic", "baseline") == 8224 + 33
    assert len(agent().core_parameters) == 433_953 - 1024


def test_initial_weights_are_orthogonal_and_hardly_prefer_anything():
    arrays = agent().arrays
    np.testing.assert_allclose(arrays["lstm/u"] @ arrays["lstm/u"].T, np.eye(256), atol=1e-5)
    np.testing.assert_allclose(arrays["actor/w"].T @ arrays["actor/w"], 2 * np.eye(32), atol=1e-5)
    np.testing.assert_allclose(arrays["policy/w"].T @ arrays["policy/w"], 1e-4 * np.eye(7), atol=1e-8)
    assert not any(arrays[name].any() for name in arrays if name.endswith("/b"))


def test_actions_are_drawn_by_the_softmax():
    preferences = np.log([[0.2, 0.3, 0.5]]) + 7
    for uniform, action in ((0.0, 0), (0.199, 0), (0.201, 1), (0.499, 1), (0.501, 2), (0.999999, 2)):
        assert choose(preferences, np.array([uniform])).tolist() == [action]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"policy/b": np.zeros(9, np.float32)}, "3 to 8 actions, but has .* and 9 actions"),
        ({"lstm/u": np.zeros((256, 1023), np.float32)}, r"lstm/u should be finite float32 of shape \(256, 1024\)"),
        ({"lstm/b": np.full(1024, np.nan, np.float32)}, "lstm/b should be finite"),
        ({"actor/b": np.zeros(32)}, "actor/b should be finite float32 .* but is float64"),
        ({"other": np.zeros(1, np.float32)}, "should have the arrays view/w"),
    ],
)
def test_weights_of_another_network_get_a_sentence(change, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        RecurrentAgent(agent().arrays | change)
