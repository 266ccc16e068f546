"""What an update descends: the loss of V-trace, PPO or PQN, of a batch that the network has seen.

All work inside of a compiled update, with any `KERAS_BACKEND`; arrays are time-major: (time, batch, ...).

Sources: Espeholt et al. 2018, arXiv:1802.01561, section 4.2; Schulman et al. 2017, arXiv:1707.06347, with the details
of CleanRL's `ppo_atari.py` (Huang et al. 2022, "The 37 implementation details of PPO"); Gallici et al. 2024,
arXiv:2407.04811 (PQN), with the details of CleanRL's `pqn_atari_envpool.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from neurozoo.algorithms.impala.rollouts import clipped_rewards
from neurozoo.algorithms.impala.settings import ImpalaSettings

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

    Source: Espeholt et al. 2018, arXiv:1802.01561, section 4.1 and remark 2 (lambda); its published `vtrace.py`.
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


Figures = dict[str, Any]  # `FIGURES` by name: scalars

SMALLEST_DEVIATION = 1e-8  # of advantages that are normalized


def _figures(
    *, policy: Any, baseline: Any, entropy: Any, entropies: Tensor, values: Tensor, ratios: Tensor, is_clipped: Tensor
) -> Figures:
    """Returns the loss and what reports say of a batch, as scalars: `FIGURES`.

    Args:
        policy: The loss of the policy.
        baseline: That of the values, with its factor.
        entropy: That of the entropy, with its factor; negative.
        entropies: Shape (time, batch), in nats.
        values: The baseline, shape (time, batch).
        ratios: New probability of each action through that of the policy that acted, or of the proximal policy, shape
            (time, batch).
        is_clipped: Whether the bound on its ratio holds for an action, shape (time, batch).
    """
    import keras

    parts = {"loss_pg": policy, "loss_baseline": baseline, "loss_entropy": entropy}
    steps = {
        **{"entropy_mean": entropies, "value_mean": values},
        **{"rho_mean": ratios, "rho_clipped_share": is_clipped},
    }
    means = {name: keras.ops.mean(keras.ops.cast(each, "float32")) for name, each in steps.items()}
    return {"loss_total": sum(parts.values()), **parts, **means}


def vtrace_losses(s: ImpalaSettings, batch: Mapping[str, Tensor], logits: Tensor, values: Tensor) -> Figures:
    """Returns the losses of IMPALA, sums over time and batch.

    Because of the sums, learning rate, largest norm of the gradient and batch size depend on each other: with 32
    unrolls of 20 steps, the gradient is 640 times that of the mean. The logits of the policy that learns have shape
    (time + 1, batch, actions), its baseline (time + 1, batch); the batch is one of `unrolls`.
    """
    import keras

    ops = keras.ops
    logits, values, bootstrap = logits[:-1], values[:-1], values[-1]
    log_of_actions = log_probabilities(logits, batch["actions"])
    log_ratios = log_of_actions - log_probabilities(batch["logits"], batch["actions"])
    targets, advantages = vtrace(
        log_ratios=log_ratios,
        discounts=s.discount * (1.0 - ops.cast(batch["is_last"], "float32")),
        rewards=clipped_rewards(batch["rewards"], s.reward_clipping, scale=s.reward_scale)
        + s.discount * batch["after_limit"],
        values=values,
        bootstrap=bootstrap,
        rho_bar=s.rho_bar,
        pg_rho_bar=s.pg_rho_bar,
        c_bar=s.c_bar,
        lambda_=s.vtrace_lambda,
    )
    entropy = entropies(logits)
    ratios = ops.exp(log_ratios)
    return _figures(
        policy=-ops.sum(log_of_actions * advantages),
        baseline=s.baseline_cost * (0.5 * ops.sum(ops.square(targets - values))),
        entropy=-s.entropy_cost * ops.sum(entropy),
        entropies=entropy,
        values=values,
        ratios=ratios,
        is_clipped=ratios > (float("inf") if s.rho_bar is None else s.rho_bar),
    )


def ppo_losses(s: ImpalaSettings, batch: Mapping[str, Tensor], logits: Tensor, values: Tensor) -> Figures:
    """Returns the losses of PPO, means over time and batch.

    - policy: mean of w max(-A r, -A clip(r, 1 - c, 1 + c)), with A the advantages, r the ratios and c `clip_ratio`; w
      is 1, but with `proximal_policy: learning` the weights of `Proximal`
    - baseline: half the mean of (V - target)^2; with `clip_values` of the larger of it and the same for
      V_old + clip(V - V_old, -c, c)

    The logits of the policy that learns have shape (time, batch, actions), its baseline (time, batch); the batch is one
    of `minibatches`.
    """
    import keras

    ops = keras.ops
    advantages, targets, before = batch["advantages"], batch["targets"], batch["values"]
    if s.normalize_advantages:
        # By the root of the mean square; PyTorch divides by one less than the number of steps.
        advantages = (advantages - ops.mean(advantages)) / (ops.std(advantages) + SMALLEST_DEVIATION)
    taken = log_probabilities(logits, batch["actions"])
    ratios = ops.exp(taken - log_probabilities(batch["logits"], batch["actions"]))
    low, high = 1.0 - s.clip_ratio, 1.0 + s.clip_ratio
    losses = ops.maximum(-advantages * ratios, -advantages * ops.clip(ratios, low, high))
    if "weights" in batch:
        losses = losses * batch["weights"]
    errors = ops.square(values - targets)
    if s.clip_values:
        near = before + ops.clip(values - before, -s.clip_ratio, s.clip_ratio)
        errors = ops.maximum(errors, ops.square(near - targets))
    entropy = entropies(logits)
    return _figures(
        policy=ops.mean(losses),
        baseline=s.baseline_cost * 0.5 * ops.mean(errors),
        entropy=-s.entropy_cost * ops.mean(entropy),
        entropies=entropy,
        values=values,
        ratios=ratios,
        is_clipped=ops.abs(ratios - 1.0) > s.clip_ratio,
    )


def pqn_losses(s: ImpalaSettings, batch: Mapping[str, Tensor], q_values: Tensor, largest: Tensor) -> Figures:
    """Returns the loss of PQN: the mean of (Q(state, action) - target)^2 over time and batch.

    Q-values have shape (time, batch, actions). The `largest` of each state are not used, since targets come from the
    network that acted.
    """
    import keras

    ops = keras.ops
    taken = ops.one_hot(batch["actions"], q_values.shape[-1], dtype=q_values.dtype)
    values = ops.sum(q_values * taken, axis=-1)
    loss = ops.mean(ops.square(values - batch["targets"]))
    return {"loss_total": loss, "loss_baseline": loss, "value_mean": ops.mean(values)}


OBJECTIVES: Mapping[str, Callable[..., Figures]] = {"vtrace": vtrace_losses, "ppo": ppo_losses, "pqn": pqn_losses}

# What an update tells: the loss, its parts, and means over the batch.
_FIGURES_OF_POLICIES = (
    "loss_total", "loss_pg", "loss_baseline", "loss_entropy", "entropy_mean", "value_mean", "rho_mean",
    "rho_clipped_share",
)  # fmt: skip
FIGURES: Mapping[str, tuple[str, ...]] = {
    "vtrace": _FIGURES_OF_POLICIES,
    "ppo": _FIGURES_OF_POLICIES,
    "pqn": ("loss_total", "loss_baseline", "value_mean"),
}
