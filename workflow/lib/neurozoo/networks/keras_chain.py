"""Chains of layers as Keras models of standard layers."""

from typing import Any

import keras
import numpy as np

from neurozoo.networks.description import EPSILON, Layout, PlacedLayer


def build_chain(layout: Layout, theta: np.ndarray | None, reference: np.ndarray | None) -> keras.Model:
    """Builds the model that `Layout.keras_model` returns, which describes it."""
    arrays = {} if theta is None else layout.split(theta)
    if theta is not None and layout.needs_reference:
        reference = layout.check_reference(reference)
    value = inputs = keras.Input(layout.observation_shape, name="observation")
    if (clip := layout.network.observation_clip) is not None:
        shape = layout.observation_shape
        mean, deviation = (np.zeros(shape), np.ones(shape)) if reference is None else reference
        variance = np.square(deviation, dtype=np.float64)
        scale = keras.layers.Normalization(axis=(1, 2, 3), mean=mean, variance=variance)
        value = keras.ops.clip(scale(value), -clip, clip)
    # They are set when the model is complete.
    weights: dict[keras.Layer, list[Any]] = {}
    normalised = []
    for placed in layout.layers:
        layer, name = placed.layer, placed.layer.name
        own = {part: arrays.get(f"{name}/{part}") for part in layer.parts}
        bias = layer.has_bias and layer.normalisation != "before_bias"
        simple = layer.kind != "recurrent_conv" and layer.normalisation is None and layer.gain == 1.0
        activation = layer.activation if simple else None
        common = {"activation": activation, "use_bias": bias, "name": name if simple else f"{name}_kernel"}
        if layer.kind == "dense":
            if value.shape[1:] != placed.in_shape[2:]:
                value = keras.layers.Flatten(name="flatten")(value)
            step = keras.layers.Dense(placed.out_shape[2], **common)
            value = step(value)
        else:
            step = keras.layers.Conv2D(placed.out_shape[2], layer.kernel, layer.stride, layer.padding, **common)
            value = step(value) if layer.kind == "conv" else _cycles(placed, step, value, own, weights)
        weights[step] = [own["w"], own["b"]] if bias else [own["w"]]
        if layer.normalisation:
            has_gain = layer.normalisation == "after_bias"
            norm = keras.layers.BatchNormalization(epsilon=EPSILON, scale=has_gain, name=f"{name}_norm")
            normalised.append((norm, [own["gain"], own["offset"]] if has_gain else [own["b"]], value))
            value = norm(value)
        if layer.gain != 1.0:
            value = keras.layers.Rescaling(layer.gain, name=f"{name}_gain")(value)
        if not simple:
            value = keras.layers.Activation(layer.activation, name=name)(value)
    model = keras.Model(inputs, value, name=layout.network.name)
    if theta is None:
        return model
    for step, values in weights.items():
        step.set_weights(values)
    for norm, values, before in normalised:
        measured = keras.Model(inputs, before).predict(reference, verbose=0)
        axes = tuple(range(measured.ndim - 1))
        norm.set_weights([*values, measured.mean(axes, np.float64), measured.var(axes, np.float64)])
    return model


def _cycles(placed: PlacedLayer, step: keras.Layer, value, own: dict, weights: dict):
    """Adds the cycles of a recurrent layer to a Keras model, and the weights of added layers to `weights`."""

    def factors(name: str, values: np.ndarray | None) -> keras.Layer:
        layer = keras.layers.DepthwiseConv2D(1, use_bias=False, name=f"{placed.layer.name}_{name}")
        weights[layer] = [None if values is None else np.float32(values).reshape(1, 1, -1, 1)]
        return layer

    layer = placed.layer
    skip = factors("iotas", own["iotas"])(value) if layer.skip == "input" else None
    gates = own.get("gates")
    cycles_of = None if gates is None else placed.gate_cycles(gates)
    for cycle in range(placed.in_shape[1] if layer.skip == "gated" else layer.cycles):
        convolved = step(value)
        if layer.skip == "gated":
            takes_part = None if cycles_of is None else cycle < cycles_of
            convolved = factors(f"gates{cycle + 1}", takes_part)(convolved)
        summed = keras.layers.Add(name=f"{layer.name}_cycle{cycle + 1}")
        value = summed([convolved, value if skip is None else skip])
        if layer.inner_relu:
            value = keras.layers.ReLU(name=f"{layer.name}_relu{cycle + 1}")(value)
    return value
