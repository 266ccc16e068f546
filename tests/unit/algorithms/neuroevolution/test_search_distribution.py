"""Ranks and optimizers, by hand."""

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.search_distribution import OPTIMIZERS, centered_ranks


def test_centered_ranks_give_the_earlier_of_two_equals_the_lower_rank():
    assert centered_ranks(np.array([5.0, 5.0, 1.0, 5.0, 1.0])).tolist() == [0.0, 0.25, -0.5, 0.5, -0.25]


def test_average_ranks_give_equals_the_mean_of_their_ranks():
    # Of 5 scores: two lowest have ranks 0 and 1, three highest 2, 3 and 4; divided by 4, minus a half.
    ranks = centered_ranks(np.array([5.0, 5.0, 1.0, 5.0, 1.0]), ties="average")
    assert ranks.tolist() == [0.25, 0.25, -0.375, 0.25, -0.375]
    assert ranks.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "gradients", "steps"),
    [
        # t = 1: m = 0.1 g, v = 0.001 g^2, factor 0.1 * sqrt(0.001) / 0.1: a step of stepsize against the sign.
        # t = 2: m = (0.09, -0.18 + 0.1), v = (0.000999, 0.003996 + 0.001),
        # factor 0.1 * sqrt(1 - 0.998001) / (1 - 0.81) = 0.023531; v's roots: 0.0316070, 0.0706824
        ("adam", [[1.0, -2.0], [0.0, 1.0]], [[-0.1, 0.1], [-0.0670035, 0.0266332]]),
        ("sgd", [[1.0], [2.0], [0.0]], [[-0.1], [-0.29], [-0.261]]),  # v = 1, then 0.9 + 2 = 2.9, then 2.61
        ("sgd_2017", [[1.0], [2.0], [0.0]], [[-0.01], [-0.029], [-0.0261]]),  # v = 0.1, then 0.09 + 0.2, then 0.261
    ],
)
def test_steps_of_the_optimizers_by_hand(name, gradients, steps):
    optimizer, names = OPTIMIZERS[name]
    slots = {slot: np.zeros(len(gradients[0]), np.float32) for slot in names}
    for updates, (gradient, expected) in enumerate(zip(gradients, steps, strict=True), start=1):
        before = {slot: array.copy() for slot, array in slots.items()}
        step, after = optimizer(np.array(gradient, np.float32), slots, updates=updates, stepsize=0.1)
        assert step.dtype == np.float32
        np.testing.assert_allclose(step, expected, rtol=1e-4)
        for slot, array in slots.items():  # which may be in a state
            np.testing.assert_array_equal(array, before[slot])
        slots = after
