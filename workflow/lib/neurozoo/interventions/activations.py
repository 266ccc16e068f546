"""Interventions in a Keras model: its activations are replaced on their way to the next layer."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.interventions.intervention import OF_RECORDINGS, Intervention

if TYPE_CHECKING:
    import keras

Replacement = tuple[np.ndarray, np.ndarray]  # (factor, value): activations a become a * factor + value
# (mean, read, write), in the layer's shape or flat: activations a become a - write * (read . (a - mean))
Erasure = tuple[np.ndarray, np.ndarray, np.ndarray]


def replacement_of(
    intervention: Intervention, shape: tuple[int, ...], recorded: np.ndarray | None = None
) -> Callable[[np.random.Generator], Replacement]:
    """Returns a function that draws by what activations are replaced, for the next step.

    Args:
        intervention: What changes.
        shape: Of one activation of the layer, without a batch axis.
        recorded: Activations of the layer at the steps of a recording, (steps, *shape), for the kinds that need them.

    Raises:
        NeurozooError: There is no recording, or not this step; or what `Intervention.mask` raises.
    """
    mask, kind = intervention.mask(shape), intervention.with_
    if kind not in OF_RECORDINGS:
        factor = np.where(mask, np.float32(intervention.factor if kind == "scale" else 0), np.float32(1))
        fixed = factor, np.where(mask, np.float32(intervention.value), np.float32(0))  # a value only if constant
        return lambda random: fixed
    if recorded is None:
        raise NeurozooError(f"with: {kind} takes activations from a recorded episode, but there is none.")
    kept = (~mask).astype(np.float32)
    if kind == "resample":
        return lambda random: (kept, np.where(mask, recorded[random.integers(len(recorded))], np.float32(0)))
    if kind == "patch":
        if intervention.step >= len(recorded):
            raise NeurozooError(
                f"The recording has steps 0 to {len(recorded) - 1}, but step is {intervention.step}. Choose one of "
                "them."
            )
        value = recorded[intervention.step]
    else:
        value = recorded.mean(axis=tuple(range(recorded.ndim - 1)), dtype=np.float64)
    fixed = kept, np.where(mask, value, 0).astype(np.float32)
    return lambda random: fixed


class IntervenedModel:
    """A copy of a Keras model in which the output of one of its layers, by its Keras name, can be replaced.

    It computes what the model computes, to the bit, until `replace` is called.
    """

    def __init__(self, model: "keras.Model", layer: str) -> None:
        import keras

        shape = tuple(model.get_layer(layer).output.shape[1:])
        self._factor = keras.Variable(np.ones(shape, np.float32), trainable=False, name="factor")
        self._value = keras.Variable(np.zeros(shape, np.float32), trainable=False, name="value")
        self.model = _changed_behind(model, layer, lambda activations: activations * self._factor + self._value)

    def replace(self, replacement: Replacement) -> None:
        """Replaces activations a by a * factor + value, from now on."""
        for variable, value in zip((self._factor, self._value), replacement, strict=True):
            variable.assign(value)


class ErasedModel:
    """A copy of a Keras model from one of whose layers, by its Keras name, one direction can be erased.

    It computes what the model computes, to the bit, until `erase` is called.
    """

    def __init__(self, model: "keras.Model", layer: str) -> None:
        import keras

        shape = tuple(model.get_layer(layer).output.shape[1:])
        blank = np.zeros(shape, np.float32)
        parts = ("mean", "read", "write")
        self._parts = [keras.Variable(blank, trainable=False, name=name) for name in parts]

        def change(activations):
            mean, read, write = self._parts
            axes = list(range(1, len(shape) + 1))
            return activations - write * keras.ops.sum((activations - mean) * read, axis=axes, keepdims=True)

        self.model = _changed_behind(model, layer, change)

    def erase(self, erasure: Erasure) -> None:
        """Replaces activations a by a - write * (read . (a - mean)), from now on."""
        for variable, value in zip(self._parts, erasure, strict=True):
            variable.assign(value.reshape(variable.shape))


def _changed_behind(model: "keras.Model", layer: str, change: Callable) -> "keras.Model":
    """Returns a copy of a model, with the same weights, in which a function changes the output of a layer."""
    import keras

    class Change(keras.layers.Layer):
        """Its variables are not among the model's weights."""

        def call(self, activations):
            return change(activations)

    def call(own: "keras.Layer", *arguments, **named):
        result = own(*arguments, **named)
        return Change(name="intervention")(result) if own.name == layer else result

    # Not cloned layers, but the same: they keep their weights.
    return keras.models.clone_model(model, clone_function=lambda own: own, call_function=call)
