"""A frozen agent that plays, with or without perturbations, and the worlds and starts of its episodes."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from neurozoo.agents.frozen import FrozenModel, observation_range
from neurozoo.environments import World, make_world
from neurozoo.environments.protocols import Protocol
from neurozoo.errors import NeurozooError
from neurozoo.rollouts.perturbations import ACTION, OBSERVATION, Perturbation, perturb_kernels

EMULATOR_SEEDS = 2**31  # seeds of an emulator are below this


class Player:
    """A frozen agent and its perturbation.

    Args:
        frozen: The agent.
        perturbation: Noise on its observations, weights and actions.
        seed: Of all noise.

    Attributes:
        think: A function from an observation to the representation and the outputs.

    Raises:
        NeurozooError: The frozen model is damaged.
    """

    def __init__(self, frozen: FrozenModel, perturbation: Perturbation, *, seed: int):
        self._perturbation = perturbation
        self._seed = seed
        low, high = observation_range(frozen.protocol) or (0.0, 1.0)
        self._deviation = perturbation.observation * (high - low)
        self.think = _compiled_forward_pass(frozen, noise=perturbation.parameter, seed=seed)

    def begin(self, episode: int) -> None:
        """Seeds an episode's noise by its number, so that it does not depend on earlier episodes."""
        self._observation_rng = np.random.default_rng([self._seed, episode, OBSERVATION])
        self._action_rng = np.random.default_rng([self._seed, episode, ACTION])

    def see(self, observation: np.ndarray) -> np.ndarray:
        """Returns the observation with the noise that the agent sees."""
        if not self._deviation:
            return observation
        noise = self._observation_rng.standard_normal(observation.shape, np.float32)
        return observation + np.float32(self._deviation) * noise

    def choose(self, outputs: np.ndarray) -> np.ndarray:
        """Returns the outputs that the world gets: the network's, or one-hot ones of a random action."""
        if not self._perturbation.action:
            return outputs
        draw, action = self._action_rng.random(), int(self._action_rng.integers(len(outputs)))
        return np.eye(len(outputs), dtype=np.float32)[action] if draw < self._perturbation.action else outputs


def world_of_agent(frozen: FrozenModel, protocol: Protocol) -> World:
    """Makes the world in which a frozen agent plays.

    Raises:
        NeurozooError: The numbers of actions of world and agent differ.
    """
    world = make_world(frozen.game, protocol)
    if world.num_outputs != len(frozen.actions):
        raise NeurozooError(
            f"{frozen.game} has {world.num_outputs} actions under {protocol.name}, but the frozen model "
            f"in {frozen.folder} has {len(frozen.actions)}. Freeze an agent that was trained on this game."
        )
    return world


def episode_starts(protocol: Protocol, *, seed: int, noops: int | None = None) -> Iterator[dict[str, int]]:
    """Yields the no-ops and the emulator seed of each episode; both depend only on `seed` and the episode's number.

    Args:
        protocol: Says how many no-ops there may be.
        seed: Seed of the draws.
        noops: Number of no-ops for all episodes; None draws them.
    """
    for episode in itertools.count():
        generator = np.random.default_rng([seed, episode])
        most = protocol.max_noops
        drawn = int(generator.integers(1, most, endpoint=True)) if most else 0
        yield {"noops": drawn if noops is None else noops, "seed": int(generator.integers(EMULATOR_SEEDS))}


def _compiled_forward_pass(
    frozen: FrozenModel, *, noise: float, seed: int
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Returns a fast function from one observation to representation and outputs."""
    import tensorflow as tf

    model = frozen.activations_model([frozen.representation.name, frozen.layers[-1].name])
    if noise:
        perturb_kernels(model, noise, seed=seed)
    run = tf.function(lambda batch: model(batch, training=False))

    def think(observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        representation, outputs = run(tf.constant(observation[np.newaxis]))
        return representation.numpy()[0], outputs.numpy()[0]

    think(np.zeros(frozen.shape.observation, np.float32))  # compiles it
    return think
