"""What the native core is told of a network: the plan, a row of numbers for each layer."""

from typing import NamedTuple

import numpy as np

from neurozoo.networks.chains import Layout
from neurozoo.networks.layers import VECTORS

PLAN_SCALES = ("weight_scale", "vector_scale", "output_gain")  # factors of a layer in the native plan
_KINDS = {"conv": 0, "recurrent_conv": 1, "dense": 2}
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
        in_height, in_width, in_channels = placed.in_shape if rows else layout.observation_shape
        out_height, out_width, out_channels = placed.out_shape
        rows.append(
            LayerPlan(
                kind=_KINDS[layer.kind],
                in_height=in_height,
                in_width=in_width,
                in_channels=in_channels,
                out_height=out_height,
                out_width=out_width,
                out_channels=out_channels,
                kernel=layer.kernel,
                stride=layer.stride,
                weight_offset=placed.offset("w"),
                bias_offset=placed.offset("b"),
                activation=_ACTIVATIONS[layer.activation],
                cycles=in_width if layer.skip == "gated" else layer.cycles,
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
