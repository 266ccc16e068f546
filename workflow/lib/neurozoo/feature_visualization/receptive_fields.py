"""Receptive fields: which pixels of the observation a unit can see.

They follow from the convolutions in `model.keras` and TensorFlow's padding rule. For the network `large` they are 8, 20
and 36 pixels with strides 4, 8 and 8, as in the Atari Zoo. The zoo's offsets of 4, 12 and 20 pixels assume equal
padding on both sides, which these networks do not have: their first fields begin 2, 6 and 14 pixels outside the
observation.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neurozoo.agents.frozen import FrozenModel, LayerRecord
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.layers import inputs_of, operation_of

if TYPE_CHECKING:
    import keras

# Kinds of operations, by their names in Keras, that keep every place; the second, of channels and by numbers.
_POINTWISE = ("Activation", "ReLU", "BatchNormalization", "LayerNormalization", "Rescaling", "Add")
_SELECTING_OR_SCALING = ("GetItem", "TrueDivide", "Divide", "Multiply")

_Window = tuple[int, int, int]  # first and last pixel along an axis, and the stride


@dataclass(frozen=True)
class ReceptiveField:
    """What the units of a layer see, as (rows, columns) of the observation's pixels."""

    size: tuple[int, int]  # height and width of the field
    stride: tuple[int, int]  # distance between the fields of neighbouring units
    start: tuple[int, int]  # upper left corner of the first unit's field; negative if it begins in the padding

    def corner(self, row: int, column: int) -> tuple[int, int]:
        """Returns the upper left pixel of a unit's field, which may lie outside the observation."""
        return (self.start[0] + self.stride[0] * row, self.start[1] + self.stride[1] * column)

    def covers(self, observation: tuple[int, int], units: tuple[int, int]) -> bool:
        """Says whether every unit of a map of (rows, columns) sees a whole observation of (rows, columns)."""
        axes = zip(self.start, self.stride, self.size, observation, units, strict=True)
        return all(start + stride * (n - 1) <= 0 and start + size >= side for start, stride, size, side, n in axes)


def receptive_field(frozen: FrozenModel, layer: LayerRecord) -> ReceptiveField:
    """Computes the receptive field of a layer's units.

    The field contains every pixel that some weights would let through; a closed gate counts as open. A dense layer sees
    the whole observation. What a layer normalisation adds, by mean and deviation of the whole map, does not count.

    Raises:
        NeurozooError: A layer's kind has no known rule.
    """
    if layer.kind == "dense":
        return ReceptiveField(frozen.shape.observation[:2], (0, 0), (0, 0))
    output = frozen.activations_model([layer.name]).outputs[0]
    known: dict[tuple[int, int], _Window] = {}
    (top, bottom, down), (left, right, across) = (_window(output, axis, known) for axis in (1, 2))
    return ReceptiveField(size=(bottom - top + 1, right - left + 1), stride=(down, across), start=(top, left))


def _window(tensor: "keras.KerasTensor", axis: int, known: dict[tuple[int, int], _Window]) -> _Window:
    """Returns the first and last pixel that entry 0 of a tensor sees along an axis, and the stride to entry 1's."""
    import keras

    key = (id(tensor), axis)
    if key in known:
        return known[key]
    before, operation = inputs_of(tensor), operation_of(tensor)
    kind, is_as_large = type(operation).__name__, all(source.shape[axis] == tensor.shape[axis] for source in before)
    windows = [_window(source, axis, known) for source in before]
    if not before:
        window = (0, 0, 1)
    elif isinstance(operation, keras.layers.Conv2D | keras.layers.DepthwiseConv2D | keras.layers.MaxPooling2D):
        (first, last, stride), step = windows[0], operation.strides[axis - 1]
        is_pooling = isinstance(operation, keras.layers.MaxPooling2D)
        kernel = (operation.pool_size if is_pooling else operation.kernel_size)[axis - 1]
        size = before[0].shape[axis]
        padding = max((math.ceil(size / step) - 1) * step + kernel - size, 0) if operation.padding == "same" else 0
        reach = kernel - 1 - padding // 2  # TensorFlow puts an odd row or column of padding at the end
        window = (first - stride * (padding // 2), last + stride * reach, stride * step)
    elif kind in _POINTWISE or (kind in _SELECTING_OR_SCALING and is_as_large):
        window = (min(w[0] for w in windows), max(w[1] for w in windows), windows[0][2])
    else:
        raise NeurozooError(
            f"The receptive field behind the Keras layer {operation.name!r} ({kind}) is unknown. "
            "Choose an earlier layer."
        )
    known[key] = window
    return window
