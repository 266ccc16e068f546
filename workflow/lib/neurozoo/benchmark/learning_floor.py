"""How fast deep Q-learning could be at most: its multiply-adds at the machine's peak, and the emulator."""

import math
import time
from dataclasses import dataclass

import numpy as np

from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.networks import Layout

MATRIX_SIZE = 2048  # of the product that shows the peak
EMULATOR_STEPS = 400


@dataclass(frozen=True)
class LearningCosts:
    """Multiply-adds of a step of one world, on average.

    Attributes:
        prediction: The action values of one state.
        forward: The states of the minibatches, by the online and the target network.
        backward: The gradient of all weights and, but for the first layer, of its inputs.
    """

    prediction: float
    forward: float
    backward: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.prediction + self.forward + self.backward


def count_learning(layout: Layout, settings: DqnSettings) -> LearningCosts:
    """Counts what a training step needs; the optimizer, offsets and activations are not multiply-adds and left out.

    Args:
        layout: The network, of convolutions and dense layers.
        settings: How it learns.

    Returns:
        Multiply-adds per step.
    """
    layers = [math.prod(placed.out_shape[:2]) * placed.weight_count for placed in layout.layers]
    states = settings.batch_size * settings.train_repeat / settings.train_frequency
    passes = 2 + (settings.double and settings.target_steps > 0)
    return LearningCosts(
        prediction=sum(layers),
        forward=states * passes * sum(layers),
        backward=states * (2 * sum(layers) - layers[0]),
    )


def floor_steps_per_second(costs: LearningCosts, *, peak: float, emulator_seconds: float) -> float:
    """Returns the steps per second that waste nothing.

    Args:
        costs: Multiply-adds per step.
        peak: Multiply-adds per second of all cores.
        emulator_seconds: Of a step.
    """
    return 1 / (costs.total / peak + emulator_seconds)


def measure_product(*, threads: int, seconds: float = 0.5) -> float:
    """Measures the rate of multiply-adds of a large matrix product, which uses the widest vectors there are.

    Args:
        threads: TensorFlow's threads for an operation; they are set here, before TensorFlow starts.
        seconds: How long to measure.

    Returns:
        Multiply-adds per second, of the fastest product.
    """
    import tensorflow as tf

    if tf.config.threading.get_intra_op_parallelism_threads() != threads:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    left, right = (tf.random.normal((MATRIX_SIZE, MATRIX_SIZE)) for _ in range(2))
    product = tf.function(tf.matmul)
    product(left, right)
    times, begin = [], time.perf_counter()
    while time.perf_counter() < begin + seconds or len(times) < 3:
        started = time.perf_counter()
        product(left, right).numpy()
        times.append(time.perf_counter() - started)
    return MATRIX_SIZE**3 / min(times)


class EmulatorAlone:
    """ale-py's vector environment with one world and random actions.

    Args:
        game: Game id.
    """

    def __init__(self, game: str) -> None:
        from ale_py import ALEInterface, LoggerMode
        from ale_py.vector_env import AtariVectorEnv

        ALEInterface.setLoggerMode(LoggerMode.Error)
        self._environment = AtariVectorEnv(game, 1, num_threads=1)
        self._random = np.random.default_rng(0)
        self._environment.reset(seed=0)

    def seconds(self, steps: int = EMULATOR_STEPS) -> float:
        """Returns the mean time of a step, the starts of episodes included."""
        actions = self._random.integers(self._environment.single_action_space.n, size=(steps, 1))
        begin = time.perf_counter()
        for action in actions:
            self._environment.step(action)
        return (time.perf_counter() - begin) / steps
