"""Updates against arithmetic by hand."""

import dataclasses
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.algorithms.compiled import keep_to_threads
from neurozoo.algorithms.dqn import settings
from neurozoo.algorithms.dqn.presets import PRESETS
from neurozoo.algorithms.dqn.q_network import QNetwork
from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.chains import Network
from neurozoo.networks.layers import Layer

ACTIONS = 4
BATCH = 3
PLAIN = dataclasses.replace(DqnSettings(), batch_size=BATCH, optimizer="rmsprop", optimizer_epsilon=1e-6)


def layout_of(name="linear", shape=(3, 2, 4)):
    return get_network(name).layout(ACTIONS, shape)


def network_of(settings=PLAIN, layout=None, seed=0):
    return QNetwork(layout or layout_of(), settings, random=np.random.default_rng(seed))


def sample_of(steps=1, seed=1, shape=(3, 2)):
    random = np.random.default_rng(seed)
    return SimpleNamespace(
        screens=random.integers(0, 256, (BATCH, 4 + steps, *shape)).astype(np.uint8),
        actions=np.array([0, 3, 1], np.int32),
        returns=np.array([0.5, -1.0, 40.0], np.float32),  # the last error is far beyond the bound
        discounts=np.array([0.99, 0.0, 0.99], np.float32),
        weights=np.array([1.0, 0.25, 0.5], np.float32),
    )


def by_hand(sample, weight, bias, target_weight, target_bias, *, steps=1, double=False):
    """Errors and gradient of a linear network: q = x w + b."""
    seen = sample.screens.transpose(0, 2, 3, 1) / 255
    before, after = (part.reshape(BATCH, -1) for part in (seen[..., :4], seen[..., steps:]))
    values = after @ target_weight + target_bias
    best = (after @ weight + bias).argmax(-1) if double else values.argmax(-1)
    wanted = sample.returns + sample.discounts * values[np.arange(BATCH), best]
    taken = (before @ weight + bias)[np.arange(BATCH), sample.actions]
    errors = taken - wanted
    slope = np.clip(errors, -1, 1) * sample.weights / BATCH
    gradient = np.zeros_like(weight)
    for row, action, value in zip(before, sample.actions, slope, strict=True):
        gradient[:, action] += value * row
    return errors, gradient


def parts(network):
    arrays = network.get_arrays()
    return [arrays[name].astype(np.float64) for name in ("online-0", "online-1", "target-0", "target-1")]


@pytest.mark.parametrize(("steps", "double", "shards"), [(1, False, 1), (1, True, 1), (3, False, 1), (1, True, BATCH)])
def test_three_updates_follow_the_formulas_of_neons_rmsprop(steps, double, shards):
    settings = dataclasses.replace(PLAIN, n_steps=steps, double=double, shards=shards)
    network = network_of(settings)
    network.online.weights[0].assign(network.online.weights[0] + 0.3)  # online and target differ
    mean_square = 0.0
    for number in range(3):
        sample = sample_of(steps, seed=number)
        weight, bias, *target = parts(network)
        errors, gradient = by_hand(sample, weight, bias, *target, steps=steps, double=double)
        assert np.abs(errors).max() > 1  # so that the bound matters
        np.testing.assert_allclose(network.update(sample), errors, rtol=1e-4, atol=1e-5)
        mean_square = 0.95 * mean_square + 0.05 * gradient**2
        expected = weight - 0.00025 * gradient / np.sqrt(mean_square + 1e-6)
        np.testing.assert_allclose(parts(network)[0], expected, rtol=1e-4, atol=2e-6)


def test_the_centred_rmsprop_is_that_of_deepmind():
    settings = dataclasses.replace(PLAIN, optimizer="rmsprop_centered", optimizer_epsilon=0.01 / 32**2)
    network, mean, square = network_of(settings), 0.0, 0.0
    for number in range(3):
        sample = sample_of(seed=number)
        weight, bias, *target = parts(network)
        _, gradient = by_hand(sample, weight, bias, *target)
        network.update(sample)
        mean, square = 0.95 * mean + 0.05 * gradient, 0.95 * square + 0.05 * gradient**2
        expected = weight - 0.00025 * gradient / np.sqrt(square - mean**2 + 0.01 / 32**2)
        np.testing.assert_allclose(parts(network)[0], expected, rtol=1e-4, atol=2e-6)


def test_without_a_bound_the_gradient_is_the_error():
    sample, found = sample_of(), []
    for delta in (0.0, 64.0):  # a bound beyond all errors
        network = network_of(dataclasses.replace(PLAIN, huber_delta=delta))
        assert network.update(sample)[2] < -30
        found.append(parts(network)[0])
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)


def test_the_target_stays_until_it_is_updated():
    network = network_of()
    before = parts(network)[2]
    network.update(sample_of())
    np.testing.assert_array_equal(parts(network)[2], before)
    network.update_target()
    np.testing.assert_array_equal(parts(network)[2], parts(network)[0])
    assert (parts(network)[2] != before).any()


