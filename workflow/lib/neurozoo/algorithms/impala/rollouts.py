"""Unrolls of several environments: what they saw, did and got, step by step."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from neurozoo.agents.policies import PolicyInputs, State
from neurozoo.networks.keras_networks import MEMORY, KerasLayout

RewardClipping = Literal["abs_one", "soft_asymmetric", "none"]


class Rollout:
    """One unroll of each environment. Arrays are time-major.

    Entry t of the inputs is what the policy knew at step t, entry t of the others what it did and what followed. The
    inputs have one entry more: what is known after the last step. It is the first entry of the next rollout.

    Args:
        length: Steps of an unroll, below called time.
        observation_shape: (height, width, channels).
        state_shapes: Shapes of what a network remembers of one environment.

    Attributes:
        observations: uint8, shape (time + 1, num_envs, height, width, channels).
        previous_actions: int32, shape (time + 1, num_envs): 0 where an episode begins.
        previous_rewards: float32, shape (time + 1, num_envs): unclipped; 0 where an episode begins.
        is_first: bool, shape (time + 1, num_envs): whether an episode begins.
        actions: int32, shape (time, num_envs).
        logits: float32, shape (time, num_envs, num_actions): of the policy that acted; with `pqn`, action values.
        rewards: float32, shape (time, num_envs): unclipped.
        is_last: bool, shape (time, num_envs): whether the episode ended with the step.
        values: float32, shape (time, num_envs): the baseline of the network that acted.
        after_limit: float32, shape (time, num_envs): the same of what followed a step that only a limit of steps made
            the last; else 0.
        bootstrap: float32, shape (num_envs,): the same after the last step; only for `ppo` and `pqn`.
        state: What the network remembered before the first step: float32, (num_envs, ...) each.
        version: Number of rollouts that the policy that acted had learned from.
    """

    ARRAYS = (
        "observations", "previous_actions", "previous_rewards", "is_first", "actions", "logits", "rewards", "is_last",
        "values", "after_limit",
    )  # fmt: skip
    INPUTS = 4  # as many of these have an entry for after the last step

    def __init__(
        self,
        *,
        length: int,
        num_envs: int,
        observation_shape: tuple[int, ...],
        num_actions: int,
        state_shapes: tuple[tuple[int, ...], ...] = (),
    ) -> None:
        after, during = (length + 1, num_envs), (length, num_envs)
        self.observations: Any = np.zeros((*after, *observation_shape), np.uint8)
        self.previous_actions = np.zeros(after, np.int32)
        self.previous_rewards = np.zeros(after, np.float32)
        self.is_first = np.zeros(after, bool)
        self.actions = np.zeros(during, np.int32)
        self.logits = np.zeros((*during, num_actions), np.float32)
        self.rewards = np.zeros(during, np.float32)
        self.is_last = np.zeros(during, bool)
        self.values = np.zeros(during, np.float32)
        self.after_limit = np.zeros(during, np.float32)
        self.bootstrap = np.zeros(num_envs, np.float32)
        self.state: State = tuple(np.zeros((num_envs, *shape), np.float32) for shape in state_shapes)
        self.version = 0

    def see(self, step: int, stacks: np.ndarray) -> None:
        """Writes what all environments show before a step: uint8, shape (num_envs, channels, height, width)."""
        for plane in range(stacks.shape[1]):  # plane by plane, which is faster than a transposition
            self.observations[step, ..., plane] = stacks[:, plane]

    def inputs(self, step: int) -> PolicyInputs:
        """Returns what the policy knows at a step; after the last one, too."""
        return PolicyInputs(*(getattr(self, name)[step] for name in self.ARRAYS[: self.INPUTS]))

    def begin_after(self, other: "Rollout") -> None:
        """Takes over what is known after the last step of the rollout before."""
        for name in self.ARRAYS[: self.INPUTS]:
            getattr(self, name)[0] = getattr(other, name)[-1]

    def unrolls(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Returns what V-trace takes, and what the network remembered before the first step."""
        columns = {name: getattr(self, name) for name in self.ARRAYS if name != "values"}
        return columns, dict(zip(MEMORY, self.state, strict=False))

    def get_arrays(self, step: int) -> dict[str, np.ndarray]:
        """Returns what is known before a step."""
        arrays = {name: getattr(self, name)[: step + (n < self.INPUTS)] for n, name in enumerate(self.ARRAYS)}
        arrays["bootstrap"] = self.bootstrap
        return arrays | {f"begin_{name}": part for name, part in zip(MEMORY, self.state, strict=False)}

    def set_arrays(self, step: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned."""
        for n, name in enumerate(self.ARRAYS):
            getattr(self, name)[: step + (n < self.INPUTS)] = arrays[name]
        self.bootstrap[:] = arrays["bootstrap"]
        self.state = tuple(arrays[f"begin_{name}"] for name, _ in zip(MEMORY, self.state, strict=False))


class RolloutBuffer:
    """The rollout that is being filled, and the one before it, from which a learner learns.

    Attributes:
        count: Number of environments.
        rollouts: Finished rollouts.
        step: Steps of the current rollout that are there.
        rollout: The current rollout.
    """

    def __init__(self, layout: KerasLayout, *, length: int, num_envs: int, kind: type[Rollout] = Rollout) -> None:
        self.rollouts = self.step = 0
        self.count = num_envs
        self._length = length
        self.rollout, self._before = (
            kind(
                length=length,
                num_envs=num_envs,
                observation_shape=layout.observation_shape,
                num_actions=layout.num_actions,
                state_shapes=layout.state_shapes,
            )
            for _ in range(2)
        )

    @property
    def is_rollout_over(self) -> bool:
        """Whether the current rollout is complete."""
        return self.step == self._length

    def next_rollout(self, version: int) -> Rollout:
        """Begins the next rollout, and returns the one before, which keeps its content until the next call.

        `version` is the number of rollouts that the policy has learned from by now.
        """
        self.rollout, self._before = self._before, self.rollout
        self.rollout.begin_after(self._before)
        self.rollout.version = version
        self.rollouts += 1
        self.step = 0
        return self._before

    def get_state(self) -> dict:
        """Returns what continuing depends on, except what `get_arrays` returns, as plain JSON."""
        return {"rollouts": self.rollouts, "step": self.step, "version": self.rollout.version}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state."""
        return prefixed("rollout", self.rollout.get_arrays(self.step))

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned."""
        self.rollouts, self.step = int(state["rollouts"]), int(state["step"])
        self.rollout.version = int(state["version"])
        self.rollout.set_arrays(self.step, unprefixed("rollout", arrays))


def prefixed(part: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the arrays of a part of a state by names that no other part uses."""
    return {f"{part}-{name}": each for name, each in arrays.items()}


def unprefixed(part: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the arrays of a part by their own names."""
    return {name.removeprefix(f"{part}-"): each for name, each in arrays.items() if name.startswith(f"{part}-")}


def clipped_rewards(rewards: Any, rule: RewardClipping, ops: Any = None, *, scale: float = 1.0) -> Any:
    """Scales and bounds rewards for learning, so that all games have gradients of one size.

    Args:
        rewards: Tensor or array of any shape.
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
