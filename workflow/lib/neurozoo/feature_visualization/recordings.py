"""Reading a rollout for a frozen model, and what each of a layer's units makes of it."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.filters.layers import model_to
from neurozoo.inspection.frozen import FrozenModel, LayerRecord
from neurozoo.inspection.rollout_files import REMEDY, RolloutReader, read_disturbance, recognise


class Recording:
    """The observations of a rollout, a few at a time; see `open_recording`.

    Attributes:
        steps: How many there are.
    """

    def __init__(self, reader: RolloutReader, steps: int):
        self._reader = reader
        self.steps = steps

    def blocks(self) -> Iterator[np.ndarray]:
        """Yields them in order, some at a time."""
        return self._reader.chunks("observations")

    def rows(self, wanted: Collection[int]) -> Iterator[tuple[int, np.ndarray]]:
        """Yields the wanted steps in ascending order, each with its observation."""
        return self._reader.rows_at("observations", wanted)

    def settled(self, stack: int) -> np.ndarray:
        """Says of each step whether its observation has no black frames before the start of an episode: bool, (steps,).

        Args:
            stack: Frames of an observation.
        """
        is_settled = np.ones(self.steps, bool)
        for start in self._reader.whole("starts")[:, 0].tolist():
            is_settled[start : start + stack - 1] = False
        return is_settled


@contextmanager
def open_recording(frozen: FrozenModel, path: str | os.PathLike) -> Iterator[Recording]:
    """Opens a rollout, and makes sure that it is one of this agent.

    Args:
        frozen: The frozen model.
        path: The rollout file.

    Raises:
        NeurozooError: The file is missing, damaged, empty, or another agent's: its representation is not what this
            network makes of its observations.
    """
    with RolloutReader(path, keys=("observations", "representation")) as reader:
        disturbance, _ = read_disturbance(reader, frozen)
        if disturbance.parameter:
            raise NeurozooError(
                f"{path} was recorded with parameter noise, {disturbance.parameter:g}, and so not by the agent as it "
                "is. Record it again without: python -m neurozoo rollout, or rollout: parameter_noise: 0."
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
    """The largest and the smallest value of every unit or filter in every step, before the activation function.

    Attributes:
        largest: float32, shape (steps, channels); over the positions of a map.
        smallest: As `largest`.
        where_largest: int, shape (steps, channels): position, row-major; 0 in a dense layer.
        where_smallest: As `where_largest`.
        mean: float32, shape (steps, channels), over the positions of a map.
    """

    largest: np.ndarray
    smallest: np.ndarray
    where_largest: np.ndarray
    where_smallest: np.ndarray
    mean: np.ndarray


def survey(frozen: FrozenModel, layer: LayerRecord, recording: Recording) -> Survey:
    """Looks at a layer in all steps of a recording."""
    import tensorflow as tf

    model = model_to(frozen, layer)

    @tf.function(reduce_retracing=True)
    def look(observations):
        values = model(observations, training=False)
        values = tf.reshape(values, (tf.shape(values)[0], -1, layer.shape[-1]))
        ends = (tf.reduce_max(values, 1), tf.reduce_min(values, 1), tf.argmax(values, 1), tf.argmin(values, 1))
        return (*ends, tf.reduce_mean(values, 1))

    seen = [[part.numpy() for part in look(tf.constant(block))] for block in recording.blocks()]
    return Survey(*(np.concatenate(parts) for parts in zip(*seen, strict=True)))


def choose_steps(recording: Recording, at: Sequence[int] | None, count: int) -> list[int]:
    """Returns the steps `at` which something was asked for, or `count` steps from all over the recording.

    Raises:
        NeurozooError: The recording has no such step, or the count is below 1.
    """
    if at is None:
        if count < 1:
            raise NeurozooError(f"At least 1 observation can be shown, but {count} came.")
        return np.unique(np.arange(1, count + 1) * recording.steps // (count + 1)).tolist()
    if wrong := [step for step in at if not 0 <= step < recording.steps]:
        raise NeurozooError(f"The rollout has the steps 0 to {recording.steps - 1}, but {wrong[0]} was asked for.")
    return sorted(set(at))
