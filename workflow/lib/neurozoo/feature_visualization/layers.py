"""The layers of a frozen model, and models that stop at one of them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from neurozoo.agents.frozen import REMEDY, FrozenModel, LayerRecord
from neurozoo.errors import NeurozooError, unknown_name

if TYPE_CHECKING:
    import keras

Relu = Literal["plain", "guided", "rescued"]
CONVOLUTIONS = ("conv", "recurrent_conv")  # kinds of layers with feature maps
_WITHOUT_FILTERS = {
    "dense": "is dense: its units see everything at once",
    "lstm": "is a memory (LSTM)",
    "residual": "is a section of five convolutions",
}


def find_layer(frozen: FrozenModel, name: str) -> LayerRecord:
    """Finds a layer by its name.

    Raises:
        NeurozooError: The layer does not exist; the message suggests the nearest name.
    """
    for layer in frozen.layers:
        if layer.name == name:
            return layer
    raise unknown_name("layer", name, [layer.name for layer in frozen.layers])


def find_convolution(frozen: FrozenModel, name: str) -> LayerRecord:
    """Finds a layer by its name that is a single convolution.

    Raises:
        NeurozooError: There is none.
    """
    layer = find_layer(frozen, name)
    if layer.kind not in CONVOLUTIONS:
        known = ", ".join(other.name for other in frozen.layers if other.kind in CONVOLUTIONS) or "none"
        what = _WITHOUT_FILTERS.get(layer.kind, "is no convolution")
        raise NeurozooError(
            f"The layer {name!r} of the network {frozen.model!r} {what}, so it has no filters to lay out. Layers with "
            f"filters: {known}."
        )
    return layer


def check_pictures(frozen: FrozenModel) -> FrozenModel:
    """Returns the frozen model if its observations are pictures.

    Raises:
        NeurozooError: Its observations are vectors of numbers.
    """
    if (frozen.shape.height, frozen.shape.width) == (1, 1):
        raise NeurozooError(
            f"{frozen.title} sees {frozen.shape.channels} numbers, not a picture, so there is nothing to draw. Use "
            "functions of neurozoo.feature_visualization that return arrays, such as integrated_gradients."
        )
    return frozen


def choose_channels(channels: int | Sequence[int], layer: LayerRecord) -> list[int]:
    """Returns the channels, or units of a dense layer, to show: the first n for a number n, or the named ones.

    Raises:
        NeurozooError: A channel does not exist.
    """
    known = layer.shape[-1]
    if isinstance(channels, int):
        return list(range(min(channels, known)))
    if wrong := [channel for channel in channels if not 0 <= channel < known]:
        raise NeurozooError(f"The layer {layer.name!r} has channels 0 to {known - 1}, but got {wrong[0]}.")
    return list(channels)


def position_of(index: int, layer: LayerRecord) -> tuple[int, int]:
    """Returns the row and column of a unit in its map from its row-major index; (0, 0) in a dense layer."""
    return divmod(int(index), layer.shape[1] if len(layer.shape) == 3 else 1)


def kernel_of(frozen: FrozenModel, layer: LayerRecord) -> np.ndarray:
    """Returns a layer's weights: (height, width, in, out) for a convolution, (in, out) for a dense layer.

    All cycles of a recurrent layer share one kernel.
    """
    import keras

    tensor = frozen.activations_model([layer.name]).outputs[0]
    while True:
        operation = operation_of(tensor)
        if isinstance(operation, keras.layers.Dense | keras.layers.Conv2D):
            return operation.kernel.numpy()
        before = inputs_of(tensor)
        if not before:
            raise NeurozooError(f"The layer {layer.name!r} in {frozen.folder} has no weights. {REMEDY}")
        tensor = before[0]


def operation_of(tensor: "keras.KerasTensor") -> "keras.Operation":
    """Returns the Keras layer that produced a tensor."""
    return tensor._keras_history.operation


def inputs_of(tensor: "keras.KerasTensor") -> list["keras.KerasTensor"]:
    """Returns the input tensors of the layer that produced a tensor; an observation has none."""
    operation, node, _ = tensor._keras_history
    return list(operation._inbound_nodes[node].input_tensors)


def model_to(
    frozen: FrozenModel,
    layer: LayerRecord,
    *,
    stops: Literal["before", "behind"] = "before",
    relu: Relu = "plain",
) -> "keras.Model":
    """Returns the network up to a layer, with another derivative of its ReLUs if wanted.

    It stops `before` the layer's activation function, where silent units still differ, or `behind` it. A `guided` ReLU
    sends back only positive signals (Springenberg et al. 2015, arXiv:1412.6806). A `rescued` one also sends signals
    back through silent units that they would wake, if no other signal gets back (as Lucid does).
    """
    import keras

    whole = frozen.activations_model([layer.name])
    model = with_relus(whole, relu, linear=layer.keras_layer if stops == "before" else None)
    return keras.Model(model.input, model.get_layer(layer.keras_layer).output)


def with_relus(model: "keras.Model", relu: Relu, *, linear: str | None = None) -> "keras.Model":
    """Returns a copy with another derivative of its ReLUs, see `model_to`; the Keras layer `linear` loses its own."""
    import keras

    function = {"guided": _relu_with(_guided), "rescued": _relu_with(_rescued)}.get(relu, keras.activations.relu)

    def rewired(old: "keras.Layer") -> "keras.Layer":
        if isinstance(old, keras.layers.ReLU):
            return keras.layers.Activation(function, name=old.name)
        new = old.__class__.from_config(old.get_config())
        if old.name == linear:
            new.activation = keras.activations.linear
        elif getattr(old, "activation", None) is keras.activations.relu:
            new.activation = function
        return new

    copy = keras.models.clone_model(model, clone_function=rewired)
    copy.set_weights(model.get_weights())
    return copy


def _relu_with(gradient: Callable) -> Callable:
    """Returns a ReLU with another derivative: a function of its inputs and of the signal that comes back."""
    import tensorflow as tf

    @tf.custom_gradient
    def relu(inputs):
        return tf.nn.relu(inputs), lambda signal: gradient(inputs, signal)

    return relu


def _guided(inputs, signal):
    import tensorflow as tf

    return tf.where((inputs > 0) & (signal > 0), signal, tf.zeros_like(signal))


def _rescued(inputs, signal):  # the signal is of a loss: a negative one wakes the unit
    import tensorflow as tf

    through = tf.where(inputs > 0, signal, tf.zeros_like(signal))
    waking = tf.where((inputs > 0) | (signal < 0), signal, tf.zeros_like(signal))
    axes = list(range(1, inputs.shape.rank))
    return tf.where(tf.reduce_any(through != 0, axes, keepdims=True), through, waking)
