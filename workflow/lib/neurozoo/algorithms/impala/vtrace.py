"""V-trace: targets for the baseline, and advantages for the policy, from actions of a slightly older policy.

Arrays are time-major: (time, batch, ...). All functions work inside of a compiled update, with any `KERAS_BACKEND`.

Source: Espeholt et al. 2018, arXiv:1802.01561, section 4.1 and remark 2 (lambda); `vtrace.py` of its published code.
"""

from typing import Any

Tensor = Any  # of Keras' backend, or a NumPy array


def vtrace(
    *,
    log_ratios: Tensor,
    discounts: Tensor,
    rewards: Tensor,
    values: Tensor,
    bootstrap: Tensor,
    rho_bar: float | None = 1.0,
    pg_rho_bar: float | None = 1.0,
    c_bar: float | None = 1.0,
    lambda_: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Computes targets and advantages backwards in time; no gradient flows through either.

    With rho_t = exp(log_ratios_t), V the values and V_T the bootstrap:

    - delta_t = min(rho_bar, rho_t) * (r_t + discount_t * V_{t+1} - V_t)
    - e_t = delta_t + discount_t * lambda * min(c_bar, rho_t) * e_{t+1}, with e_T = 0
    - v_t = V_t + e_t
    - advantage_t = min(pg_rho_bar, rho_t) * (r_t + discount_t * v_{t+1} - V_t), with v_T the bootstrap

    Args:
        log_ratios: log pi(a_t) - log mu(a_t), shape (time, batch, ...).
        discounts: Shape (time, batch, ...); 0 where an episode ends with step t.
        rewards: Shape (time, batch, ...); that of step t follows its action.
        values: Shape (time, batch, ...): the baseline before step t.
        bootstrap: Shape (batch, ...): the baseline after the last step.
        rho_bar: Bound of the weights of the errors; None for no bound.
        pg_rho_bar: Bound of the weights of the advantages; None for no bound.
        c_bar: Bound of the weights that carry errors back; None for no bound.
        lambda_: Factor on these weights, at most 1.

    Returns:
        What the baseline should say, v_t, shape (time, batch, ...); and how much better each action was than expected,
        times its clipped weight, of the same shape.
    """
    import keras

    ops = keras.ops
    log_ratios, rewards, values, bootstrap = map(ops.stop_gradient, (log_ratios, rewards, values, bootstrap))
    ratios = ops.exp(log_ratios)
    bootstrap = ops.expand_dims(bootstrap, 0)
    values_after = ops.concatenate([values[1:], bootstrap])
    errors = _bounded(ratios, rho_bar) * (rewards + discounts * values_after - values)
    carry = discounts * lambda_ * _bounded(ratios, c_bar)
    error = ops.zeros_like(errors[0])
    sums = []
    for step in reversed(range(errors.shape[0])):  # unrolled: a few small operations per step, faster than a scan
        error = errors[step] + carry[step] * error
        sums.append(error)
    targets = values + ops.stack(sums[::-1])
    targets_after = ops.concatenate([targets[1:], bootstrap])
    advantages = _bounded(ratios, pg_rho_bar) * (rewards + discounts * targets_after - values)
    return ops.stop_gradient(targets), ops.stop_gradient(advantages)


def log_probabilities(logits: Tensor, actions: Tensor) -> Tensor:
    """Returns the log-probability of each action under softmax(logits), shape (time, batch)."""
    import keras

    ops = keras.ops
    taken = ops.one_hot(actions, logits.shape[-1], dtype=logits.dtype)
    return ops.sum(taken * ops.log_softmax(logits, axis=-1), axis=-1)


def entropies(logits: Tensor) -> Tensor:
    """Returns the entropy of softmax(logits) in nats: shape (time, batch) for logits (time, batch, actions)."""
    import keras

    ops = keras.ops
    return -ops.sum(ops.softmax(logits, axis=-1) * ops.log_softmax(logits, axis=-1), axis=-1)


def _bounded(ratios: Tensor, bound: float | None) -> Tensor:
    import keras

    return ratios if bound is None else keras.ops.minimum(ratios, bound)
