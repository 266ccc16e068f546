"""Collects the reference batch of virtual batch norm."""

from contextlib import closing

import numpy as np

from neurozoo.environments import make_world
from neurozoo.environments.episode_seeds import draw_seed
from neurozoo.environments.protocols import Protocol
from neurozoo.randomness import Entropy, Purpose, generator

REFERENCE_SIZE = 128  # observations, as published


def collect_reference(game: str, protocol: Protocol, *, entropy: Entropy) -> np.ndarray:
    """Plays at random to collect typical observations of a game, over which activations are normalised.

    Returns:
        float32, (128, height, width, channels): the observation before each step of a uniformly random policy, over
        as many episodes as it takes.

    Source: Salimans et al. 2016, arXiv:1606.03498 (virtual batch normalisation); published code of Such et al. 2017.
    """
    random = generator(entropy, Purpose.REFERENCE)
    observations: list[np.ndarray] = []
    with closing(make_world(game, protocol)) as world:
        while len(observations) < REFERENCE_SIZE:
            noops = protocol.draw_noops(random)
            observation = world.reset(noops=noops, seed=draw_seed(random, Purpose.REFERENCE, protocol))
            while not world.is_done and len(observations) < REFERENCE_SIZE:
                observations.append(observation.reshape(world.shape.observation))
                observation, _, _ = world.act(random.standard_normal(world.num_outputs).astype(np.float32))
    return np.stack(observations).astype(np.float32)
