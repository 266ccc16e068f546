"""Rewards as learners see them, with numbers worked out by hand."""

import numpy as np
import pytest
from neurozoo.algorithms.impala.rollouts import clipped_rewards


@pytest.mark.parametrize(
    ("rule", "scale", "expected"),
    [
        ("abs_one", 1.0, [-1, -0.5, 0, 0.5, 1]),
        ("abs_one", 0.25, [-1, -0.125, 0, 0.125, 1]),
        ("none", 1.0, [-5, -0.5, 0, 0.5, 5]),
        ("none", 0.25, [-1.25, -0.125, 0, 0.125, 1.25]),
        ("soft_asymmetric", 1.0, [-1.1424, -0.1495, 0, 0.4983, 3.8080]),  # -1.5 tanh(1), -1.5 tanh(0.1), ...
    ],
)
def test_rewards_are_scaled_and_clipped(rule, scale, expected):
    rewards = np.float32([-5, -0.5, 0, 0.5, 5])
    for ops in (None, np):
        np.testing.assert_allclose(np.asarray(clipped_rewards(rewards, rule, ops, scale=scale)), expected, atol=5e-5)
