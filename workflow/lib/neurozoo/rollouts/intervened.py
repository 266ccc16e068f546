"""A frozen agent that plays with an intervention: its Keras model with replaced activations, step after step."""

import os
from typing import TYPE_CHECKING

import numpy as np

from neurozoo.agents.frozen import FrozenModel
from neurozoo.errors import NeurozooError
from neurozoo.interventions.activations import IntervenedModel, replacement_of
from neurozoo.interventions.intervention import INPUT, OF_RECORDINGS, Intervention, check_layer
from neurozoo.rollouts.replayed import ReplayedNetwork
from neurozoo.rollouts.rollout_files import open_rollout, recognise

if TYPE_CHECKING:
    import keras

RESAMPLING = 4  # last entry of the seed, beside those of `Perturbation`


class Intervening:
    """Replaces activations of a frozen agent in every step; `random` are the random numbers of the episode.

    Raises:
        NeurozooError: The intervention does not fit the network, or its recording is missing or of another agent.
    """

    def __init__(
        self, frozen: FrozenModel, intervention: Intervention, recorded: str | os.PathLike | None, *, seed: int
    ) -> None:
        check_layer(intervention.layer, [layer.name for layer in frozen.layers])
        self._layers = {layer.name: layer for layer in frozen.layers}
        self._layer, self._seed = intervention.layer, seed
        shape = frozen.shape.observation if self._layer == INPUT else self._layers[self._layer].shape
        values = None
        if intervention.with_ in OF_RECORDINGS:
            if recorded is None:
                raise NeurozooError(f"with: {intervention.with_} needs a recorded rollout. Give that of the run.")
            values = _activations(frozen, self._layer, recorded, is_mean=intervention.with_ == "mean")
        self._draw = replacement_of(intervention, tuple(shape), values)
        self._nothing = np.ones(shape, np.float32), np.zeros(shape, np.float32)
        self._model: IntervenedModel | None = None

    def prepare(self, model: "keras.Model") -> "keras.Model":
        """Returns the model of a step whose activations this object replaces."""
        if self._layer == INPUT:
            return model
        self._model = IntervenedModel(model, self._layers[self._layer].keras_layer)
        return self._model.model

    def begin(self, episode: int) -> None:
        """Begins an episode; its number and the seed decide what is drawn."""
        self.random = np.random.default_rng([self._seed, episode, RESAMPLING])

    def step(self, observation: np.ndarray, *, is_active: bool = True) -> np.ndarray:
        """Prepares the next step, and returns what the agent sees of an observation; unless active, nothing changes."""
        factor, value = self._draw(self.random) if is_active else self._nothing
        if self._model is None:
            return observation * factor + value
        self._model.replace((factor, value))
        return observation


def _activations(frozen: FrozenModel, layer: str, path: str | os.PathLike, *, is_mean: bool) -> np.ndarray:
    """Returns a layer's activations at all steps of a rollout of the agent itself, or the mean of each channel."""
    with open_rollout(path, frozen) as recording:
        recognise(recording, frozen)
        blocks = (block for (block,) in recording.blocks("observations"))
        if layer != INPUT:
            network = ReplayedNetwork(frozen, [layer])
            network.rewind(actions=np.array(recording.actions), scores=recording.scores_before, starts=recording.starts)
            blocks = (network(block)[0] for block in blocks)
        if not is_mean:
            return np.concatenate(list(blocks))
        means = [(block.mean(axis=tuple(range(block.ndim - 1)), dtype=np.float64), len(block)) for block in blocks]
        return np.average([mean for mean, _ in means], axis=0, weights=[steps for _, steps in means])[None]
