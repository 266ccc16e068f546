"""What PPO and PQN learn from: targets of a whole rollout, and minibatches that are drawn from it several times.

A target is an advantage and the value that it adds to: r_t + discount_t * ((1 - lambda) * V_{t+1} + lambda *
target_{t+1}), and V after the last step. With the largest action value as V, these are the Q(lambda) returns of PQN.
Deviation from CleanRL's `pqn_atari_envpool.py`: where an episode ends, that cuts off V_{t+1} but not target_{t+1}, so
that returns of the next episode leak into the one before. We cut off both.

Sources: Schulman et al. 2016, arXiv:1506.02438 (generalized advantage estimation); Gallici et al. 2024,
arXiv:2407.04811 (PQN).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from neurozoo.agents.policies import Policy
from neurozoo.algorithms.impala.rollouts import Rollout, clipped_rewards
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.networks.keras_networks import MEMORY

# So weights lie between 1/e and e. Runs depend on it: another bound would have to be a setting.
LARGEST_LOG_WEIGHT = 1.0


class Proximal(NamedTuple):
    """What a network says of a rollout before it learns from it.

    Attributes:
        logits: float32, shape (time, num_envs, num_actions).
        values: Its baseline, float32, shape (time, num_envs).
        bootstrap: The same after the last step, float32, shape (num_envs,).
        weights: Its probability of each action through that of the policy that acted, float32, shape (time, num_envs).
    """

    logits: np.ndarray
    values: np.ndarray
    bootstrap: np.ndarray
    weights: np.ndarray


def proximal_of(policy: Policy, rollout: Rollout) -> Proximal:
    """Asks a policy about every step of a rollout; a network with memory begins with the memory of the rollout.

    This is for decoupled PPO: the policy that an update stays close to is the one that learns, not the one that acted.
    A rollout was played with weights that are one rollout older than those that learn from it. Plain PPO bounds ratios
    around the policy that acted: where the updates of the rollout before have left these bounds, only steps that move
    back have a gradient. So the network that begins to learn from a rollout is asked for its own logits and values
    first: ratios and changes of values are bounded around these, advantages come from these values, and the loss of a
    step is weighted by how much more probable its action has become since it was played.

    Source: Hilton et al. 2021, "Batch size-invariance for policy optimization", arXiv:2110.00641 (the decoupled
    objective). Deviation: there, the proximal policy is a moving average of the weights, and importance weights have
    no bounds.
    """
    logits, values, state = np.empty_like(rollout.logits), np.empty_like(rollout.values), rollout.state
    for step in range(len(values)):
        outputs, state = policy.ask(rollout.inputs(step), state)
        logits[step], values[step] = outputs.preferences, outputs.baseline
    bootstrap = policy.ask(rollout.inputs(len(values)), state)[0].baseline
    assert bootstrap is not None  # networks for IMPALA have one
    since = _log_probabilities(logits, rollout.actions) - _log_probabilities(rollout.logits, rollout.actions)
    weights = np.exp(np.clip(since, -LARGEST_LOG_WEIGHT, LARGEST_LOG_WEIGHT))
    return Proximal(logits, values, bootstrap, weights)


def _log_probabilities(logits: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Returns those of the actions, shape (time, num_envs)."""
    above = logits - logits.max(axis=-1, keepdims=True)
    taken = np.take_along_axis(above, actions[..., None], axis=-1)[..., 0]
    return taken - np.log(np.exp(above).sum(axis=-1))


def generalized_advantages(
    *, rewards: np.ndarray, discounts: np.ndarray, values: np.ndarray, bootstrap: np.ndarray, lambda_: float
) -> np.ndarray:
    """Computes A_t = delta_t + discount_t * lambda * A_{t+1}, with delta_t = r_t + discount_t * V_{t+1} - V_t.

    Args:
        rewards: Shape (time, batch); that of step t follows its action.
        discounts: Shape (time, batch); 0 where an episode ends with step t.
        values: V_t, shape (time, batch): the baseline before step t.
        bootstrap: Shape (batch,): the baseline after the last step.
        lambda_: Between 0 (errors of one step) and 1 (all rewards of the rollout).

    Returns:
        Advantages: float32, shape (time, batch).
    """
    advantages = np.zeros_like(values)
    following, after = np.zeros_like(bootstrap), bootstrap
    for step in reversed(range(len(values))):
        error = rewards[step] + discounts[step] * after - values[step]
        following = advantages[step] = error + discounts[step] * np.float32(lambda_) * following
        after = values[step]
    return advantages


class Lesson(NamedTuple):
    """A rollout, and what each update takes of it.

    Attributes:
        columns: What the losses and the network take, shape (time, batch, ...).
        memory: What the network remembered before the first step, shape (batch, ...).
        parts: Which of the batch each update takes, in the order of the updates.
    """

    columns: dict[str, Any]
    memory: dict[str, Any]
    parts: list[slice | np.ndarray]

    def batches(self) -> Iterator[dict[str, np.ndarray]]:
        """Yields what each update takes."""
        for part in self.parts:
            columns = {name: each[:, part] for name, each in self.columns.items()}
            yield columns | {name: each[part] for name, each in self.memory.items()}


def unrolls(rollout: Rollout, settings: ImpalaSettings) -> Lesson:
    """Lets V-trace learn from each unroll once, in the order of the environments."""
    size = settings.batch_size
    parts: list[slice | np.ndarray] = [slice(first, first + size) for first in range(0, settings.num_envs, size)]
    return Lesson(*rollout.unrolls(), parts)


def minibatches(
    rollout: Rollout, settings: ImpalaSettings, random: np.random.Generator, proximal: Proximal | None = None
) -> Lesson:
    """Draws everything in a rollout that was played to its end `epochs` times, in a new order each time.

    Args:
        rollout: The rollout.
        settings: With `minibatches`: `unrolls` gives arrays of shape (unroll_length, batch_size, ...), `steps` of shape
            (1, unroll_length * batch_size, ...). Steps of a network with memory belong together: it gets unrolls.
        random: Draws the order.
        proximal: What the network that learns says of the rollout, in place of the logits and values of the one that
            acted; with `proximal_policy: learning`.

    Returns:
        What `ppo_losses` and `pqn_losses` take, and the inputs of the network, without those after the last step.
    """
    s = settings
    logits, values, bootstrap = (proximal or (rollout.logits, rollout.values, rollout.bootstrap))[:3]
    advantages = generalized_advantages(
        rewards=np.asarray(clipped_rewards(rollout.rewards, s.reward_clipping, np, scale=s.reward_scale))
        + np.float32(s.discount) * rollout.after_limit,
        discounts=np.float32(s.discount) * ~rollout.is_last,
        values=values,
        bootstrap=bootstrap,
        lambda_=s.gae_lambda,
    )
    length, count = values.shape
    names = ("observations", "previous_actions", "previous_rewards", "is_first", "actions")
    arrays = {name: getattr(rollout, name)[:length] for name in names}
    arrays |= {"logits": logits, "values": values, "advantages": advantages, "targets": advantages + values}
    if proximal is not None:
        arrays["weights"] = proximal.weights
    memory = dict(zip(MEMORY, rollout.state, strict=False))
    size = s.batch_size
    if s.minibatches == "steps" and not memory:
        arrays = {name: each.reshape(1, length * count, *each.shape[2:]) for name, each in arrays.items()}
        count, size = length * count, size * length
    orders = [random.permutation(count) for _ in range(s.epochs)]
    parts: list[slice | np.ndarray] = [
        order[first : first + size] for order in orders for first in range(0, count, size)
    ]
    return Lesson(arrays, memory, parts)