@pytest.mark.parametrize(("num_envs", "keeps"), [(1, True), (4, False)])  # a minibatch every 4 steps
def test_the_network_that_acts_stays_until_it_is_updated_if_rounds_are_played_meanwhile(num_envs, keeps):
    network = network_of(dataclasses.replace(PLAIN, num_envs=num_envs))
    sample = sample_of()
    stacks = sample.screens[:, :4]
    before = network.acting_values(stacks)
    network.update(sample)
    after = network.values(stacks)
    assert not np.array_equal(after, before)
    assert np.array_equal(network.acting_values(stacks), before if keeps else after)
    network.update_acting()
    assert np.array_equal(network.acting_values(stacks), after)


def test_without_a_target_network_the_online_network_is_its_own():
    network = network_of(dataclasses.replace(PLAIN, target_update_period=0))
    network.online.weights[0].assign(network.online.weights[0] + 0.3)
    weight, bias, *_ = parts(network)
    errors, _ = by_hand(sample_of(), weight, bias, weight, bias)
    np.testing.assert_allclose(network.update(sample_of()), errors, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("model", "is_dueling"), [("small", False), ("simple_dqn", True)])
def test_theta_gives_the_layouts_own_network_the_same_values(model, is_dueling):
    layout = get_network(model).layout(ACTIONS)
    settings = dataclasses.replace(PRESETS["neurozoo"], batch_size=BATCH, dueling=is_dueling, n_steps=1)
    network = network_of(settings, layout)
    for number in range(2):  # so that offsets are not zero
        network.update(sample_of(seed=number, shape=(84, 84)))
    stacks = np.random.default_rng(2).integers(0, 256, (5, 4, 84, 84)).astype(np.uint8)
    values = np.asarray(layout.keras_model(network.theta())(stacks.transpose(0, 2, 3, 1).astype(np.float32) / 255))
    np.testing.assert_allclose(values, network.values(stacks), rtol=1e-4, atol=1e-5)
    assert values.std(axis=-1).min() > 0


@pytest.mark.parametrize(
    ("rule", "bound"),
    [
        ("torch", 1 / 16),
        ("fan_in_uniform", 3**0.5 / 16),
        ("he_uniform", 6**0.5 / 16),
        ("glorot_uniform", (6 / (8 * 8 * 4 + 8 * 8 * 16)) ** 0.5),  # 4 channels to 16
        ("gaussian", None),
    ],
)
def test_initial_weights_fill_their_range(rule, bound):
    network = network_of(dataclasses.replace(PLAIN, initialisation=rule), get_network("small").layout(ACTIONS))
    kernel = network.get_arrays()["online-0"]  # 8 x 8 x 4 inputs
    if rule == "gaussian":
        assert kernel.std() == pytest.approx(0.01, rel=0.05)  # as published
    else:
        assert 0.97 * bound < np.abs(kernel).max() <= bound
    assert not network.get_arrays()["online-1"].any()


@pytest.mark.parametrize("model", ["recurrent_large", "virtual_bn", "cshenton"])
def test_networks_with_other_layers_are_refused(model):
    with pytest.raises(NeurozooError, match="trains networks of convolutions and dense layers"):
        PLAIN.check_model(model)


def test_a_dueling_head_needs_a_hidden_layer(monkeypatch):
    dueling = dataclasses.replace(PLAIN, dueling=True)
    dueling.check_model("nature")
    layers = (Layer("conv1", "conv", 16, kernel=8, stride=4), Layer("out", "dense", activation="linear"))
    for network in (get_network("linear"), Network("shallow", (), layers)):  # it would halve the height of the pictures
        monkeypatch.setattr(settings, "get_network", lambda _, network=network: network)
        with pytest.raises(NeurozooError, match="set dueling to false"):
            dueling.check_model(network.name)


@pytest.mark.long
def test_another_backend_of_keras_follows_the_same_formulas():
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not long", __file__]
    answer = subprocess.run(command, env=os.environ | {"KERAS_BACKEND": "jax"}, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout[-3000:]


@pytest.mark.skipif(os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow", reason="of TensorFlow")
@pytest.mark.parametrize("devices", [[], ["/physical_device:GPU:0"]])
def test_operations_are_deterministic_on_a_gpu_because_a_run_must_continue_exactly(monkeypatch, devices):
    import tensorflow as tf

    calls = []
    for name in ("set_intra_op_parallelism_threads", "set_inter_op_parallelism_threads"):
        monkeypatch.setattr(tf.config.threading, name, calls.append)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: devices if kind == "GPU" else [])
    monkeypatch.setattr(tf.config.experimental, "enable_op_determinism", lambda: calls.append("deterministic"))
    keep_to_threads(3)
    assert calls == [1, 3] + ["deterministic"] * len(devices)


@pytest.mark.skipif(os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow", reason="of TensorFlow")
def test_a_learner_in_a_test_does_not_choose_how_later_tests_add():
    keep_to_threads(3)
    from tensorflow.python.util import _pywrap_util_port as facts

    assert not facts.IsMklEnabled()  # oneDNN
