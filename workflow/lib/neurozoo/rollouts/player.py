"""A frozen agent that plays, with or without perturbations, and the worlds and starts of its episodes."""

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neurozoo.agents.frozen import FrozenModel, observation_range, open_frozen
from neurozoo.agents.policies import (
    ACTION_RULES,
    EpsilonGreedy,
    Forward,
    NetworkOutputs,
    Policy,
    PolicyInputs,
    State,
)  # fmt: skip
from neurozoo.environments import World, make_world
from neurozoo.environments.episode_seeds import draw_seed
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.world import largest
from neurozoo.errors import NeurozooError
from neurozoo.randomness import Purpose
from neurozoo.rollouts.change_checks import check_successor
from neurozoo.rollouts.intervened import Intervening
from neurozoo.rollouts.perturbations import ACTION, OBSERVATION, Perturbation, perturb_kernels

if TYPE_CHECKING:
    import keras

EPSILON = 0.05  # usual probability of a random action in tests of agents that are greedy


class Decision(NamedTuple):
    """What a player saw, thought and chose at a step, for one environment."""

    seen: np.ndarray  # the observation with the noise that the agent saw
    representation: np.ndarray  # activation of the second-to-last layer
    outputs: np.ndarray  # float32, shape (outputs,): the network's
    chosen: np.ndarray  # float32, shape (outputs,): what the world gets, see `World.act`; with one-hot actions


class Player:
    """A frozen agent and its perturbation, in one environment. It chooses actions by a rule, and remembers.

    The seed is that of all noise; the rule is `greedy`, `sampled` or `continuous`, or the agent's own. `recorded` is a
    rollout of the agent itself, from which some interventions take activations. `prepare` changes the model of a
    step, in a way that a perturbation cannot describe; not beside an intervention.

    Attributes:
        change: What changes from one step of an episode on, see `Change`. Between episodes, it may be replaced by one
            with another step or action.

    Raises:
        NeurozooError: The frozen model is damaged, or the rule or the change is not for this agent.
    """

    def __init__(
        self,
        frozen: FrozenModel,
        perturbation: Perturbation,
        *,
        seed: int,
        action_rule: str | None = None,
        recorded: str | os.PathLike | None = None,
        prepare: Callable[["keras.Model"], "keras.Model"] | None = None,
    ):
        self._seed, self.change = seed, perturbation.change
        intervention, self._intervening = perturbation.played_intervention, None
        if intervention is not None:
            self._intervening = Intervening(frozen, intervention, recorded, seed=seed)
            prepare = self._intervening.prepare
        self._is_always_intervening = perturbation.intervention is not None
        self._successor = None if self.change is None else _successor(frozen, perturbation, seed=seed)
        self._actions = frozen.actions
        low, high = observation_range(frozen.protocol, frozen.shape) or (0.0, 1.0)
        self._deviation = perturbation.observation * (high - low)
        forward = compiled_forward_pass(frozen, noise=perturbation.parameter, seed=seed, prepare=prepare)
        self._is_continuous = frozen.is_continuous
        self._num_outputs = len(frozen.actions)
        rule = own_rule(frozen) if action_rule is None else action_rule
        if rule not in ACTION_RULES or (rule == "continuous") != self._is_continuous:
            allowed = "continuous" if self._is_continuous else "greedy or sampled"
            raise NeurozooError(f"The action rule of {frozen.title} should be {allowed}, but is {rule!r}.")
        self._policy: Policy = ACTION_RULES[rule](forward, state_shapes=frozen.state_shapes)
        if perturbation.action:
            self._policy = EpsilonGreedy(self._policy, epsilon=perturbation.action, num_actions=self._num_outputs)

    def begin(self, episode: int) -> None:
        """Begins an episode. Its number seeds the noise, which therefore does not depend on earlier episodes."""
        self._observation_rng = np.random.default_rng([self._seed, episode, OBSERVATION])
        self._action_rng = np.random.default_rng([self._seed, episode, ACTION])
        if self._intervening:
            self._intervening.begin(episode)
        self._state = self._policy.initial_state(1)
        self._previous_action = self._step = 0
        if self._successor:
            self._successor.begin(episode)

    def decide(self, observation: np.ndarray, reward: float = 0.0) -> Decision:
        """Chooses what to do; `observation` has no batch axis, and `reward` is that of the step before."""
        seen, changed = observation, self.change if self.change and self.change.is_at(self._step) else None
        if self._deviation:
            noise = self._observation_rng.standard_normal(observation.shape, np.float32)
            seen = observation + np.float32(self._deviation) * noise
        if self._intervening:
            seen = self._intervening.step(seen, is_active=self._is_always_intervening or changed is not None)
        inputs = PolicyInputs(
            seen[np.newaxis],
            previous_action=np.array([self._previous_action]),
            previous_reward=np.array([reward], np.float32),
            is_first=np.array([self._step == 0]),
        )
        (action,), outputs, self._state = self._policy.step(inputs, self._state, self._action_rng)
        assert outputs is not None  # the network is always asked
        assert outputs.representation is not None  # see `compiled_forward_pass`
        self._step += 1
        chosen = action if self._is_continuous else self._one_hot(int(action))
        if changed and changed.action is not None:
            chosen = self._one_hot(self._actions.index(changed.action))
        if self._successor:  # has watched from the start, with the action that was played as its own
            followed = self._successor.decide(observation, reward).chosen
            chosen = followed if changed else chosen
            self._successor.note_played(largest(chosen))
        self.note_played(largest(chosen))
        return Decision(seen, outputs.representation[0], outputs.preferences[0], chosen)

    def _one_hot(self, action: int) -> np.ndarray:
        return np.eye(self._num_outputs, dtype=np.float32)[action]

    def save(self) -> tuple:
        """Returns what it remembers at this step, for `restore`: memory, random numbers and the action before."""
        random = self._intervening.random if self._intervening else None
        return self._observation_rng, self._action_rng, random, self._state, self._previous_action, self._step

    def restore(self, saved: tuple) -> None:
        """Remembers what it remembered when `save` was called; the arrays and generators are its own from then on."""
        self._observation_rng, self._action_rng, random, self._state, self._previous_action, self._step = saved
        if self._intervening:
            self._intervening.random = random

    def note_played(self, action: int) -> None:
        """Notes that another action was played than the one that was decided on, as the network will see it."""
        self._previous_action = 0 if self._is_continuous else action


