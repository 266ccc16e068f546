"""The highest possible speed of learners: their multiply-adds at the machine's peak rate, plus the emulators."""

import math
import os
import time
from dataclasses import dataclass

import numpy as np

from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.environments.protocols import protocol_of
from neurozoo.environments.vector import AtariVectorEnvironment
from neurozoo.native import usable_ops
from neurozoo.networks.description import Layout
from neurozoo.networks.keras_networks import KerasLayout
from neurozoo.networks.layers import PlacedLayer
from neurozoo.networks.torso import BLOCKS

MATRIX_SIZE = 2048  # of the matrix product that measures the peak rate
EMULATOR_STEPS = 400


@dataclass(frozen=True)
class LearningCosts:
    """Mean number of multiply-adds of a step of one environment.

    Attributes:
        prediction: For the action values of one state.
        forward: For the states of the minibatches, in all networks that see them.
        backward: For the gradients of all weights, and of all layers' inputs except the first layer's.
    """

    prediction: float
    forward: float
    backward: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.prediction + self.forward + self.backward


def count_learning(layout: Layout, settings: DqnSettings) -> LearningCosts:
    """Counts the multiply-adds of a training step. Optimizer, biases and activations are left out.

    Args:
        layout: The network, made of convolutions and dense layers.
        settings: The learner's settings.

    Returns:
        Multiply-adds per step.
    """
    layers = [math.prod(placed.out_shape[:2]) * placed.weight_count for placed in layout.layers]
    states = settings.batch_size * settings.train_repeat / settings.train_frequency
    passes = 2 + (settings.double and settings.target_update_period > 0)
    return LearningCosts(
        prediction=sum(layers),
        forward=states * passes * sum(layers),
        backward=states * (2 * sum(layers) - layers[0]),
    )


def multiply_adds(layout: KerasLayout) -> dict[str, int]:
    """Counts the multiply-adds of one state by array of weights, such as `conv1/w`, and of nothing else."""
    positions: dict[str, int] = {}
    for placed in layout.layers:
        if placed.layer.kind == "residual":  # its first convolution sees all positions, its blocks those of the pool
            positions[f"{placed.layer.name}_conv"] = math.prod(placed.in_shape[:2])
            for block in range(1, BLOCKS + 1):
                positions |= {f"{placed.layer.name}_block{block}_conv{n}": _positions(placed) for n in (1, 2)}
        else:
            positions[placed.layer.name] = _positions(placed)
    return {
        array.name: math.prod(array.shape) * positions.get(array.layer, 1)
        for array in layout.arrays
        if array.part in ("w", "u")
    }


def _positions(placed: PlacedLayer) -> int:
    return math.prod(placed.out_shape[:2])


def count_actor_critic(layout: KerasLayout, settings: ImpalaSettings) -> LearningCosts:
    """Counts the multiply-adds of a training step of any objective, as `count_learning` does for deep Q-learning.

    Args:
        layout: The network.
        settings: The learner's settings.

    Returns:
        Multiply-adds per step.
    """
    first, *others = multiply_adds(layout).values()
    state = first + sum(others)
    bootstrap = 1 / settings.unroll_length  # one more state for each unroll
    looks_ahead = settings.has_minibatches
    asks_again = settings.proximal_policy == "learning"
    return LearningCosts(
        prediction=state * (1 + bootstrap * looks_ahead),
        forward=state * (settings.epochs * (1 if looks_ahead else 1 + bootstrap) + asks_again * (1 + bootstrap)),
        backward=settings.epochs * (2 * state - first),
    )


def floor_steps_per_second(costs: LearningCosts, *, peak: float, emulator_seconds: float) -> float:
    """Returns the steps per second of a learner that wastes no time.

    Args:
        costs: Multiply-adds per step.
        peak: Multiply-adds per second of all cores.
        emulator_seconds: The seconds that emulators need for a step; with one in each core, a share of one's.
    """
    return 1 / (costs.total / peak + emulator_seconds)


def measure_product(*, threads: int, seconds: float = 0.5) -> float:
    """Measures the rate of multiply-adds in a large matrix product, which uses the processor's widest vectors.

    Args:
        threads: TensorFlow's threads for an operation. They are set here, before TensorFlow starts.
        seconds: Duration of the measurement.

    Returns:
        Multiply-adds per second of the fastest product.
    """
    import tensorflow as tf

    if tf.config.threading.get_intra_op_parallelism_threads() != threads:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    left, right = (tf.random.normal((MATRIX_SIZE, MATRIX_SIZE)) for _ in range(2))
    product = tf.function(tf.matmul)
    product(left, right)
    times: list[float] = []
    begin = time.perf_counter()
    while time.perf_counter() < begin + seconds or len(times) < 3:
        started = time.perf_counter()
        product(left, right).numpy()
        times.append(time.perf_counter() - started)
    return MATRIX_SIZE**3 / min(times)


class EmulatorAlone:
    """The vector environment of learners with one environment and random actions.

    Args:
        game: Game id.
        ops: The op library, which plays if it can be loaded; otherwise, ale-py does.
    """

    def __init__(self, game: str, *, ops: str | os.PathLike | None = None) -> None:
        protocol = protocol_of(game, "machado2018", action_set="minimal")
        self._environment = AtariVectorEnvironment(
            game, protocol, count=1, threads=1, seed_of=lambda _, episode: episode, ops=usable_ops(ops)[0]
        )
        self._random = np.random.default_rng(0)

    def seconds(self, steps: int = EMULATOR_STEPS) -> float:
        """Returns the mean seconds of a step, including the starts of episodes."""
        actions = self._random.integers(self._environment.num_actions, size=(steps, 1))
        begin = time.perf_counter()
        for action in actions:
            self._environment.send(action)
            step = self._environment.receive()
            if (ended := step.is_over | step.is_cut).any():
                self._environment.start_episodes(ended)
        return (time.perf_counter() - begin) / steps
