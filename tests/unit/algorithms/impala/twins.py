"""Slow, obvious NumPy twins of what the learner computes."""

import numpy as np


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def log_probabilities(logits, actions):
    return np.log(np.take_along_axis(softmax(logits), actions[..., None], axis=-1)[..., 0])


def bounded(ratios, bound):
    return ratios if bound is None else np.minimum(ratios, bound)


def vtrace(*, log_ratios, discounts, rewards, values, bootstrap, rho_bar=1.0, pg_rho_bar=1.0, c_bar=1.0, lambda_=1.0):
    """The definition of the paper, as a direct sum: O(time^2).

    v_s = V_s + sum over t >= s of (product of discount_i c_i for s <= i < t) * delta_t
    """
    ratios = np.exp(log_ratios)
    after = np.concatenate([values[1:], bootstrap[None]])
    deltas = bounded(ratios, rho_bar) * (rewards + discounts * after - values)
    carry = discounts * lambda_ * bounded(ratios, c_bar)
    time = len(values)
    targets = values.copy()
    for s in range(time):
        for t in range(s, time):
            targets[s] += np.prod(carry[s:t], axis=0) * deltas[t]
    targets_after = np.concatenate([targets[1:], bootstrap[None]])
    advantages = bounded(ratios, pg_rho_bar) * (rewards + discounts * targets_after - values)
    return targets, advantages


def clipped_rewards(rewards, rule):
    if rule == "abs_one":
        return np.clip(rewards, -1, 1)
    if rule == "soft_asymmetric":
        return np.where(rewards < 0, 1.5, 5) * np.tanh(rewards / 5)
    return rewards


def entropies(logits):
    probabilities = softmax(logits)
    return -(probabilities * np.log(probabilities)).sum(axis=-1)
