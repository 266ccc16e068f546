"""The parts of IMPALA's loss. All of them are sums over time and batch.

Because of the sums, learning rate, largest norm of the gradient and batch size depend on each other: with 32 unrolls of
20 steps, the gradient is 640 times that of the mean.

Source: Espeholt et al. 2018, arXiv:1802.01561, section 4.2, and its published code.
"""

from typing import Any, Literal

from neurozoo.algorithms.impala.vtrace import Tensor

RewardClipping = Literal["abs_one", "soft_asymmetric", "none"]


def clipped_rewards(rewards: Tensor, rule: RewardClipping, ops: Any = None, *, scale: float = 1.0) -> Tensor:
    """Scales and bounds rewards for learning, so that all games have gradients of one size.

    Args:
        rewards: Any shape.
        rule: `abs_one` clips to [-1, 1]. `soft_asymmetric` takes 5 tanh(r / 5), but 1.5 tanh(r / 5) of losses.
        ops: What computes: NumPy for arrays outside of an update; None for `keras.ops`.
        scale: Factor on rewards before the rule.
    """
    if ops is None:
        import keras

        ops = keras.ops
    rewards = rewards * scale if scale != 1.0 else rewards
    match rule:
        case "abs_one":
            return ops.clip(rewards, -1.0, 1.0)
        case "soft_asymmetric":
            squeezed = ops.tanh(rewards / 5.0)
            return ops.where(rewards < 0, 1.5 * squeezed, 5.0 * squeezed)
        case "none":
            return rewards


def policy_loss(action_log_probabilities: Tensor, advantages: Tensor) -> Any:
    """Returns the sum of -log pi(a) * advantage; both have shape (time, batch)."""
    import keras

    return -keras.ops.sum(action_log_probabilities * advantages)


def baseline_loss(targets: Tensor, values: Tensor) -> Any:
    """Returns half the sum of the squared errors; both have shape (time, batch)."""
    import keras

    return 0.5 * keras.ops.sum(keras.ops.square(targets - values))


def entropies(logits: Tensor) -> Tensor:
    """Returns the entropy of softmax(logits) in nats: shape (time, batch) for logits (time, batch, actions)."""
    import keras

    ops = keras.ops
    return -ops.sum(ops.softmax(logits, axis=-1) * ops.log_softmax(logits, axis=-1), axis=-1)
