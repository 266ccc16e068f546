"""Receptive fields: which pixels of the observation a unit can see.

They are computed from the convolutions in `model.keras` and TensorFlow's rule of padding. For the network `large`
they are 8, 20 and 36 pixels with strides 4, 8 and 8, as in the Atari Zoo. The zoo's offsets of 4, 12 and 20 pixels
belong to an equal padding on both sides, which the networks do not have: these begin 2, 6 and 14 pixels outside.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neurozoo.errors import NeurozooError
from neurozoo.filters.layers import inputs_of, operation_of
from neurozoo.inspection.frozen import FrozenModel, LayerRecord

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True)
class ReceptiveField:
    """What the units of a layer see, as (rows, columns) of the observation's pixels.

    Attributes:
        size: Height and width of the field.
        stride: From a unit's field to that of its neighbour.
        start: Upper left corner of the first unit's field; negative where it begins in the padding.
    """

    size: tuple[int, int]
    stride: tuple[int, int]
    start: tuple[int, int]

    def corner(self, row: int, column: int) -> tuple[int, int]:
        """Returns the upper left pixel of a unit's field, which may lie outside of the observation."""
        return (self.start[0] + self.stride[0] * row, self.start[1] + self.stride[1] * column)

    def covers(self, observation: tuple[int, int], units: tuple[int, int]) -> bool:
        """Says whether every unit of a map of (rows, columns) sees all (rows, columns) of an observation."""
        axes = zip(self.start, self.stride, self.size, observation, units, strict=True)
        return all(start + stride * (n - 1) <= 0 and start + size >= side for start, stride, size, side, n in axes)


def receptive_field(frozen: FrozenModel, layer: LayerRecord) -> ReceptiveField:
    """Computes the receptive field of a layer's units.

    It holds every pixel that some weights would let through; a gate that is closed counts as open. A dense layer sees
    the whole observation.

    Raises:
        NeurozooError: `model.keras` cannot be loaded, or holds a kind of layer that the rule is not known for.
    """
    if layer.kind == "dense":
        return ReceptiveField(frozen.shape.observation[:2], (0, 0), (0, 0))
    output, known = frozen.activations_model([layer.name]).outputs[0], {}
    axes = [_window(output, axis, known) for axis in (1, 2)]
    return ReceptiveField(
        size=tuple(last - first + 1 for first, last, _ in axes),
        stride=tuple(stride for _, _, stride in axes),
        start=tuple(first for first, _, _ in axes),
    )


def _window(tensor: "keras.KerasTensor", axis: int, known: dict) -> tuple[int, int, int]:
    """Returns first and last pixel that entry 0 of a tensor sees along an axis, and the stride to those of entry 1."""
    import keras

    key = (id(tensor), axis)
    if key in known:
        return known[key]
    before = inputs_of(tensor)
    made_by = operation_of(tensor)
    pointwise = (keras.layers.Activation, keras.layers.ReLU, keras.layers.BatchNormalization, keras.layers.Rescaling)
    windows = [_window(source, axis, known) for source in before]
    if not before:
        window = (0, 0, 1)
    elif isinstance(made_by, keras.layers.Conv2D | keras.layers.DepthwiseConv2D):
        (first, last, stride), kernel, step = windows[0], made_by.kernel_size[axis - 1], made_by.strides[axis - 1]
        size = before[0].shape[axis]
        padding = max((math.ceil(size / step) - 1) * step + kernel - size, 0) if made_by.padding == "same" else 0
        reach = kernel - 1 - padding // 2  # an odd row or column of padding goes to the end
        window = (first - stride * (padding // 2), last + stride * reach, stride * step)
    elif isinstance(made_by, (*pointwise, keras.layers.Add)):
        window = (min(w[0] for w in windows), max(w[1] for w in windows), windows[0][2])
    else:
        raise NeurozooError(
            f"The receptive field behind the Keras layer {made_by.name!r} ({type(made_by).__name__}) is not known. "
            "Ask for a layer before it."
        )
    known[key] = window
    return window
