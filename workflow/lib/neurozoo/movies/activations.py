"""Activations of layers for each step of a rollout, as pictures on one brightness scale for the whole rollout."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.replayed import ReplayedNetwork
from neurozoo.rollouts.rollout_files import Action, RolloutFile


@dataclass(frozen=True)
class WatchedStep:
    """A step of a rollout with its activations."""

    number: int  # in the rollout, from 0
    # The observation, the activation of each layer, and what the network remembers if that was asked for: uint8, in
    # their own shapes.
    pictures: tuple[np.ndarray, ...]
    outputs: np.ndarray  # the activation of the last layer itself: float32, shape (outputs,)
    screen: np.ndarray  # uint8, shape (height, width, 3)
    score: float  # points of the episode before the step; with its last step, those of the whole episode
    action: Action  # its index, or the values of continuous outputs


class WatchedRollout:
    """The steps of a rollout with their activations; each pass reads the file anew, so memory does not grow.

    `is_centred` says whether the steps' pictures have 0 in the middle of their scale where values have both signs, and
    end with the memory. `output_limits` are the smallest and the largest output, known as soon as `each_step` yields.
    """

    def __init__(
        self, frozen: FrozenModel, rollout: RolloutFile, *, layers: Sequence[LayerRecord], is_centred: bool = False
    ):
        self.rollout, self.output_limits = rollout, (0.0, 0.0)
        self._frozen, self._layers, self._is_centred = frozen, layers, is_centred
        # With parameter noise, it shows the network that played.
        self._network = ReplayedNetwork(
            frozen,
            [layer.name for layer in layers],
            noise=rollout.perturbation.parameter,
            seed=rollout.seed,
            keeps_memory=is_centred,
        )

    def each_step(self, progress: Progress) -> Iterator[WatchedStep]:
        """Yields the steps; counts two steps of `progress` for each."""
        ranges = Ranges(like_channels=self._frozen.shape.has_like_channels, is_centred=self._centred())
        for activations, _ in self._blocks():
            ranges.widen(activations)
            progress.advance(len(activations[0]))
        self.output_limits = ranges.limits(len(self._layers))
        numbers, actions, scores = itertools.count(), self.rollout.actions, self.rollout.scores.tolist()
        for activations, (screens,) in self._blocks("frames"):
            pictures = zip(*ranges.scaled(activations), strict=True)
            steps = zip(pictures, activations[len(self._layers)], screens, strict=True)
            for (shown, outputs, screen), number in zip(steps, numbers, strict=False):
                yield WatchedStep(number, shown, outputs, screen, scores[number], actions[number])
                progress.advance()

    def _blocks(self, *keys: str) -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
        """Yields some steps' observations with the activations of all layers and the memory, and members' rows."""
        actions = np.array(self.rollout.actions)
        self._network.rewind(actions=actions, scores=self.rollout.scores_before, starts=self.rollout.starts)
        for observations, *rows in self.rollout.blocks("observations", *keys):
            yield [observations, *self._network(observations)], rows

    def _centred(self) -> list[bool]:
        """Says of the observation, each layer and each part of the memory whether values have both signs."""
        if not self._is_centred:
            return [False] * (1 + len(self._layers))
        is_vector = self._frozen.shape.observation[:2] == (1, 1)
        return [is_vector, *map(is_signed, self._layers[:-1]), False, *[True] * len(self._frozen.state_shapes)]


def is_signed(layer: LayerRecord) -> bool:
    """Returns whether a layer's activations have both signs."""
    return layer.activation != "relu" or layer.kind in ("residual", "lstm")


class Ranges:
    """Keeps the smallest and largest values of the whole rollout, so that all frames share one brightness scale.

    Maps are scaled channel by channel. Dense layers are scaled as a whole, and so is the first array, the observation,
    if its channels are colours or frames (`like_channels`). `is_centred` says for each array whether 0 lies in the
    middle.
    """

    def __init__(self, is_centred: Sequence[bool], *, like_channels: bool = False):
        self._like_channels, self._is_centred = like_channels, is_centred
        self._low = [np.float32(np.inf)] * len(is_centred)
        self._high = [np.float32(-np.inf)] * len(is_centred)

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
