"""The core learns what Keras learns, and the same on every processor with any number of threads."""

import dataclasses

import numpy as np
import pytest
from neurozoo.algorithms.dqn.native_q_network import NativeQNetwork
from neurozoo.algorithms.dqn.presets import PRESETS
from neurozoo.algorithms.dqn.q_network import QNetwork
from neurozoo.algorithms.dqn.replay import Sample
from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.algorithms.native_learner import FIRST_SLOT, ONLINE, RMSPROP, NativeLearner
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import NETWORKS, get_network
from neurozoo.networks.chains import Network
from neurozoo.networks.layers import Layer
from neurozoo.networks.native_plan import learner_plan, learns_natively

SETTINGS = dataclasses.replace(
    PRESETS["neurozoo"], num_envs=1, train_frequency=4, prioritised=False, batch_size=5, n_steps=2, double=True
)
OUT = Layer("out", "dense", activation="linear")


def sample_of(settings, shape, actions, *, seed):
    random, batch = np.random.default_rng(seed), settings.batch_size
    screens = random.integers(0, 256, (batch, 4 + settings.n_steps, *shape)).astype(np.uint8)
    returns, weights = random.normal(scale=2, size=batch), random.uniform(0.1, 1, batch)
    return Sample(
        screens=screens,
        actions=random.integers(actions, size=batch).astype(np.int32),
        returns=returns.astype(np.float32),
        discounts=np.where(random.random(batch) < 0.2, 0, 0.97).astype(np.float32),
        weights=weights.astype(np.float32),
        rows=np.arange(batch),
    )


def random_network(random):
    """Draws convolutions, dense layers, and a shape of screens that they fit."""
    layers, size = [], int(random.integers(9, 22))
    shape, inner = (size, size + int(random.integers(4))), size
    for number in range(random.integers(3)):
        kernel, padding = int(random.integers(1, min(5, inner) + 1)), str(random.choice(["same", "valid"]))
        layer = Layer(
            f"conv{number}",
            "conv",
            int(random.integers(1, 40)),
            kernel=kernel,
            stride=int(random.integers(1, 4)),
            padding=padding,
            bias=bool(random.random() < 0.7),
            activation=str(random.choice(["relu", "relu", "linear"])),
        )
        layers.append(layer)
        inner = layer.out_size(inner)
    for number in range(random.integers(1, 3)):
        layers.append(
            Layer(f"dense{number}", "dense", 2 * int(random.integers(1, 80)), bias=bool(random.random() < 0.7))
        )
    return Network("drawn", (), (*layers, OUT)), shape


def pair_of(core, layout, settings, **choices):
    """Returns the network in Keras and in the core, with the same first weights."""
    own = NativeQNetwork(layout, settings, random=np.random.default_rng(7), core=core, **choices)
    return QNetwork(layout, settings, random=np.random.default_rng(7)), own


def distance(ours, theirs):
    """Returns the largest difference of two sets of arrays, relative to the largest number of each array."""
    assert set(ours) == set(theirs)
    return max(float(np.abs(ours[name] - theirs[name]).max() / (np.abs(theirs[name]).max() + 1e-12)) for name in ours)


def check_gradients(core, network, shape, settings, *, seed, actions):
    """Compares errors and gradients of an update with those of Keras."""
    keras, own = pair_of(core, network.layout(actions, (*shape, 4)), settings, threads=2)
    sample = sample_of(settings, shape, actions, seed=seed)
    np.testing.assert_allclose(own.update(sample), keras.update(sample), rtol=1e-5, atol=1e-5)

    def gradients(network):  # the first step of Adam keeps a tenth of them; beside each is its square, twice as far off
        arrays = network.get_arrays()
        numbers = range(2, sum(name.startswith("optimizer-") for name in arrays), 2)
        return {number: arrays[f"optimizer-{number}"] for number in numbers}

    assert distance(gradients(own), gradients(keras)) < 1e-5


@pytest.mark.parametrize("seed", range(8))
def test_gradients_of_random_networks_are_those_of_keras(core, seed):
    random = np.random.default_rng(seed)
    network, shape = random_network(random)
    actions = int(random.integers(2, 19))
    settings = dataclasses.replace(
        SETTINGS, dueling=bool(seed % 2), batch_size=int(random.integers(1, 20)), double=bool(seed % 3)
    )
    check_gradients(core, network, shape, settings, seed=seed, actions=actions)


