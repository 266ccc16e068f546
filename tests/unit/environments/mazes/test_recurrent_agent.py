import math

import keras
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


def test_the_twin_answers_as_keras_does():
    layers, walker, rng = keras.layers, agent(1), np.random.default_rng(2)
    image = keras.Input((5, 5, 3))
    direction, hidden, cells = keras.Input((4,)), keras.Input((256,)), keras.Input((256,))
    made = [layers.Conv2D(16, 3, activation="relu"), layers.Dense(5), layers.LSTM(256, return_state=True)]
    made += [layers.Dense(32, activation="tanh"), layers.Dense(7)]
    seen = layers.Concatenate()([layers.Flatten()(made[0](image)), made[1](direction)])
    out, *memory = made[2](layers.Reshape((1, 149))(seen), initial_state=[hidden, cells])
    model = keras.Model([image, direction, hidden, cells], [made[4](made[3](out)), *memory])
    names = [name for name in walker.arrays if not name.startswith(("critic", "baseline"))]
    biased = {name: walker.arrays[name] + rng.normal(0, 0.3, walker.arrays[name].shape) for name in names}
    walker = RecurrentAgent(walker.arrays | {name: array.astype(np.float32) for name, array in biased.items()})
    model.set_weights([walker.arrays[name] for name in names])
    images, directions = rng.integers(9, size=(6, 5, 5, 3)), rng.integers(4, size=6)
    before = rng.normal(size=(6, 2, 256))
    preferences, after = walker.preferences(images.astype(np.uint8), directions, before)
    given = [images / 10, np.eye(4)[directions], before[:, 0], before[:, 1]]
    expected, *states = (np.asarray(each) for each in model([each.astype(np.float32) for each in given]))
    np.testing.assert_allclose(preferences, expected, atol=2e-5)
    np.testing.assert_allclose(after, np.stack(states, axis=1), atol=2e-5)


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
