"""The torso of Keras networks: convolutions, dense layers and residual sections."""

import math
from typing import TYPE_CHECKING, Any

from neurozoo.networks.layers import Layer

if TYPE_CHECKING:
    import keras

NORM_EPSILON = 1e-5  # of layer normalisation
BLOCKS = 2  # residual blocks of a section


def convolutions(layer: Layer, channels: int) -> list[tuple[str, int]]:
    """Lists the convolutions of a layer: their names and input channels."""
    if layer.kind != "residual" or layer.units is None:
        return [(layer.name, channels)]
    blocks = [f"{layer.name}_block{block}_conv{conv}" for block in range(1, BLOCKS + 1) for conv in (1, 2)]
    return [(f"{layer.name}_conv", channels), *((name, layer.units) for name in blocks)]


def out_size(layer: Layer, size: int) -> int:
    """Returns the height (width) of a layer's output for an input of height (width) `size`."""
    return math.ceil(size / 2) if layer.kind == "residual" else layer.out_size(size)


def weighted(value: Any, layer: Layer, dtype: "keras.DTypePolicy") -> Any:
    """Adds a convolution or a dense layer, with its normalisation and activation."""
    import keras

    is_plain = layer.normalisation is None
    names = {"activation": layer.activation, "name": layer.name} if is_plain else {"name": f"{layer.name}_kernel"}
    common = {**names, "dtype": dtype}
    if layer.kind == "dense":
        value = keras.layers.Dense(layer.units, **common)(value)
    else:
        value = keras.layers.Conv2D(layer.units, layer.kernel, layer.stride, layer.padding, **common)(value)
    if is_plain:
        return value
    axes = tuple(range(1, len(value.shape)))
    norm = keras.layers.LayerNormalization(axis=axes, epsilon=NORM_EPSILON, name=f"{layer.name}_norm", dtype=dtype)
    return keras.layers.Activation(layer.activation, name=layer.name, dtype=dtype)(norm(value))


def residual_section(value: Any, layer: Layer, dtype: "keras.DTypePolicy") -> Any:
    """Adds a convolution, a max-pool and residual blocks."""
    import keras

    def convolution(value, name: str):
        return keras.layers.Conv2D(layer.units, layer.kernel, 1, "same", name=name, dtype=dtype)(value)

    first, *blocks = (name for name, _ in convolutions(layer, 0))
    pool = keras.layers.MaxPooling2D(3, 2, "same", name=f"{layer.name}_pool", dtype=dtype)
    value = pool(convolution(value, first))
    for block in range(BLOCKS):
        before = value
        for name in blocks[2 * block : 2 * block + 2]:
            value = keras.layers.Activation("relu", name=f"{name}_relu", dtype=dtype)(value)
            value = convolution(value, name)
        is_last = block == BLOCKS - 1
        name = layer.name if is_last else f"{layer.name}_block{block + 1}"
        value = keras.layers.Add(name=name, dtype=dtype)([before, value])
    return value
