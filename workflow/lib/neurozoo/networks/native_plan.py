"""What the native core is told of a network: the plan, a row of numbers for each layer; to play, or to learn."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from neurozoo.networks.chains import Layout, Network
from neurozoo.networks.keras_networks import POLICY, Q_VALUES, KerasLayout, KerasNetwork
from neurozoo.networks.layers import VECTORS, Layer

PLAN_SCALES = ("weight_scale", "vector_scale", "output_gain")  # factors of a layer in the native plan
_KINDS = {"conv": 0, "recurrent_conv": 1, "dense": 2, "decision": 3, "landscape": 5, "climb": 6}
_ACTIVATIONS = {"linear": 0, "relu": 1, "tanh": 2}
_SKIPS = {"state": 0, "input": 1, "gated": 2}
_NORMALISATIONS = {None: 0, "before_bias": 1, "after_bias": 2}


class LayerPlan(NamedTuple):
    """What the native core is told of one layer, in whole numbers.

    native/core/network_plan.h has a struct of the same name, with the meaning of each field; network_plan.cc reads the
    fields in this order.
    """

    kind: int
    in_height: int
    in_width: int
    in_channels: int
    out_height: int
    out_width: int
    out_channels: int
    kernel: int
    stride: int
    weight_offset: int
    bias_offset: int
    activation: int
    cycles: int
    skip: int
    inner_relu: int
    vector_offset: int
    normalisation: int
    shift_offset: int
    gain_offset: int
    initialisation: int


def native_plan(layout: Layout) -> np.ndarray:
    """Returns the native core's plan: int64, shape (layers, len(LayerPlan._fields)), a `LayerPlan` per layer.

    A first layer that is dense is given the shape of the observation, which it sees flattened row-major.
    """
    rows: list[LayerPlan] = []
    for placed in layout.layers:
        layer = placed.layer
        in_shape = placed.in_shape if rows else layout.observation_shape
        rows.append(
            LayerPlan(
                _KINDS[layer.kind] + (layer.sees == "colours"),
                *in_shape,
                *placed.out_shape,
                kernel=layer.kernel,
                stride=layer.stride,
                weight_offset=placed.weight_offset,
                bias_offset=placed.offset("b"),
                activation=_ACTIVATIONS[layer.activation],
                cycles=in_shape[1] if layer.skip == "gated" else layer.cycles,
                skip=_SKIPS[layer.skip],
                inner_relu=int(layer.inner_relu),
                vector_offset=placed.offset(VECTORS.get(layer.skip)),
                normalisation=_NORMALISATIONS[layer.normalisation],
                shift_offset=placed.offset("offset"),
                gain_offset=placed.offset("gain"),
                initialisation=int(layer.initialisation == "unit_columns"),
            )
        )
    return np.array(rows, np.int64)


def plan_scales(layout: Layout) -> np.ndarray:
    """Returns the factors of the plan: float32, shape (layers, len(PLAN_SCALES))."""
    return np.array([(p.scale, p.layer.vector_std, p.layer.gain) for p in layout.layers], np.float32)


class LearnerPlan(NamedTuple):
    """What the native learner is told of one layer: `LayerShape` of native/core/learner/chain.h, field by field."""

    is_dense: int
    in_height: int
    in_width: int
    in_channels: int
    out_height: int
    out_width: int
    out_channels: int
    kernel: int
    stride: int
    pad_top: int
    pad_left: int
    has_bias: int
    is_normalised: int
    is_relu: int
    leak: int = 0
    momentum: int = 0
    adds: int = 0
    tiles: int = 0


HEADS = "heads"  # the layer that gives policy and baseline together, or action values


def learns_natively(network: Network | KerasNetwork) -> bool:
    """Says whether the native learner has all layers: convolutions, dense layers, layer normalisation, and ReLU."""
    if isinstance(network, KerasNetwork):
        has_relu = network.torso[-1].activation == "relu"  # else it follows the torso as a layer of its own
        # Action and reward are given to the heads beside whole vectors of features.
        is_whole = network.head == Q_VALUES or network.units % 16 == 0
        layers, fits = (*network.torso, network.dense), has_relu and is_whole and not network.lstm_units
    else:
        layers, fits = network.layers, network.observation_clip is None
    return fits and all(
        layer.kind in ("conv", "dense")
        and layer.activation in ("relu", "linear")
        and layer.normalisation in (None, "layer")
        and layer.gain == 1
        for layer in layers
    )


def same_padding(shape: Sequence[int], out_shape: Sequence[int], kernel: int, stride: int) -> list[int]:
    """Returns the zeros before the first row and column of a convolution that TensorFlow calls "same"."""
    needed = [(out - 1) * stride + kernel for out in out_shape]
    return [max(0, most - size) // 2 for most, size in zip(needed, shape, strict=True)]


def learner_plan(layout: Layout | KerasLayout) -> np.ndarray:
    """Returns the native learner's plan: int64, shape (layers, len(LearnerPlan._fields)), a `LearnerPlan` per layer.

    A dense layer is given the shape of what it sees flattened row-major. The heads of a Keras network are one layer,
    `HEADS`: logits, then baseline, or action values. `learns_natively` says for which networks.
    """
    placed = [(each.layer, each.out_shape) for each in layout.layers]
    given = 0  # inputs of the last layer that no layer computes
    if isinstance(layout, KerasLayout):
        has_policy = layout.network.head == POLICY
        given = 1 + layout.num_actions if has_policy else 0  # the reward and the action before
        outputs = layout.num_actions + has_policy
        placed[-1] = (Layer(HEADS, "dense", outputs, activation="linear"), (1, 1, outputs))
    rows: list[LearnerPlan] = []
    height, width, channels = layout.observation_shape
    for layer, out_shape in placed:
        top = left = 0
        if layer.kind == "conv" and layer.padding == "same":
            top, left = same_padding((height, width), out_shape[:2], layer.kernel, layer.stride)
        inputs = channels + (given if len(rows) + 1 == len(placed) else 0)
        flags = int(layer.has_bias), int(layer.normalisation == "layer"), int(layer.activation == "relu")
        shapes = (height, width, inputs, *out_shape)
        rows.append(LearnerPlan(int(layer.kind == "dense"), *shapes, layer.kernel, layer.stride, top, left, *flags))
        height, width, channels = out_shape
    return np.array(rows, np.int64)