@pytest.mark.parametrize("shape", [(84, 84), (77, 64), (69, 73)])
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_gradients_of_kernels_of_whole_blocks_are_those_of_keras(core, shape, padding):
    """These are computed in tiles; sizes cut off other parts of the last ones, and batches other parts of groups."""
    layers = [
        Layer("conv1", "conv", 32, kernel=8, stride=4, padding=padding),
        Layer("conv2", "conv", 21, kernel=4, stride=2, padding=padding, bias=False),
        Layer("conv3", "conv", 40, kernel=3, padding=padding, activation="linear"),
    ]
    network = Network("blocks", (), (*layers, Layer("dense", "dense", 30), OUT))
    check_gradients(core, network, shape, dataclasses.replace(SETTINGS, batch_size=shape[1] // 2), seed=1, actions=3)


@pytest.mark.parametrize("seed", range(12))
def test_bfloat16_learns_the_same_bits_from_numbers_that_it_can_write_down(bfloat16_core, seed):
    """All values and sums are small whole numbers, so no rounding is left in which the two could differ."""
    random = np.random.default_rng(seed)
    network, shape = random_network(random)
    actions, channels, count = int(random.integers(2, 19)), int(random.integers(1, 6)), int(random.integers(1, 70))
    layout = network.layout(actions, (*shape, channels))
    states = (random.random((count, *layout.observation_shape)) < 0.1).astype(np.uint8)
    deltas = random.integers(-1, 2, (count, actions)).astype(np.float32)
    numbers = {placed.layer.name: number for number, placed in enumerate(layout.layers)}
    weights = {}
    for name, place in layout.shapes.items():
        dense = min(0.3, 6 / np.prod(place[:-1])) if name.endswith("/w") else 0.2
        weights[name] = (random.choice([-1, 1], place) * (random.random(place) < dense)).astype(np.float32)
    found = []
    for is_rounded in (False, True):
        choices = {"optimizer": RMSPROP, "epsilon": 1.0, "threads": 1 + is_rounded, "has_bfloat16": is_rounded}
        learner = NativeLearner(learner_plan(layout), scale=1.0, core=bfloat16_core, **choices)
        places = [(numbers[name.split("/")[0]], name.split("/")[1], shape) for name, shape in layout.shapes.items()]
        for (layer, part, _), values in zip(places, weights.values(), strict=True):
            learner.set(ONLINE, layer, part, values)
        found.append([learner.ask(ONLINE, states, is_rounded=is_rounded), learner.forward(states)])
        learner.step(deltas, learning_rate=1.0)
        found[-1] += [learner.get(array, *place) for array in (ONLINE, FIRST_SLOT) for place in places]
    largest = max(np.abs(each).max() for each in found[0])
    assert 1 < largest < 2**24
    for number, (exact, rounded) in enumerate(zip(*found, strict=True)):
        np.testing.assert_array_equal(rounded, exact, err_msg=str(number))


@pytest.mark.parametrize(
    ("optimizer", "model", "is_dueling"),
    [
        ("rmsprop", "simple_dqn", True),
        ("rmsprop_centered", "small", False),
        ("adam", "large", True),
        ("adadelta", "nature", False),
    ],
)
def test_updates_are_those_of_keras_and_either_continues_what_the_other_began(core, optimizer, model, is_dueling):
    settings = dataclasses.replace(SETTINGS, optimizer=optimizer, dueling=is_dueling)
    keras, own = pair_of(core, get_network(model).layout(6, (44, 40, 4)), settings)
    for number in range(6):
        sample = sample_of(settings, (44, 40), 6, seed=number)
        np.testing.assert_allclose(own.update(sample), keras.update(sample), rtol=1e-4, atol=1e-4)
        if number == 2:
            keras_arrays = keras.get_arrays()
            keras.set_arrays(own.get_arrays())
            own.set_arrays(keras_arrays)
        if number == 3:
            for each in (keras, own):
                each.update_target()
                each.update_acting()
    assert distance(own.get_arrays(), keras.get_arrays()) < 1e-4
    np.testing.assert_allclose(own.theta(), keras.theta(), atol=1e-5)
    stacks = sample.screens[:, :4]
    np.testing.assert_allclose(own.values(stacks), keras.values(stacks), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(own.acting_values(stacks), keras.acting_values(stacks), rtol=1e-4, atol=1e-4)


def test_bytes_depend_neither_on_threads_nor_on_the_width_of_vectors(core):
    found = []
    for choices in ({"threads": 1}, {"threads": 2}, {"threads": 5}, {"threads": 2, "is_narrow": True}):
        network = NativeQNetwork(
            get_network("nature").layout(6), SETTINGS, random=np.random.default_rng(0), core=core, **choices
        )
        for number in range(3):
            sample = sample_of(SETTINGS, (84, 84), 6, seed=number)
            errors = network.update(sample)
        found.append({**network.get_arrays(), "errors": errors, "values": network.values(sample.screens[:, :4])})
    for other in found[1:]:
        for name, array in found[0].items():
            np.testing.assert_array_equal(array, other[name], err_msg=name)


@pytest.mark.parametrize("dueling", [True, False])
def test_copies_of_weights_stay_when_those_that_learn_move_on(core, dueling):
    """Copies share their memory with those that learn for as long as both are equal."""
    settings = dataclasses.replace(SETTINGS, dueling=dueling)
    network = NativeQNetwork(
        get_network("nature").layout(6), settings, random=np.random.default_rng(0), core=core, threads=2
    )
    stacks = sample_of(settings, (84, 84), 6, seed=3).screens[:, :4]

    def copies():
        arrays = network.get_arrays()
        return [arrays[f"{copy}-0"] for copy in ("online", "target", "acting")]

    def learn(number):
        acting = network.acting_values(stacks)
        network.update(sample_of(settings, (84, 84), 6, seed=number))
        np.testing.assert_array_equal(network.acting_values(stacks), acting)
        return copies()[0]

    first = copies()[0]
    second = learn(0)
    network.update_acting()
    third = learn(1)
    assert len({array.tobytes() for array in (first, second, third)}) == 3
    for own, expected in zip(copies(), (third, first, second), strict=True):
        np.testing.assert_array_equal(own, expected)
    network.update_target()
    network.update_acting()
    network.set_arrays(network.get_arrays() | {"online-0": first, "acting-0": second})
    learn(2)
    for own, expected in zip(copies()[1:], (third, second), strict=True):
        np.testing.assert_array_equal(own, expected)


def test_results_are_learned_from_once(core):
    layout = get_network("small").layout(6)
    learner = NativeLearner(learner_plan(layout), scale=255, core=core, threads=1, optimizer=RMSPROP, epsilon=1.0)
    results = learner.forward(np.zeros((5, *layout.observation_shape), np.uint8))
    learner.step(results, learning_rate=0.1)
    with pytest.raises(NeurozooError, match="no results of a forward pass"):
        learner.step(results, learning_rate=0.1)


def test_the_batch_of_a_prediction_does_not_matter(core):
    network = NativeQNetwork(get_network("nature").layout(6), SETTINGS, random=np.random.default_rng(0), core=core)
    stacks = np.random.default_rng(1).integers(0, 256, (128, 4, 84, 84)).astype(np.uint8)
    together = network.values(stacks)
    for count in (1, 3, 8):
        np.testing.assert_array_equal(network.values(stacks[:count]), together[:count])


def test_networks_with_other_layers_go_to_keras():
    lacking = {name for name, network in NETWORKS.items() if not learns_natively(network)}
    assert {"dense_tanh", "mujoco", "cshenton", "virtual_bn", "recurrent_large"} <= lacking
    assert not lacking & {"large", "small", "nature", "simple_dqn", "linear", "cells"}
    settings = DqnSettings()
    assert settings.computes_natively("nature")
    assert not settings.computes_natively("dense_tanh")
    assert not dataclasses.replace(settings, engine="keras").computes_natively("nature")
    assert settings.needs_besides("pong") == ("core",)


def test_arrays_of_another_network_and_too_many_threads_are_refused(core):
    small, other = (get_network(name).layout(6) for name in ("small", "large"))
    network, of_other = (
        NativeQNetwork(layout, SETTINGS, random=np.random.default_rng(0), core=core) for layout in (small, other)
    )
    with pytest.raises(ValueError, match="was expected"):
        network.set_arrays(of_other.get_arrays())
    with pytest.raises(ValueError, match="was expected"):
        network.update(sample_of(SETTINGS, (84, 80), 6, seed=0))
    with pytest.raises(NeurozooError, match="at least 1 thread"):
        NativeQNetwork(small, SETTINGS, random=np.random.default_rng(0), core=core, threads=0)
