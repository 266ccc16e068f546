"""Activations of layers for each step of a rollout, as pictures on one brightness scale for the whole rollout."""

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord
from neurozoo.errors import NeurozooError
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.replayed import ReplayedNetwork
from neurozoo.rollouts.rollout_files import REMEDY, Action, RolloutFile, open_rollout

TOLERANCE = 0.02  # relative to the largest value: sums in another order change a representation a little


@dataclass(frozen=True)
class WatchedStep:
    """A step of a rollout with its activations.

    Attributes:
        number: Number of the step in the rollout, from 0.
        pictures: The observation, the activation of each layer, and what the network remembers if that was asked for:
            uint8, in their own shapes.
        outputs: The activation of the last layer itself: float32, shape (outputs,).
        screen: uint8, shape (height, width, 3).
        score: Points of the episode before the step; with its last step, those of the whole episode.
        action: Index of the action, or the values of continuous outputs.
    """

    number: int
    pictures: tuple[np.ndarray, ...]
    outputs: np.ndarray
    screen: np.ndarray
    score: float
    action: Action


@contextlib.contextmanager
def watched_rollout(
    frozen: FrozenModel,
    rollout: str | os.PathLike,
    *,
    layers: Sequence[LayerRecord],
    max_steps: int = 0,
    is_centred: bool = False,
) -> Iterator["WatchedRollout"]:
    """Opens a rollout of a frozen model together with the activations of some layers.

    Args:
        frozen: The model.
        rollout: A rollout file of that model.
        layers: The layers.
        max_steps: Shows only the first steps; 0 for all.
        is_centred: Whether the step's pictures have 0 in the middle of their scale where values have both signs, and
            end with the memory.

    Raises:
        NeurozooError: A file is missing, damaged or belongs to another model, or `max_steps` is negative.
    """
    with open_rollout(rollout, frozen, keys=("observations", "score"), max_steps=max_steps) as file:
        yield WatchedRollout(frozen, file, layers=layers, is_centred=is_centred)


