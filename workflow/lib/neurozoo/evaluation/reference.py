"""The observations that virtual batch norm is computed from."""

import numpy as np

from neurozoo.algorithms.randomness import MAX_SEED, Purpose, generator
from neurozoo.environments import make_world
from neurozoo.games import Protocol

REFERENCE_SIZE = 128  # observations, as published


def collect_reference(game: str, protocol: Protocol, *, seed: int, run: int) -> np.ndarray:
    """Plays at random, so that a network's activations can be normalised over what the game looks like.

    Args:
        game: Game id.
        protocol: How episodes are played.
        seed: Seed of the experiment.
        run: Number of the run.

    Returns:
        float32, (128, height, width, channels): one observation before each step of a uniformly random policy, from one
        episode after the other.

    Raises:
        NeurozooError: The game cannot be played.

    Source: Salimans et al. 2016, arXiv:1606.03498 (virtual batch normalisation); published code of Such et al. 2017.
    """
    random = generator((seed, run), Purpose.REFERENCE)
    world = make_world(game, protocol)
    observations = []
    while len(observations) < REFERENCE_SIZE:
        noops = int(random.integers(1, protocol.max_noops + 1)) if protocol.max_noops else 0
        observation = world.reset(noops=noops, seed=int(random.integers(MAX_SEED)))
        while not world.is_done and len(observations) < REFERENCE_SIZE:
            observations.append(observation.reshape(world.shape.observation))
            observation, _, _ = world.act(random.standard_normal(world.num_outputs).astype(np.float32))
    return np.stack(observations).astype(np.float32)
