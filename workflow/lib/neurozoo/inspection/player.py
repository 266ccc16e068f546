"""A frozen agent that plays, undisturbed or with the noise by which the Atari Zoo tried how robust its agents were.

Source: Such et al. 2018, arXiv:1812.07069, and its code.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from neurozoo.environments import World, make_world
from neurozoo.errors import NeurozooError
from neurozoo.games import Protocol
from neurozoo.inspection.frozen import FrozenModel, observation_range

if TYPE_CHECKING:
    import keras

OBSERVATION, ACTION, PARAMETER = 1, 2, 3  # what a stream of noise is for
EMULATOR_SEEDS = 2**31  # seeds of an emulator are below this


@dataclass(frozen=True)
class Disturbance:
    """What makes an agent's life harder than its training was; nothing by default.

    Every draw depends on the rollout's seed, on what it is for and (but for parameters) on the episode's number alone.

    Attributes:
        observation: Standard deviation of Gaussian noise on every number that the agent sees, drawn anew in every step
            for the whole stack, as the Atari Zoo does; in parts of the observations' range, where they have one. Not
            clipped.
        parameter: Standard deviation of Gaussian noise on the kernels of the convolutions, drawn once; of networks
            without any, on the weights of the dense layers.
        action: Chance in every step that a random action is played, any with the same chance.
        sticky_probability: Chance per frame that the emulator repeats the action before, instead of the protocol's;
            None for the latter. (The Atari Zoo repeats whole steps.)
    """

    observation: float = 0.0
    parameter: float = 0.0
    action: float = 0.0
    sticky_probability: float | None = None

    def protocol(self, frozen: FrozenModel) -> Protocol:
        """Returns how the agent's episodes are played.

        Raises:
            NeurozooError: The agent cannot be disturbed so, see `check`.
        """
        self.check(frozen)
        if self.sticky_probability is None:
            return frozen.protocol
        return replace(frozen.protocol, sticky_probability=self.sticky_probability)

    def check(self, frozen: FrozenModel) -> None:
        """Refuses what cannot be done to an agent.

        Raises:
            NeurozooError: A number is out of range, or the agent's world has no actions or no emulator.
        """
        for name in ("observation", "parameter"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise NeurozooError(f"{name}_noise is a standard deviation >= 0, but {value} came.")
        for name, chance in (("action_noise", self.action), ("sticky_probability", self.sticky_probability)):
            if chance is not None and not 0 <= chance <= 1:
                raise NeurozooError(f"{name} is a probability from 0 to 1, but {chance} came.")
        if self.action and frozen.is_continuous:
            raise NeurozooError(
                f"{frozen.game} obeys all outputs, so that there is no random action to play. Leave action_noise at 0."
            )
        if self.sticky_probability is not None and frozen.protocol.world != "atari":
            raise NeurozooError(
                f"{frozen.game} has no emulator whose actions stick. Leave sticky_probability out; action_noise "
                "disturbs actions in every world that has some."
            )


class Player:
    """A frozen agent, and what disturbs it.

    Args:
        frozen: The agent.
        disturbance: What disturbs it.
        seed: Of all noise.

    Attributes:
        think: A function from what it sees to its representation and its outputs.

    Raises:
        NeurozooError: The frozen model is damaged.
    """

    def __init__(self, frozen: FrozenModel, disturbance: Disturbance, *, seed: int):
        self._disturbance = disturbance
        self._seed = seed
        low, high = observation_range(frozen.protocol) or (0.0, 1.0)
        self._deviation = disturbance.observation * (high - low)
        self.think = _thinking(frozen, noise=disturbance.parameter, seed=seed)

    def begin(self, episode: int) -> None:
        """Draws an episode's noise from its number and from nothing that was played before."""
        self._sight = np.random.default_rng([self._seed, episode, OBSERVATION])
        self._whim = np.random.default_rng([self._seed, episode, ACTION])

    def see(self, observation: np.ndarray) -> np.ndarray:
        """Returns what the agent sees of an observation."""
        if not self._deviation:
            return observation
        noise = self._sight.standard_normal(observation.shape, np.float32)
        return observation + np.float32(self._deviation) * noise

    def choose(self, outputs: np.ndarray) -> np.ndarray:
        """Returns the outputs that the world gets, of which the largest is the action."""
        if not self._disturbance.action:
            return outputs
        draw, action = self._whim.random(), int(self._whim.integers(len(outputs)))
        return np.eye(len(outputs), dtype=np.float32)[action] if draw < self._disturbance.action else outputs


def world_of_agent(frozen: FrozenModel, protocol: Protocol) -> World:
    """Makes the world in which a frozen agent plays.

    Raises:
        NeurozooError: The world has another number of actions than the agent.
    """
    world = make_world(frozen.game, protocol)
    if world.num_outputs != len(frozen.actions):
        raise NeurozooError(
            f"{frozen.game} has {world.num_outputs} actions under {protocol.name}, but the frozen model "
            f"in {frozen.folder} has {len(frozen.actions)}. Freeze an agent that was trained on this game."
        )
    return world


def episode_starts(protocol: Protocol, *, seed: int, noops: int | None = None) -> Iterator[dict[str, int]]:
    """Yields each episode's no-ops and emulator seed, which depend on its number and on nothing played before.

    Args:
        protocol: Says how many no-ops there may be.
        seed: Decides what is drawn.
        noops: Instead of drawn ones.
    """
    for episode in itertools.count():
        generator = np.random.default_rng([seed, episode])
        most = protocol.max_noops
        drawn = int(generator.integers(1, most, endpoint=True)) if most else 0
        yield {"noops": drawn if noops is None else noops, "seed": int(generator.integers(EMULATOR_SEEDS))}


def _thinking(frozen: FrozenModel, *, noise: float, seed: int) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Returns a fast function from one observation to representation and outputs."""
    import tensorflow as tf

    model = frozen.activations_model([frozen.representation.name, frozen.layers[-1].name])
    if noise:
        disturb_kernels(model, noise, seed=seed)
    run = tf.function(lambda batch: model(batch, training=False))

    def think(observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        representation, outputs = run(tf.constant(observation[np.newaxis]))
        return representation.numpy()[0], outputs.numpy()[0]

    think(np.zeros(frozen.shape.observation, np.float32))  # compiles it
    return think


def disturb_kernels(model: "keras.Model", noise: float, *, seed: int) -> None:
    """Adds noise to a model's weights, see `Disturbance`; a part of the model, from its input on, gets the same."""
    import keras

    generator = np.random.default_rng([seed, 0, PARAMETER])
    convolutions = [layer for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    for layer in convolutions or [layer for layer in model.layers if isinstance(layer, keras.layers.Dense)]:
        draws = generator.standard_normal(layer.kernel.shape, np.float32)
        layer.kernel.assign(layer.kernel + np.float32(noise) * draws)
