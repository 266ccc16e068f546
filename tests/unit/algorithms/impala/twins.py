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


def generalized_advantages(*, rewards, discounts, values, bootstrap, lambda_):
    """The definition, as a direct sum: A_s = sum over t >= s of (product of discount_i lambda, s <= i < t) delta_t."""
    after = np.concatenate([values[1:], bootstrap[None]])
    deltas = rewards + discounts * after - values
    time = len(values)
    return np.array(
        [sum(np.prod(discounts[s:t] * lambda_, axis=0) * deltas[t] for t in range(s, time)) for s in range(time)]
    )


def q_lambda_returns(*, rewards, is_last, values, bootstrap, discount, lambda_):
    """The recursion of Gallici et al. 2024, environment by environment, cut off where an episode ends."""
    returns = np.zeros(rewards.shape)
    for environment in range(rewards.shape[1]):
        following = largest = bootstrap[environment]
        for step in reversed(range(len(rewards))):
            target = rewards[step, environment]
            if not is_last[step, environment]:
                target += discount * (lambda_ * following + (1 - lambda_) * largest)
            following = returns[step, environment] = target
            largest = values[step, environment]
    return returns


def rectified_adam(gradients, *, rate, epsilon, betas=(0.9, 0.999)):
    """Positions after each step from 0, by the formulas of Liu et al. 2020, in double precision."""
    position = mean = square = 0.0
    first, second = betas
    longest = 2 / (1 - second) - 1
    positions = []
    for step, gradient in enumerate(gradients, 1):
        mean = first * mean + (1 - first) * gradient
        square = second * square + (1 - second) * gradient**2
        move = mean / (1 - first**step)
        length = longest - 2 * step * second**step / (1 - second**step)
        if length > 5:
            factor = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            move *= np.sqrt(factor * (1 - second**step)) / (np.sqrt(square) + epsilon)
        position -= rate * move
        positions.append(position)
    return positions


def ppo(*, logits, values, old_logits, old_values, actions, advantages, targets, clip_ratio, clip_values, normalizes):
    """Losses of the policy and the baseline, and the ratios: one step after the other."""
    if normalizes:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratios = np.exp(log_probabilities(logits, actions) - log_probabilities(old_logits, actions))
    policy, baseline = [], []
    for where in np.ndindex(ratios.shape):
        ratio, advantage = ratios[where], advantages[where]
        policy.append(-min(advantage * ratio, advantage * min(max(ratio, 1 - clip_ratio), 1 + clip_ratio)))
        change = values[where] - old_values[where]
        errors = [(values[where] - targets[where]) ** 2]
        if clip_values:
            bounded_change = min(max(change, -clip_ratio), clip_ratio)
            errors.append((old_values[where] + bounded_change - targets[where]) ** 2)
        baseline.append(max(errors) / 2)
    return np.mean(policy), np.mean(baseline), ratios


def clipped_rewards(rewards, rule):
    if rule == "abs_one":
        return np.clip(rewards, -1, 1)
    if rule == "soft_asymmetric":
        return np.where(rewards < 0, 1.5, 5) * np.tanh(rewards / 5)
    return rewards


def entropies(logits):
    probabilities = softmax(logits)
    return -(probabilities * np.log(probabilities)).sum(axis=-1)
