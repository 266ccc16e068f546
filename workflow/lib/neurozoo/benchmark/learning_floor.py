"""The highest possible speed of learners: their multiply-adds at the machine's peak rate, plus the emulators."""

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.environments.protocols import protocol_of
from neurozoo.environments.vector import AtariVectorEnvironment
from neurozoo.native import usable_core
from neurozoo.networks.chains import Layout
from neurozoo.networks.keras_networks import KerasLayout
from neurozoo.networks.torso import BLOCKS

MATRIX_SIZE = 2048  # of the matrix product that measures the peak rate
EMULATOR_STEPS = 400


@dataclass(frozen=True)
class LearningCosts:
    """Mean number of multiply-adds of a step of one environment."""

    prediction: float  # for the action values of one state
    forward: float  # for the states of the minibatches, in all networks that see them
    backward: float  # for the gradients of all weights, and of all layers' inputs except the first layer's

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.prediction + self.forward + self.backward


def count_learning(layout: Layout, settings: DqnSettings) -> LearningCosts:
    """Counts the multiply-adds of a training step of deep Q-learning, with a network of convolutions and dense layers.

    Optimizer, biases and activations are left out.
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
                for convolution in (1, 2):
                    name = f"{placed.layer.name}_block{block}_conv{convolution}"
                    positions[name] = math.prod(placed.out_shape[:2])
        else:
            positions[placed.layer.name] = math.prod(placed.out_shape[:2])
    return {
        array.name: math.prod(array.shape) * positions.get(array.layer, 1)
        for array in layout.arrays
        if array.part in ("w", "u")
    }


def count_actor_critic(layout: KerasLayout, settings: ImpalaSettings) -> LearningCosts:
    """Counts the multiply-adds of a training step of any objective, as `count_learning` does for deep Q-learning."""
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
    """Returns the steps per second of a learner that wastes no time, with `peak` multiply-adds per second of all cores.

    `emulator_seconds` is what emulators need for a step; with one in each core, a share of one's.
    """
    return 1 / (costs.total / peak + emulator_seconds)


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """Returns the result of a call, and the seconds of wall time and of processor time that it took."""
    wall, processor = time.perf_counter(), time.process_time()
    result = run()
    return result, time.perf_counter() - wall, time.process_time() - processor


def measure_product(*, threads: int, seconds: float = 0.5) -> float:
    """Measures multiply-adds per second in a large matrix product, which uses the processor's widest vectors.

    TensorFlow's threads for an operation are set here, before it starts. The fastest product counts.
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
    """The vector environment of learners with one environment and random actions, in the core if it can be loaded."""

    def __init__(self, game: str, *, core: str | os.PathLike | None = None) -> None:
        protocol = protocol_of(game, "machado2018", action_set="minimal")
        self._environment = AtariVectorEnvironment(
            game, protocol, count=1, threads=1, seed_of=lambda _, episode: episode, core=usable_core(core)[0]
        )
        self._random = np.random.default_rng(0)

    def seconds(self) -> float:
        """Returns the mean seconds of a step, including the starts of episodes."""
        begin = time.perf_counter()
        play_randomly(self._environment, EMULATOR_STEPS, self._random)
        return (time.perf_counter() - begin) / EMULATOR_STEPS


def play_randomly(environments: Any, steps: int, random: np.random.Generator) -> None:
    """Steps environments with random actions; episodes that end start again."""
    for actions in random.integers(environments.num_actions, size=(steps, environments.count)):
        environments.send(actions)
        step = environments.receive()
        if (ended := step.is_over | step.is_cut).any():
            environments.start_episodes(ended)
