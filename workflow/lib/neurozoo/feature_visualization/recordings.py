"""Reads a rollout for a frozen model, and surveys the values of a layer over all its steps."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.layers import model_to
from neurozoo.rollouts.rollout_files import REMEDY, RolloutReader, read_perturbation, recognise


class Recording:
    """The observations of a rollout, read in blocks; see `open_recording`.

    Attributes:
        steps: Number of observations.
    """

    def __init__(self, reader: RolloutReader, steps: int):
        self._reader = reader
        self.steps = steps

    def blocks(self) -> Iterator[np.ndarray]:
        """Yields the observations in order, in blocks."""
        return self._reader.chunks("observations")

    def rows(self, wanted: Collection[int]) -> Iterator[tuple[int, np.ndarray]]:
        """Yields each wanted step and its observation, in ascending order."""
        return self._reader.rows_at("observations", wanted)

    def settled(self, stack: int) -> np.ndarray:
        """Says for each step whether its observation has no black frames from before the episode: bool, shape (steps,).

        Args:
            stack: Number of frames in an observation.
        """
        is_settled = np.ones(self.steps, bool)
        for start in self._reader.whole("starts")[:, 0].tolist():
            is_settled[start : start + stack - 1] = False
        return is_settled


@contextmanager
def open_recording(frozen: FrozenModel, path: str | os.PathLike) -> Iterator[Recording]:
    """Opens a rollout and checks that this agent played it.

    Args:
        frozen: The frozen model.
        path: The rollout file.

    Raises:
        NeurozooError: The file is missing, damaged or empty, was recorded with parameter noise, or comes from another
            agent. Then this network has other representations for the recorded observations.
    """
    with RolloutReader(path, keys=("observations", "representation")) as reader:
        perturbation, _ = read_perturbation(reader, frozen)
        if perturbation.parameter:
            raise NeurozooError(
                f"{path} was recorded with parameter noise {perturbation.parameter:g}, so its actions are not those of "
                "the agent itself. Record it again without noise: python -m neurozoo rollout, or set rollout: "
                "parameter_noise: 0."
            )
        observed, represented = (reader.shape(key) for key in ("observations", "representation"))
        expected = (observed[:1] + frozen.shape.observation, observed[:1] + frozen.representation.shape)
        if (observed, represented) != expected or observed[0] == 0:
            raise NeurozooError(
                f"{path} should be a rollout of {frozen.title} with observations of shape {frozen.shape.observation} "
                f"and a representation of shape {frozen.representation.shape} in at least one step, but holds "
                f"{observed} and {represented}. {REMEDY}"
            )
        recognise(reader, frozen)
        yield Recording(reader, observed[0])


@dataclass(frozen=True)
class Survey:
    """The largest and smallest value of every filter or unit at every step, before the activation function.

    Attributes:
        largest: float32, shape (steps, channels): maximum over the positions of a map.
        smallest: Like `largest`, the minimum.
        where_largest: int, shape (steps, channels): position of the maximum, row-major; 0 in a dense layer.
        where_smallest: Like `where_largest`, of the minimum.
        mean: float32, shape (steps, channels): mean over the positions of a map.
    """

    largest: np.ndarray
    smallest: np.ndarray
    where_largest: np.ndarray
    where_smallest: np.ndarray
    mean: np.ndarray


def survey(frozen: FrozenModel, layer: LayerRecord, recording: Recording) -> Survey:
    """Summarises a layer's values at all steps of a recording."""
    import tensorflow as tf

    model = model_to(frozen, layer)

    @tf.function(reduce_retracing=True)
    def summarise(observations):
        values = model(observations, training=False)
        values = tf.reshape(values, (tf.shape(values)[0], -1, layer.shape[-1]))
        ends = (tf.reduce_max(values, 1), tf.reduce_min(values, 1), tf.argmax(values, 1), tf.argmin(values, 1))
        return (*ends, tf.reduce_mean(values, 1))

    seen = [[part.numpy() for part in summarise(tf.constant(block))] for block in recording.blocks()]
    return Survey(*(np.concatenate(parts) for parts in zip(*seen, strict=True)))


def choose_steps(recording: Recording, at: Sequence[int] | None, count: int) -> list[int]:
    """Returns the steps `at`, or `count` steps spread evenly over the recording if `at` is None.

    Raises:
        NeurozooError: A step does not exist, or `count` is below 1.
    """
    if at is None:
        if count < 1:
            raise NeurozooError(f"The number of observations to show should be at least 1, but is {count}.")
        return np.unique(np.arange(1, count + 1) * recording.steps // (count + 1)).tolist()
    if wrong := [step for step in at if not 0 <= step < recording.steps]:
        raise NeurozooError(f"The rollout has steps 0 to {recording.steps - 1}, but got step {wrong[0]}.")
    return sorted(set(at))
