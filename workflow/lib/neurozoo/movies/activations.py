"""What layers make of a rollout, step by step, as pictures of bytes whose brightness means the same throughout."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.inspection.frozen import FrozenModel, LayerRecord
from neurozoo.inspection.panels import shows_colours
from neurozoo.inspection.player import disturb_kernels
from neurozoo.inspection.progress import Progress
from neurozoo.inspection.rollout_files import REMEDY, RolloutFile, open_rollout

TOLERANCE = 0.02  # of the largest value: what the order of sums may change in a representation


@dataclass(frozen=True)
class WatchedStep:
    """A step of a rollout beside its activations.

    Attributes:
        number: Which of the rollout's steps, from 0.
        pictures: The observation, and each layer's activation: uint8, of their own shapes.
        screen: uint8, shape (height, width, 3).
        score: Points of the episode before the step.
        action: Index of the action that was taken, or the values of the outputs that were obeyed.
    """

    number: int
    pictures: tuple[np.ndarray, ...]
    screen: np.ndarray
    score: float
    action: int | np.ndarray


@contextlib.contextmanager
def watched_rollout(
    frozen: FrozenModel, rollout: str | os.PathLike, *, layers: Sequence[LayerRecord], max_steps: int = 0
) -> Iterator["WatchedRollout"]:
    """Opens a rollout of a frozen model, to see what some of the model's layers make of it.

    Args:
        frozen: The model.
        rollout: A rollout file of that model.
        layers: Which layers are watched.
        max_steps: Shows the first steps only; 0 for all.

    Raises:
        NeurozooError: A file is missing, damaged or belongs to another model, or `max_steps` is negative.
    """
    with open_rollout(rollout, frozen, keys=("observations", "score"), max_steps=max_steps) as file:
        yield WatchedRollout(frozen, file, layers=layers)


class WatchedRollout:
    """The steps of a rollout with their activations.

    The file is read twice, the first time for the range of each channel. Memory does not grow with its length.

    Attributes:
        steps: Number of steps that are shown.
        screen_shape: (height, width, 3) of the game's screen.
    """

    def __init__(self, frozen: FrozenModel, rollout: RolloutFile, *, layers: Sequence[LayerRecord]):
        self._frozen, self._rollout, self._layers = frozen, rollout, layers
        self._activations_of = _watching(frozen, rollout, layers)
        self.steps = rollout.steps
        self.screen_shape = rollout.screen_shape

    def each_step(self, progress: Progress) -> Iterator[WatchedStep]:
        """Yields the steps; `progress` counts two for each of them.

        Raises:
            NeurozooError: The rollout is damaged, or of another model.
        """
        ranges = self._ranges(progress)
        actions = enumerate(self._rollout.actions)
        for observations, screens, scores in self._rollout.blocks("observations", "frames", "score"):
            pictures = zip(*ranges.scaled(self._activations_of(observations)[0]), strict=True)
            for shown, screen, score in zip(pictures, screens, scores, strict=True):
                number, action = next(actions)
                yield WatchedStep(number, shown, screen, float(score), action)
                progress.advance()

    def _ranges(self, progress: Progress) -> "Ranges":
        ranges = Ranges(1 + len(self._layers), keeps_colours=shows_colours(self._frozen.shape))
        for observations, recorded in self._rollout.blocks("observations", "representation"):
            activations, representation = self._activations_of(observations)
            if not np.allclose(recorded, representation, atol=TOLERANCE * np.abs(recorded).max()):
                raise NeurozooError(
                    f"{self._rollout.path} is not of the frozen model in {self._frozen.folder}: from what was "
                    f"observed, the layer {self._frozen.representation.name!r} makes other values than were recorded. "
                    f"{REMEDY}"
                )
            ranges.widen(activations)
            progress.advance(len(observations))
        return ranges


def _watching(
    frozen: FrozenModel, rollout: RolloutFile, layers: Sequence[LayerRecord]
) -> Callable[[np.ndarray], tuple[list[np.ndarray], np.ndarray]]:
    """Returns a function from observations to themselves and the layers' activations, and to the representation."""
    import keras
    import tensorflow as tf

    model = frozen.activations_model([*(layer.name for layer in layers), frozen.representation.name])
    if rollout.disturbance.parameter:  # the layers of the network that played
        disturb_kernels(model, rollout.disturbance.parameter, seed=rollout.seed)
    run = tf.function(lambda batch: model(batch, training=False), reduce_retracing=True)

    def activations_of(observations: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        *activations, representation = (
            activation.numpy() for activation in keras.tree.flatten(run(tf.constant(observations)))
        )
        return [observations, *activations], representation

    return activations_of


class Ranges:
    """Smallest and largest values over the whole rollout, so that brightness means the same in every frame.

    Maps are scaled channel by channel, dense layers as a whole, and so is an observation in colour, which comes first.
    """

    def __init__(self, count: int, *, keeps_colours: bool = False):
        self._keeps_colours = keeps_colours
        self._low = [np.float32(np.inf)] * count
        self._high = [np.float32(-np.inf)] * count

    def widen(self, activations: list[np.ndarray]) -> None:
        """Takes a chunk into account; arrays are (batch, height, width, channels) or (batch, units)."""
        for i, activation in enumerate(activations):
            is_whole = activation.ndim != 4 or (i == 0 and self._keeps_colours)
            axes = None if is_whole else (0, 1)
            # First over the batch, whose rows are long: forty times as fast as over all axes at once.
            self._low[i] = np.minimum(self._low[i], activation.min(axis=0).min(axis=axes))
            self._high[i] = np.maximum(self._high[i], activation.max(axis=0).max(axis=axes))

    def scaled(self, activations: list[np.ndarray]) -> list[np.ndarray]:
        """Returns uint8 arrays of the same shapes; what never changes is 0."""
        pictures = []
        for activation, low, high in zip(activations, self._low, self._high, strict=True):
            factor = np.float32(255) / np.maximum(high - low, np.float32(1e-8))
            pictures.append(np.rint(np.clip((activation - low) * factor, 0, 255)).astype(np.uint8))
        return pictures
