"""Speed without this project: ale-py's vector environment, and one Keras model for each policy."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.games import action_codes
from neurozoo.environments.protocols import protocol_of

POLICIES = 8  # environments and models: too many weights for the caches, as in a population
ENVIRONMENTS_ONLY = "environments only"
WAYS = ("eager", "tf.function")


def measure_alternatives(games: Sequence[str], networks: Sequence[str], *, seconds: float) -> list[dict]:
    """Plays games in ale-py's vector environment with one thread, each for `seconds`, in a process with one core.

    The faster way to call each network counts.
    """
    found = []
    for game in games:
        rules = protocol_of(game)
        layouts = {network: layout_of(game, network, rules) for network in networks}
        num_actions = len(action_codes(game, "minimal"))
        found.append(_measure(game, ENVIRONMENTS_ONLY, "", _random_policy(num_actions), seconds=seconds))
        for network, layout in layouts.items():
            models = [layout.keras_model() for _ in range(POLICIES)]
            ways = [_measure(game, network, way, _keras_policies(models, way), seconds=seconds) for way in WAYS]
            found.append(max(ways, key=lambda measured: measured["frames_per_processor_second"]))
    return found


def _random_policy(num_actions: int) -> Callable[[np.ndarray], np.ndarray]:
    random = np.random.default_rng(0)
    return lambda observations: random.integers(num_actions, size=len(observations))


def _keras_policies(models: Sequence, way: str) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function from observations, uint8, (environments, stack, height, width), to actions."""
    if way == "tf.function":
        import tensorflow as tf

        models = [tf.function(model) for model in models]

    def act(observations: np.ndarray) -> np.ndarray:
        pictures = np.moveaxis(observations, 1, -1).astype(np.float32) / 255
        return np.array([int(np.argmax(model(pictures[i : i + 1]))) for i, model in enumerate(models)])

    return act


def _measure(game: str, network: str, way: str, act: Callable, *, seconds: float) -> dict:
    from ale_py.vector_env import AtariVectorEnv

    environments = AtariVectorEnv(game, POLICIES, num_threads=1)
    observations, _ = environments.reset(seed=0)
    for _ in range(2):  # compiles everything that is compiled
        observations, *_ = environments.step(act(observations))
    steps = 0
    begin, processor = time.perf_counter(), time.process_time()
    while not steps or time.perf_counter() - begin < seconds:
        observations, *_ = environments.step(act(observations))
        steps += 1
    wall, processor = time.perf_counter() - begin, time.process_time() - processor
    environments.close()
    frames = 4 * POLICIES * steps
    return {
        "game": game,
        "network": network,  # `environments only` for random actions without a network
        "way": way,  # `eager`: models are called as `model(observation)`, or compiled by `tf.function`
        "frames_per_second": frames / wall,
        "frames_per_processor_second": frames / processor,  # of all threads together
    }
