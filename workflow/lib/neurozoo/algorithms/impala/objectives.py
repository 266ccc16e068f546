"""What an update descends: the loss of V-trace or of PPO, of a batch that the network has seen.

Both work inside of a compiled update, with any `KERAS_BACKEND`.

Sources: Espeholt et al. 2018, arXiv:1802.01561, section 4.2; Schulman et al. 2017, arXiv:1707.06347, with the details
of CleanRL's `ppo_atari.py` (Huang et al. 2022, "The 37 implementation details of PPO").
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from neurozoo.algorithms.impala.losses import baseline_loss, clipped_rewards, entropies, policy_loss
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.algorithms.impala.vtrace import Tensor, log_probabilities, vtrace_of_logits

SMALLEST_DEVIATION = 1e-8  # of advantages that are normalized


class Losses(NamedTuple):
    """The parts of a loss, with their factors, and what reports say of the batch.

    Attributes:
        policy: Scalar.
        baseline: Scalar.
        entropy: Scalar; negative.
        entropies: Shape (time, batch), in nats.
        values: The baseline, shape (time, batch).
        ratios: New probability of each action through that of the policy that acted, shape (time, batch).
        is_clipped: Whether the bound on its ratio holds for an action, shape (time, batch).
    """

    policy: Any
    baseline: Any
    entropy: Any
    entropies: Tensor
    values: Tensor
    ratios: Tensor
    is_clipped: Tensor


def vtrace_losses(s: ImpalaSettings, batch: Mapping[str, Tensor], logits: Tensor, values: Tensor) -> Losses:
    """Returns the losses of IMPALA, sums over time and batch.

    Args:
        s: The settings.
        batch: As returned by `Rollout.batch`.
        logits: Of the policy that learns, shape (time + 1, batch, actions).
        values: Its baseline, shape (time + 1, batch).
    """
    import keras

    ops = keras.ops
    logits, values, bootstrap = logits[:-1], values[:-1], values[-1]
    (targets, advantages), log_ratios, log_of_actions, _ = vtrace_of_logits(
        behaviour_logits=batch["logits"],
        target_logits=logits,
        actions=batch["actions"],
        discounts=s.discount * (1.0 - ops.cast(batch["is_last"], "float32")),
        rewards=clipped_rewards(batch["rewards"], s.reward_clipping),
        values=values,
        bootstrap=bootstrap,
        rho_bar=s.rho_bar,
        pg_rho_bar=s.pg_rho_bar,
        c_bar=s.c_bar,
        lambda_=s.vtrace_lambda,
    )
    entropy = entropies(logits)
    ratios = ops.exp(log_ratios)
    return Losses(
        policy_loss(log_of_actions, advantages),
        s.baseline_cost * baseline_loss(targets, values),
        -s.entropy_cost * ops.sum(entropy),
        entropy,
        values,
        ratios,
        ratios > (float("inf") if s.rho_bar is None else s.rho_bar),
    )


def ppo_losses(s: ImpalaSettings, batch: Mapping[str, Tensor], logits: Tensor, values: Tensor) -> Losses:
    """Returns the losses of PPO, means over time and batch.

    - policy: mean of max(-A r, -A clip(r, 1 - c, 1 + c)), with A the advantages, r the ratios and c `clip_ratio`
    - baseline: half the mean of (V - target)^2; with `clip_values` of the larger of it and the same for
      V_old + clip(V - V_old, -c, c)

    Args:
        s: The settings.
        batch: As returned by `minibatches`.
        logits: Of the policy that learns, shape (time, batch, actions).
        values: Its baseline, shape (time, batch).
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
    errors = ops.square(values - targets)
    if s.clip_values:
        near = before + ops.clip(values - before, -s.clip_ratio, s.clip_ratio)
        errors = ops.maximum(errors, ops.square(near - targets))
    entropy = entropies(logits)
    return Losses(
        ops.mean(losses),
        s.baseline_cost * 0.5 * ops.mean(errors),
        -s.entropy_cost * ops.mean(entropy),
        entropy,
        values,
        ratios,
        ops.abs(ratios - 1.0) > s.clip_ratio,
    )


OBJECTIVES: Mapping[str, Callable[..., Losses]] = {"vtrace": vtrace_losses, "ppo": ppo_losses}
