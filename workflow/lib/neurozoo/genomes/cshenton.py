"""The published seeds of cshenton/neuroevolution: genomes that are lists of seeds instead of places in a noise table.

Every individual starts from the same weights, and every seed adds its own Gaussian noise to all of them. The network is
`cshenton`, the protocol `gym_v4`.

Source: cshenton/neuroevolution at commit 12f0d52 (2018).
"""

import math
import os
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from neurozoo.errors import unknown_name
from neurozoo.games import game_names, get_protocol
from neurozoo.genomes import check_seeds

NETWORK = "cshenton"
PROTOCOL = "gym_v4"
MUTATION_STRENGTH = 0.005  # standard deviation of a seed's noise

# TensorFlow 1 made this pair of its default seed and the 1234 of the code. All four layers draw with it, so that all
# begin with the same numbers but for their scale.
TENSORFLOW_SEEDS = {"seed": 87654321, "seed2": 1234}


def weight_shapes(num_actions: int) -> tuple[tuple[int, ...], ...]:
    """Returns the shapes of the layers' weights in order; there are no biases."""
    return ((8, 8, 3, 16), (4, 4, 16, 32), (27 * 20 * 32, 256), (256, num_actions))


@lru_cache(maxsize=2)
def initial_weights(num_actions: int) -> np.ndarray:
    """Returns the weights that all individuals start from: float32, shape (parameters,), read-only.

    Source: `variance_scaling_initializer` of TensorFlow 1's contrib with factor 2: normal numbers, cut at two standard
    deviations, times sqrt(1.3 * 2 / fan in).
    """
    import tensorflow as tf

    parts = []
    # A kernel counts its calls, so that only a fresh graph in a fresh session gives the same numbers every time.
    with tf.Graph().as_default(), tf.device("CPU:0"), tf.compat.v1.Session() as session:
        for shape in weight_shapes(num_actions):
            normal = tf.raw_ops.TruncatedNormal(shape=[math.prod(shape)], dtype=tf.float32, **TENSORFLOW_SEEDS)
            parts.append(session.run(normal) * np.float32(math.sqrt(1.3 * 2 / math.prod(shape[:-1]))))
    theta = np.concatenate(parts)
    theta.flags.writeable = False
    return theta


def decode_seeds(seeds: Sequence[int], num_actions: int) -> np.ndarray:
    """Turns seeds into weights, at the price of one stream of random numbers per seed: about 0.1 s.

    Args:
        seeds: Whole numbers of 32 bits, oldest first.
        num_actions: Outputs of the network.

    Returns:
        float32, shape (parameters,), in the order of the layers of `cshenton`.

    Raises:
        NeurozooError: These are no seeds.
    """
    theta = initial_weights(num_actions).copy()
    for seed in check_seeds(seeds):
        # A seed's stream goes on from layer to layer. NumPy adds in float64 and rounds each sum.
        theta += np.random.RandomState(seed).normal(0, MUTATION_STRENGTH, len(theta))
    return theta


def game_of_id(name: str) -> str:
    """Finds a game by the `-v4` id of OpenAI Gym that plays it, such as `IceHockey-v4`, or by its own name.

    Raises:
        NeurozooError: No such game, or an id of another protocol.
    """
    if name in game_names():
        return name
    if match := re.fullmatch(r"([A-Za-z]+)-v4", str(name)):
        found = {game.replace("_", ""): game for game in game_names()}.get(match[1].lower())
        if found and not match[1].lower().endswith(("noframeskip", "deterministic")):
            return found
    raise unknown_name("game", name, (*game_names(), "Frostbite-v4", "IceHockey-v4"))


def evaluate_policy(
    game: str,
    seeds: Sequence[int],
    runs: int = 100,
    *,
    ops: str | os.PathLike = "results/native/libneurozoo_ops.so",
    noise: str | os.PathLike = "results/noise/table.f32",
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> float:
    """Plays episodes of a published list of seeds and returns their mean score.

    Args:
        game: An id such as `Frostbite-v4`, or the game's own name.
        seeds: The policy.
        runs: Number of episodes.
        ops: The op library.
        noise: The noise table; the op wants one, though these weights come from none.
        seed: Decides how many frames each step has.
        threads: Episodes at once; None for one per core.
        progress: Called after every episode with their number so far and their running mean.

    Raises:
        NeurozooError: No such game, no seeds, or `runs` is below 1.
    """
    from neurozoo.games import action_names
    from neurozoo.genomes import Genome, Weights
    from neurozoo.scoring import score_genome

    game, protocol = game_of_id(game), get_protocol(PROTOCOL)
    theta = decode_seeds(seeds, len(action_names(game, protocol.action_set)))
    episodes = score_genome(
        Genome(Weights.of(theta)),
        game=game,
        model=NETWORK,
        protocol=protocol,
        episodes=runs,
        ops=ops,
        noise=noise,
        seed=seed,
        threads=threads or os.cpu_count() or 1,
        progress=progress,
    )
    return float(np.mean([episode.score for episode in episodes]))