class WatchedRollout:
    """The steps of a rollout with their activations.

    It reads the file twice, the first time for the range of each channel. Memory does not grow with its length.

    Attributes:
        steps: Number of steps to show.
        screen_shape: (height, width, 3) of the game's screen.
        starts: Number of the first step of each episode.
        output_limits: Smallest and largest output; known as soon as `each_step` yields.
    """

    def __init__(
        self, frozen: FrozenModel, rollout: RolloutFile, *, layers: Sequence[LayerRecord], is_centred: bool = False
    ):
        self._frozen, self._rollout, self._layers = frozen, rollout, layers
        self._is_centred = is_centred
        self._count = 1 + len(layers) + (len(frozen.state_shapes) if is_centred else 0)
        # With parameter noise, it shows the network that played.
        self._network = ReplayedNetwork(
            frozen,
            [*(layer.name for layer in layers), frozen.representation.name],
            noise=rollout.perturbation.parameter,
            seed=rollout.seed,
            keeps_memory=is_centred,
        )
        self.steps = rollout.steps
        self.screen_shape = rollout.screen_shape
        self.starts = tuple(rollout.starts)
        self.output_limits = (0.0, 0.0)

    @property
    def scores(self) -> np.ndarray:
        """Points of the episode that each step shows, see `WatchedStep`."""
        scores = self._scores_before()
        final = self._rollout.final_scores
        scores[list(final)] = list(final.values())
        return scores

    def _scores_before(self) -> np.ndarray:
        return np.concatenate([scores for (scores,) in self._rollout.blocks("score")])

    def each_step(self, progress: Progress) -> Iterator[WatchedStep]:
        """Yields the steps; counts two steps of `progress` for each.

        Raises:
            NeurozooError: The rollout is damaged, or another model played it.
        """
        ranges = self._ranges(progress)
        actions = enumerate(self._rollout.actions)
        self._rewind()
        for observations, screens, scores in self._rollout.blocks("observations", "frames", "score"):
            activations, _ = self._activations_of(observations)
            pictures = zip(*ranges.scaled(activations), strict=True)
            outputs = activations[len(self._layers)]
            for shown, said, screen, score in zip(pictures, outputs, screens, scores, strict=True):
                number, action = next(actions)
                score = self._rollout.final_scores.get(number, float(score))
                yield WatchedStep(number, shown, said, screen, score, action)
                progress.advance()

    def _ranges(self, progress: Progress) -> "Ranges":
        ranges = Ranges(self._count, like_channels=self._frozen.shape.has_like_channels, centred=self._centred())
        self._rewind()
        for observations, recorded in self._rollout.blocks("observations", "representation"):
            activations, representation = self._activations_of(observations)
            if not np.allclose(recorded, representation, atol=TOLERANCE * np.abs(recorded).max()):
                raise NeurozooError(
                    f"{self._rollout.path} is not a rollout of the frozen model in {self._frozen.folder}: from the "
                    f"recorded observations, layer {self._frozen.representation.name!r} computes other values than the "
                    f"recorded ones. {REMEDY}"
                )
            ranges.widen(activations)
            progress.advance(len(observations))
        self.output_limits = ranges.limits(len(self._layers))
        return ranges

    def _centred(self) -> tuple[int, ...]:
        """Returns the arrays whose values have both signs."""
        if not self._is_centred:
            return ()
        layers = enumerate(self._layers[:-1], 1)
        signed = [number for number, layer in layers if is_signed(layer)]
        is_vector = self._frozen.shape.observation[:2] == (1, 1)
        return (*([0] if is_vector else []), *signed, *range(1 + len(self._layers), self._count))

    def _rewind(self) -> None:
        if self._frozen.has_history:
            actions = np.array(self._rollout.actions)
            self._network.rewind(actions=actions, scores=self._scores_before(), starts=list(self._rollout.starts))

    def _activations_of(self, observations: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Returns the observations with the activations of all layers and the memory, and the representation."""
        said = self._network(observations)
        layers, representation = said[: len(self._layers)], said[len(self._layers)]
        return [observations, *layers, *said[1 + len(self._layers) : self._count]], representation


def is_signed(layer: LayerRecord) -> bool:
    """Returns whether a layer's activations have both signs."""
    return layer.activation != "relu" or layer.kind in ("residual", "lstm")


class Ranges:
    """Keeps the smallest and largest values of the whole rollout, so that all frames share one brightness scale.

    Maps are scaled channel by channel. Dense layers are scaled as a whole, and so is the first array, the observation,
    if its channels are colours or frames.
    """

    def __init__(self, count: int, *, like_channels: bool = False, centred: Collection[int] = ()):
        """Starts without values.

        Args:
            count: Number of arrays.
            like_channels: Whether the first array is scaled as a whole.
            centred: Indices of arrays whose 0 lies in the middle of the scale.
        """
        self._like_channels, self._is_centred = like_channels, [number in centred for number in range(count)]
        self._low = [np.float32(np.inf)] * count
        self._high = [np.float32(-np.inf)] * count

    def widen(self, activations: list[np.ndarray]) -> None:
        """Widens the ranges by a batch; arrays are (batch, height, width, channels) or (batch, units)."""
        for i, activation in enumerate(activations):
            is_whole = activation.ndim != 4 or (i == 0 and self._like_channels)
            axes = None if is_whole else (0, 1)
            # First over the batch, whose rows are long: forty times as fast as all axes at once.
            self._low[i] = np.minimum(self._low[i], activation.min(axis=0).min(axis=axes))
            self._high[i] = np.maximum(self._high[i], activation.max(axis=0).max(axis=axes))

    def limits(self, number: int) -> tuple[float, float]:
        """Returns the smallest and the largest value of an array."""
        return float(np.min(self._low[number])), float(np.max(self._high[number]))

    def scaled(self, activations: list[np.ndarray]) -> list[np.ndarray]:
        """Returns uint8 arrays of the same shapes; values that never change are 0."""
        pictures = []
        ranges = zip(activations, self._low, self._high, self._is_centred, strict=True)
        for activation, low, high, is_centred in ranges:
            if is_centred:
                high = np.maximum(np.maximum(np.abs(low), np.abs(high)), np.float32(1e-8))
                low = -high
            factor = np.float32(255) / np.maximum(high - low, np.float32(1e-8))
            pictures.append(np.rint(np.clip((activation - low) * factor, 0, 255)).astype(np.uint8))
        return pictures
