"""Decoupled PPO: the policy that an update stays close to is the one that learns, not the one that acted.

A rollout was played with weights that are one rollout older than those that learn from it. Plain PPO bounds ratios
around the policy that acted: where the updates of the rollout before have left these bounds, only steps that move back
have a gradient. So the network that begins to learn from a rollout is asked for its own logits and values first: ratios
and changes of values are bounded around these, advantages come from these values, and the loss of a step is weighted by
how much more probable its action has become since it was played.

Source: Hilton et al. 2021, "Batch size-invariance for policy optimization", arXiv:2110.00641 (the decoupled objective).
Deviation: there, the proximal policy is a moving average of the weights, and importance weights have no bounds.
"""

from typing import NamedTuple

import numpy as np

from neurozoo.agents.policies import Policy
from neurozoo.algorithms.impala.rollouts import Rollout

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
    """Asks a policy about every step of a rollout; a network with memory begins with the memory of the rollout."""
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