def _successor(frozen: FrozenModel, perturbation: Perturbation, *, seed: int) -> Player | None:
    """Returns the agent that takes over, if the change is one; with the same noise and the same random numbers."""
    assert perturbation.change is not None
    if perturbation.change.agent is None:
        return None
    folder = Path(perturbation.change.agent)
    other = open_frozen(folder / "frozen" if (folder / "frozen").is_dir() else folder)
    check_successor(frozen, other)
    return Player(other, replace(perturbation, change=None, intervention=None), seed=seed)


def world_of_agent(frozen: FrozenModel, protocol: Protocol) -> World:
    """Makes the world in which a frozen agent plays.

    Raises:
        NeurozooError: The numbers of actions of world and agent differ.
    """
    world = make_world(frozen.game, protocol)
    if world.num_outputs != len(frozen.actions):
        world.close()
        raise NeurozooError(
            f"{frozen.game} has {world.num_outputs} actions under {protocol.name}, but the frozen model "
            f"in {frozen.folder} has {len(frozen.actions)}. Freeze an agent that was trained on this game."
        )
    return world


def episode_starts(protocol: Protocol, *, seed: int, noops: int | None = None) -> Iterator[dict[str, int]]:
    """Yields the no-ops and the emulator seed of each episode; both depend only on `seed` and the episode's number.

    With `noops`, all episodes have this number of no-ops, instead of a drawn one.
    """
    for episode in itertools.count():
        generator = np.random.default_rng([seed, episode])
        drawn = protocol.draw_noops(generator)
        yield {"noops": drawn if noops is None else noops, "seed": draw_seed(generator, Purpose.ROLLOUT, protocol)}


def own_rule(frozen: FrozenModel) -> str:
    """Returns the recorded rule by which an agent's outputs become actions."""
    return "continuous" if frozen.is_continuous else frozen.action_rule


def default_epsilon(frozen: FrozenModel) -> float:
    """Returns the usual probability of a random action in a test: 0 for agents that draw their actions anyway."""
    return EPSILON if frozen.action_rule == "greedy" and not frozen.is_continuous else 0.0


def compiled_forward_pass(
    frozen: FrozenModel,
    *,
    noise: float = 0.0,
    seed: int = 0,
    prepare: Callable[["keras.Model"], "keras.Model"] | None = None,
) -> Forward:
    """Returns a fast function of the frozen network; each size of batch is compiled once."""
    import tensorflow as tf

    model = frozen.step_model([frozen.representation.name, frozen.layers[-1].name])
    if noise:
        perturb_kernels(model, noise, seed=seed)
    if prepare:
        model = prepare(model)
    run = tf.function(lambda inputs: model(inputs, training=False))

    def forward(inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        history = [inputs.previous_action.astype(np.int32), inputs.previous_reward] if frozen.has_history else []
        arrays = [inputs.observation, *history, *state]
        representation, preferences, *state_after = (each.numpy() for each in run(list(map(tf.constant, arrays))))
        return NetworkOutputs(preferences, representation), tuple(state_after)

    blank = PolicyInputs.without_history(np.zeros((1, *frozen.shape.observation), np.float32))
    forward(blank, tuple(np.zeros((1, *shape), np.float32) for shape in frozen.state_shapes))  # compiles it
    return forward
