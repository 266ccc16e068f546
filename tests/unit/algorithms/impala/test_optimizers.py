"""RMSProp as in TensorFlow 1 and PyTorch, by hand; RAdam as in PyTorch; the norm is bounded over all variables."""

import math
from dataclasses import replace

import keras
import numpy as np
import pytest
import twins
from neurozoo.algorithms.impala.optimizers import make_optimizer
from neurozoo.algorithms.impala.presets import PRESETS

PAPER = replace(PRESETS["impala_paper"], max_gradient_norm=None, learning_rate=0.1, optimizer_epsilon=0.1)


def walk(settings, gradients):
    """Returns the positions after each of some gradients, from 0."""
    variable = keras.Variable(np.zeros(1, np.float32))
    optimizer = make_optimizer(settings)
    optimizer.build([variable])
    positions = []
    for gradient in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(np.float32([gradient]))], [variable])
        positions.append(float(np.asarray(variable)[0]))
    return positions


def test_three_steps_of_tensorflows_rmsprop():
    # The average stays 0.99 + 0.01 = 1: 0.1 / sqrt(1.1) each (section 20 of the specification: 0.09535).
    first = walk(PAPER, [1, 1, 1])
    np.testing.assert_allclose(first, [-0.09535, -0.19069, -0.28604], atol=1e-5)
    # Averages 0.99, 0.9801 + 0.04 and 1.009899 + 0.09 for the gradients 0, 2 and 3.
    averages = [0.99, 0.99**2 + 0.04, 0.99 * (0.99**2 + 0.04) + 0.09]
    steps = [g * 0.1 / math.sqrt(average + 0.1) for g, average in zip((0, 2, 3), averages, strict=True)]
    np.testing.assert_allclose(walk(PAPER, [0, 2, 3]), -np.cumsum(steps), rtol=1e-5)


def test_three_steps_with_momentum():
    # m: s, 1.5 s, 1.75 s with s = 0.1 / sqrt(1.1); positions are their sums.
    step = 0.1 / math.sqrt(1.1)
    found = walk(replace(PAPER, momentum=0.5), [1, 1, 1])
    np.testing.assert_allclose(found, [-step, -2.5 * step, -4.25 * step], rtol=1e-5)


def test_pytorchs_rmsprop_starts_at_zero_with_epsilon_outside():
    # Averages 0.01, 0.0199: 0.1 / (0.1 + 0.1), then 0.1 / (sqrt(0.0199) + 0.1)
    found = walk(replace(PAPER, epsilon_inside=False, initial_accumulator=0.0), [1, 1])
    np.testing.assert_allclose(found, [-0.5, -0.5 - 0.1 / (math.sqrt(0.0199) + 0.1)], rtol=1e-5)


@pytest.mark.parametrize(("largest", "factor"), [(None, 1), (5.0, 1), (2.5, 0.5)])
def test_the_norm_of_all_gradients_together_is_bounded(largest, factor):
    variables = [keras.Variable(np.zeros(2, np.float32)), keras.Variable(np.zeros(1, np.float32))]
    settings = replace(PAPER, max_gradient_norm=largest, decay_rate=1.0, optimizer_epsilon=1e-30)  # the average stays 1
    optimizer = make_optimizer(settings)
    optimizer.build(variables)
    optimizer.apply([keras.ops.convert_to_tensor(np.float32(g)) for g in ([3, 0], [4])], variables)  # norm 5
    moved = [np.asarray(variable).tolist() for variable in variables]
    np.testing.assert_allclose(moved[0], [-0.3 * factor, 0], rtol=1e-6)
    np.testing.assert_allclose(moved[1], [-0.4 * factor], rtol=1e-6)
    assert float(np.asarray(optimizer.norm)) == pytest.approx(5)


RADAM = replace(PAPER, optimizer="radam", optimizer_epsilon=1e-8)


def test_twelve_steps_of_pytorchs_rectified_adam():
    gradients = [1, 2, -1, 0.5, 3, -2, 1, 0.1, 4, -3, 2, 1]
    # Of torch.optim.RAdam([position], lr=0.1), PyTorch 2. Without rectification for five steps, then with it.
    torch = [
        *(-0.10000000, -0.25263157, -0.31204116, -0.36871460, -0.48480701, -0.48550782),
        *(-0.48663321, -0.48784956, -0.49020138, -0.49122781, -0.49292735, -0.49495232),
    ]
    np.testing.assert_allclose(walk(RADAM, gradients), torch, rtol=1e-6)
    np.testing.assert_allclose(twins.rectified_adam(gradients, rate=0.1, epsilon=1e-8), torch, rtol=1e-6)


def test_rectified_adam_is_that_of_the_twin_after_many_steps():
    gradients = np.random.default_rng(1).normal(0.5, 1, 60)
    np.testing.assert_allclose(
        walk(RADAM, gradients), twins.rectified_adam(gradients, rate=0.1, epsilon=1e-8), rtol=1e-4
    )
