"""Policies: how a network's outputs become actions, step after step, for a batch of environments.

Learners, tests, rollouts and games for people act through a `Policy`. The native core has a greedy policy of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from neurozoo.environments.world import largest

State = tuple[np.ndarray, ...]  # what a network remembers: (batch, ...) each; () for a network without memory


class PolicyInputs(NamedTuple):
    """What a policy knows at a step."""

    observation: np.ndarray  # shape (batch, *observation)
    previous_action: np.ndarray  # int64, shape (batch,): the action before; 0 at an episode's first step
    previous_reward: np.ndarray  # float32, shape (batch,): the reward of that action; 0 at an episode's first step
    # bool, shape (batch,): whether an episode begins. The memory of these environments is cleared.
    is_first: np.ndarray

    @classmethod
    def without_history(cls, observation: np.ndarray) -> "PolicyInputs":
        """Returns the inputs of a network that looks at nothing but the observation."""
        batch = len(observation)
        return cls(observation, np.zeros(batch, np.int64), np.zeros(batch, np.float32), np.zeros(batch, bool))


class NetworkOutputs(NamedTuple):
    """What a network says at a step."""

    # float32, shape (batch, outputs): action values or logits, of which the largest is preferred; or the continuous
    # actions themselves
    preferences: np.ndarray
    # Activation of the second-to-last layer, shape (batch, ...); None if nobody asked for it
    representation: np.ndarray | None = None
    # float32, shape (batch,): the estimated value of the state; None for networks without such a head
    baseline: np.ndarray | None = None


class PolicyStep(NamedTuple):
    """What a policy does at a step."""

    action: np.ndarray  # int64, shape (batch,); float32, shape (batch, outputs), if actions are continuous
    outputs: NetworkOutputs | None  # what the network said; None if the policy did not ask it
    state: State  # the memory for the next step


Forward = Callable[[PolicyInputs, State], tuple[NetworkOutputs, State]]


class Policy(ABC):
    """Chooses actions for a batch of environments.

    A policy holds no state of its own: `state` and the random numbers come from the caller, who can save them.
    """

    @abstractmethod
    def initial_state(self, batch: int) -> State:
        """Returns the memory of environments whose episodes begin."""

    @abstractmethod
    def ask(self, inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        """Clears the memory where episodes begin, and asks the network; returns its outputs and the new memory."""

    @abstractmethod
    def step(self, inputs: PolicyInputs, state: State, rng: np.random.Generator) -> PolicyStep:
        """Chooses one action for each environment.

        Args:
            inputs: What is known.
            state: From `initial_state` or from the step before.
            rng: Random numbers; the same inputs, state and numbers give the same actions.
        """


class NetworkPolicy(Policy):
    """Asks a network at each step. Subclasses say how its preferences become actions.

    The memory of one environment has `state_shapes`, such as `((256,), (256,))` for an LSTM.
    """

    def __init__(self, forward: Forward, *, state_shapes: Sequence[tuple[int, ...]] = ()):
        self._forward = forward
        self._state_shapes = tuple(state_shapes)

    def initial_state(self, batch: int) -> State:
        """Returns a memory of zeros."""
        return tuple(np.zeros((batch, *shape), np.float32) for shape in self._state_shapes)

    def step(self, inputs: PolicyInputs, state: State, rng: np.random.Generator) -> PolicyStep:
        """Clears the memory where episodes begin, asks the network and chooses."""
        outputs, state = self.ask(inputs, state)
        return PolicyStep(self.choose(outputs.preferences, rng), outputs, state)

    def ask(self, inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        """Clears the memory where episodes begin, and asks the network; returns its outputs and the new memory."""
        return self._forward(inputs, _cleared(state, inputs.is_first))

    @abstractmethod
    def choose(self, preferences: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns the actions for preferences of shape (batch, outputs)."""


class Greedy(NetworkPolicy):
    """Plays the action with the largest preference; of equal ones the first, as the native core does."""

    def choose(self, preferences: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns the index of the largest preference of each row."""
        if np.isnan(preferences).any():  # NumPy takes these for the largest, the core does not
            return np.array([largest(row) for row in preferences], np.int64)
        return np.argmax(preferences, axis=-1)


class Sampled(NetworkPolicy):
    """Draws each action with the probabilities softmax(preferences)."""

    def choose(self, preferences: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws an index for each row."""
        # The largest of logits with Gumbel noise is a draw from their softmax (Gumbel 1954).
        noise = rng.gumbel(size=preferences.shape)
        return np.argmax(preferences.astype(np.float64) + noise, axis=-1)


class Continuous(NetworkPolicy):
    """Plays the network's outputs themselves."""

    def choose(self, preferences: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns the preferences."""
        return preferences


# How the outputs of a network become actions, by the names that checkpoints and frozen models record.
ACTION_RULES: Mapping[str, type[NetworkPolicy]] = {"greedy": Greedy, "sampled": Sampled, "continuous": Continuous}


class EpsilonGreedy(Policy):
    """Plays a random action with a small probability, else what another policy plays, usually `Greedy`.

    A lazy one does not ask the other policy when all actions of a step are random and it has no memory. Such a step has
    no outputs.

    Attributes:
        epsilon: Probability in each step and environment of an action drawn uniformly; learners change it between
            steps.
    """

    def __init__(self, policy: Policy, *, epsilon: float, num_actions: int, is_lazy: bool = False):
        self._policy = policy
        self.epsilon = epsilon
        self._num_actions = num_actions
        self._is_lazy = is_lazy

    def initial_state(self, batch: int) -> State:
        """Returns the memory of the other policy."""
        return self._policy.initial_state(batch)

    def ask(self, inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        """Asks the network of the other policy."""
        return self._policy.ask(inputs, state)

    def step(self, inputs: PolicyInputs, state: State, rng: np.random.Generator) -> PolicyStep:
        """Draws which environments play a random action, and asks the other policy."""
        batch = len(inputs.observation)
        is_random = rng.random(batch) < self.epsilon
        actions = rng.integers(self._num_actions, size=batch)
        if self._is_lazy and not state and is_random.all():
            return PolicyStep(actions, None, state)
        other = self._policy.step(inputs, state, rng)
        return other._replace(action=np.where(is_random, actions, other.action))


def _cleared(state: State, is_first: np.ndarray) -> State:
    """Returns the memory with zeros for environments whose episodes begin."""
    if not state or not is_first.any():
        return state
    return tuple(np.where(is_first.reshape(-1, *[1] * (part.ndim - 1)), 0, part) for part in state)
