"""The losses are sums, with numbers worked out by hand."""

import math

import numpy as np
import pytest
import twins
from neurozoo.algorithms.impala.losses import baseline_loss, clipped_rewards, entropies, policy_loss


def test_rewards_are_clipped():
    rewards = np.float32([-5, -0.5, 0, 0.5, 5])
    assert np.asarray(clipped_rewards(rewards, "abs_one")).tolist() == [-1, -0.5, 0, 0.5, 1]
    assert np.asarray(clipped_rewards(rewards, "none")).tolist() == rewards.tolist()
    assert np.asarray(clipped_rewards(rewards, "none", scale=0.25)).tolist() == (rewards / 4).tolist()
    assert np.asarray(clipped_rewards(np.float32([-8, 2]), "abs_one", scale=0.25)).tolist() == [-1, 0.5]
    # -1.5 tanh(1), 0, 5 tanh(1): section 20 of the specification
    soft = np.asarray(clipped_rewards(np.float32([-5, 0, 5]), "soft_asymmetric"))
    np.testing.assert_allclose(soft, [-1.1424, 0, 3.8080], atol=5e-5)


def test_losses_are_sums_over_a_batch_of_two_by_two():
    log_probabilities = np.log(np.float32([[0.5, 0.25], [1.0, 0.125]]))
    advantages = np.float32([[2, -1], [5, 3]])
    # -(2 ln 1/2 - ln 1/4 + 0 + 3 ln 1/8) = (2 - 2 + 9) ln 2
    assert float(policy_loss(log_probabilities, advantages)) == pytest.approx(9 * math.log(2), rel=1e-6)
    # 1/2 (1 + 4 + 0 + 9)
    targets, values = np.float32([[1, 2], [3, 4]]), np.float32([[0, 4], [3, 1]])
    assert float(baseline_loss(targets, values)) == 7.0


def test_the_entropy_of_equal_odds_is_the_logarithm_of_their_number():
    logits = np.float32([[[1, 1, 1, 1]], [[0, 0, math.log(2), -100]]])
    # 1/4, 1/4, 1/2: 1/4 ln 4 + 1/4 ln 4 + 1/2 ln 2 = 3/2 ln 2
    np.testing.assert_allclose(np.asarray(entropies(logits)), [[math.log(4)], [1.5 * math.log(2)]], rtol=1e-6)
    logits = np.random.default_rng(0).normal(0, 2, (3, 4, 6)).astype(np.float32)
    np.testing.assert_allclose(np.asarray(entropies(logits)), twins.entropies(logits), rtol=1e-5)
