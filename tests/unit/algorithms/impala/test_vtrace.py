"""V-trace is what the paper defines. Cases: section 13 of the specification, and section 20, 1."""

import keras
import numpy as np
import pytest
import twins
from neurozoo.algorithms.impala.objectives import entropies, log_probabilities, vtrace


def arrays(time=5, batch=5):
    """The inputs of the original's test."""
    rewards = np.arange(time * batch, dtype=float).reshape(time, batch)
    return {
        "log_ratios": np.linspace(-2.5, 2.5, time * batch, endpoint=False).reshape(time, batch),
        "discounts": np.tile([0.9 / (b + 1) for b in range(batch)], (time, 1)),
        "rewards": rewards,
        "values": rewards / batch,
        "bootstrap": np.arange(batch, dtype=float) + 1,
    }


def floats(inputs):
    return {name: np.float32(array) for name, array in inputs.items()}


def assert_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize(
    "bounds",
    [
        {},
        {"rho_bar": 3.7, "pg_rho_bar": 2.2},
        {"rho_bar": None, "pg_rho_bar": None, "c_bar": None},
        {"rho_bar": 0.5, "c_bar": 0.7, "lambda_": 0.9},
        {"lambda_": 0.0},
        {"rho_bar": 0.0},
    ],
)
def test_vtrace_equals_the_sum_of_its_definition(batch, bounds):
    inputs = arrays(5, batch)
    assert_close(vtrace(**floats(inputs), **bounds), twins.vtrace(**inputs, **bounds))


def test_nothing_passes_the_end_of_an_episode():
    inputs = arrays()
    inputs["discounts"][2] = 0
    other = {name: array.copy() for name, array in inputs.items()}
    other["rewards"][3:] += 100
    other["values"][3:] -= 7
    other["bootstrap"] *= 3
    for one, another in zip(vtrace(**floats(inputs)), vtrace(**floats(other)), strict=True):
        np.testing.assert_array_equal(np.asarray(one)[:3], np.asarray(another)[:3])
        assert (np.asarray(one)[3:] != np.asarray(another)[3:]).any()


def test_log_probabilities_and_entropies_are_those_of_the_twins():
    logits = np.random.default_rng(2).normal(0, 3, (7, 2, 3)).astype(np.float32)
    for action in range(3):
        actions = np.full((7, 2), action, np.int32)
        found = np.asarray(log_probabilities(logits, actions))
        np.testing.assert_allclose(found, twins.log_probabilities(logits, actions), atol=1e-5)
    np.testing.assert_allclose(np.asarray(entropies(logits)), twins.entropies(logits), rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="uses TensorFlow's tape")
def test_no_gradient_flows_through_targets_and_advantages():
    import tensorflow as tf

    inputs = {name: tf.constant(array) for name, array in floats(arrays()).items()}
    with tf.GradientTape() as tape:
        tape.watch(list(inputs.values()))
        targets, advantages = vtrace(**inputs)
        total = tf.reduce_sum(targets) + tf.reduce_sum(advantages)
    assert all(gradient is None for gradient in tape.gradient(total, list(inputs.values())))
