"""The layers of a frozen model, and models that stop at one of them."""

from typing import TYPE_CHECKING, Literal

import numpy as np

from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.inspection.frozen import REMEDY, FrozenModel, LayerRecord

if TYPE_CHECKING:
    import keras

CONVOLUTIONS = ("conv", "recurrent_conv")  # kinds of layers with maps


def find_layer(frozen: FrozenModel, name: str) -> LayerRecord:
    """Finds a layer by its name.

    Raises:
        NeurozooError: No such layer; the message proposes the nearest.
    """
    for layer in frozen.layers:
        if layer.name == name:
            return layer
    raise unknown_name("layer", name, [layer.name for layer in frozen.layers])


def find_convolution(frozen: FrozenModel, name: str) -> LayerRecord:
    """Finds a layer that has filters.

    Raises:
        NeurozooError: No such layer, or it is dense.
    """
    layer = find_layer(frozen, name)
    if layer.kind not in CONVOLUTIONS:
        known = ", ".join(other.name for other in frozen.layers if other.kind in CONVOLUTIONS) or "none"
        raise NeurozooError(
            f"The layer {name!r} of the network {frozen.model!r} is dense: its units see everything at once, so that "
            f"it has no filters to lay out. Layers with filters: {known}."
        )
    return layer


def check_pictures(frozen: FrozenModel) -> FrozenModel:
    """Returns the frozen model if what it sees is a picture.

    Raises:
        NeurozooError: It sees a vector of numbers.
    """
    if (frozen.shape.height, frozen.shape.width) == (1, 1):
        raise NeurozooError(
            f"{frozen.title} sees {frozen.shape.channels} numbers, not a picture, so that there is none to draw. Only "
            "functions of neurozoo.filters that return arrays have a meaning for it."
        )
    return frozen


def kernel_of(frozen: FrozenModel, layer: LayerRecord) -> np.ndarray:
    """Returns a layer's weights: (height, width, in, out) of a convolution, (in, out) of a dense layer.

    The cycles of a recurrent layer share theirs.

    Raises:
        NeurozooError: `model.keras` cannot be loaded, or has no weights there.
    """
    import keras

    tensor = frozen.activations_model([layer.name]).outputs[0]
    while True:
        made_by = operation_of(tensor)
        if isinstance(made_by, keras.layers.Dense | keras.layers.Conv2D):
            return made_by.kernel.numpy()
        before = inputs_of(tensor)
        if not before:
            raise NeurozooError(f"The layer {layer.name!r} in {frozen.folder} has no weights. {REMEDY}")
        tensor = before[0]


def operation_of(tensor: "keras.KerasTensor") -> "keras.Operation":
    """Returns the Keras layer that a tensor comes out of."""
    return tensor._keras_history.operation


def inputs_of(tensor: "keras.KerasTensor") -> list["keras.KerasTensor"]:
    """Returns the tensors that went into the layer when it made this one; none for an observation."""
    made_by, node, _ = tensor._keras_history
    return list(made_by._inbound_nodes[node].input_tensors)


def model_to(
    frozen: FrozenModel,
    layer: LayerRecord,
    *,
    stops: Literal["before", "behind"] = "before",
    relu: Literal["plain", "guided", "rescued"] = "plain",
) -> "keras.Model":
    """Returns the network up to a layer, with another derivative of its rectifiers if wanted.

    Args:
        frozen: The frozen model.
        layer: The last layer of what is returned.
        stops: `before` the layer's activation function, so that silent units can be compared, too; or `behind` it.
        relu: `plain`; `guided` lets only positive signals back (Springenberg et al. 2015, arXiv:1412.6806); `rescued`
            lets signals back through a silent unit if they would wake it and nothing else gets back (as Lucid does).

    Raises:
        NeurozooError: `model.keras` cannot be loaded.
    """
    import keras

    whole = frozen.activations_model([layer.name])
    functions = {"plain": keras.activations.relu, "guided": _guided_relu(), "rescued": _rescued_relu()}

    def rewired(old: "keras.Layer") -> "keras.Layer":
        if isinstance(old, keras.layers.ReLU):
            return keras.layers.Activation(functions[relu], name=old.name)
        new = old.__class__.from_config(old.get_config())
        if old.name == layer.keras_layer and stops == "before":
            new.activation = keras.activations.linear
        elif getattr(old, "activation", None) is keras.activations.relu:
            new.activation = functions[relu]
        return new

    model = keras.models.clone_model(whole, clone_function=rewired)
    model.set_weights(whole.get_weights())
    return keras.Model(model.input, model.get_layer(layer.keras_layer).output)


def _guided_relu():
    import tensorflow as tf

    @tf.custom_gradient
    def guided_relu(inputs):
        def gradient(signal):
            return tf.where((inputs > 0) & (signal > 0), signal, tf.zeros_like(signal))

        return tf.nn.relu(inputs), gradient

    return guided_relu


def _rescued_relu():
    import tensorflow as tf

    @tf.custom_gradient
    def rescued_relu(inputs):
        def gradient(signal):  # of a loss: it wakes a unit where it is negative
            through = tf.where(inputs > 0, signal, tf.zeros_like(signal))
            waking = tf.where((inputs > 0) | (signal < 0), signal, tf.zeros_like(signal))
            axes = list(range(1, inputs.shape.rank))
            return tf.where(tf.reduce_any(through != 0, axes, keepdims=True), through, waking)

        return tf.nn.relu(inputs), gradient

    return rescued_relu
