"""Decodes the published genomes of cshenton/neuroevolution, which are lists of seeds instead of noise-table indices.

All individuals start from the same weights. Every seed adds Gaussian noise of its own to all weights. The network is
`cshenton`, the protocol `gym_v4`.

Source: cshenton/neuroevolution at commit 12f0d52 (2018).
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from neurozoo.environments.games import game_names
from neurozoo.errors import unknown_name
from neurozoo.genomes.genome import check_seeds

NETWORK = "cshenton"
PROTOCOL = "gym_v4"
MUTATION_STRENGTH = 0.005  # standard deviation of a seed's noise

# TensorFlow 1 combined its default seed and the 1234 in the code to this pair. All four layers draw with it, so they
# start with the same numbers at different scales.
TENSORFLOW_SEEDS = {"seed": 87654321, "seed2": 1234}


def weight_shapes(num_actions: int) -> tuple[tuple[int, ...], ...]:
    """Returns the shape of each layer's weights; there are no biases."""
    return ((8, 8, 3, 16), (4, 4, 16, 32), (27 * 20 * 32, 256), (256, num_actions))


@lru_cache(maxsize=2)
def initial_weights(num_actions: int) -> np.ndarray:
    """Returns the weights that all individuals start from: float32, shape (parameters,), read-only.

    Source: `variance_scaling_initializer` of TensorFlow 1's contrib with factor 2: normal numbers, truncated at two
    standard deviations, times sqrt(1.3 * 2 / fan in).
    """
    import tensorflow as tf

    parts = []
    # A kernel counts its calls, so only a new graph in a new session gives the same numbers every time.
    with tf.Graph().as_default(), tf.device("CPU:0"), tf.compat.v1.Session() as session:
        for shape in weight_shapes(num_actions):
            normal = tf.raw_ops.TruncatedNormal(shape=[math.prod(shape)], dtype=tf.float32, **TENSORFLOW_SEEDS)
            parts.append(session.run(normal) * np.float32(math.sqrt(1.3 * 2 / math.prod(shape[:-1]))))
    theta = np.concatenate(parts)
    theta.flags.writeable = False
    return theta


def decode_seeds(seeds: Sequence[int], num_actions: int) -> np.ndarray:
    """Decodes seeds, oldest first, to weights: float32, shape (parameters,), in the order of the layers of `cshenton`.

    Each needs a stream of random numbers, which takes about 0.1 s.

    Raises:
        NeurozooError: These are not seeds, see `check_seeds`.
    """
    theta = initial_weights(num_actions).copy()
    for seed in check_seeds(seeds):
        # A seed's stream continues from layer to layer. NumPy adds in float64 and rounds each sum.
        theta += np.random.RandomState(seed).normal(0, MUTATION_STRENGTH, len(theta))
    return theta


def game_of_id(name: str) -> str:
    """Finds a game by its `-v4` id in OpenAI Gym, such as `IceHockey-v4`, or by our name of it.

    Raises:
        NeurozooError: The game is unknown, or the id belongs to another protocol.
    """
    if name in game_names():
        return name
    if match := re.fullmatch(r"([A-Za-z]+)-v4", str(name)):
        found = {game.replace("_", ""): game for game in game_names()}.get(match[1].lower())
        if found and not match[1].lower().endswith(("noframeskip", "deterministic")):
            return found
    raise unknown_name("game", name, (*game_names(), "Frostbite-v4", "IceHockey-v4"))
