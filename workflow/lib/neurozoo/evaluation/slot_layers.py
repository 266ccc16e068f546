"""Forward passes of many networks at once, with one slot per agent.

Values have shape (slots, batch, height, width, channels) or (slots, batch, units). Each slot has its own weights and
its own batch of observations, so a layer is a batched matrix product. The code uses `keras.ops` and runs on TensorFlow
and JAX. `neurozoo.networks.layers` defines the layers.
"""

from collections.abc import Callable, Mapping
from typing import Any

from keras import ops

from neurozoo.networks.chains import Layout
from neurozoo.networks.layers import EPSILON, PlacedLayer

Tensor = Any  # of TensorFlow or JAX
Arrays = Mapping[str, Tensor]  # of a layer or of a network, by name


def run_network(layout: Layout, weights: Arrays, observations: Tensor, moments: Arrays) -> Tensor:
    """Computes the outputs of all slots' networks.

    Args:
        layout: The network.
        weights: By name as in `Layout.split`, with the slots as first axis: (slots, kernel, kernel, in, out) and so on.
        observations: float32, (slots, batch, height, width, channels).
        moments: (slots, 2, channels) by name of the normalised layer, as `measure_network` returns them.

    Returns:
        float32, (slots, batch, outputs).
    """
    value = observations
    for placed in layout.layers:
        own = _own(placed, weights)
        value = _finished(placed, own, _summed(placed, own, value), moments.get(placed.layer.name))
    return value


def measure_network(layout: Layout, weights: Arrays, observations: Tensor) -> dict[str, Tensor]:
    """Measures mean and deviation of each normalised layer on a reference batch, layer after layer.

    Returns:
        (slots, 2, channels) by layer name: the mean and the inverse standard deviation.
    """
    moments, value = {}, observations
    last = max(i for i, placed in enumerate(layout.layers) if placed.layer.normalisation)
    for placed in layout.layers[: last + 1]:
        own, name = _own(placed, weights), placed.layer.name
        value = _summed(placed, own, value)
        if placed.layer.normalisation:
            mean = _channel_means(value)
            variance = _channel_means(ops.square(value - _per_channel(mean, value)))
            moments[name] = ops.stack([mean, 1.0 / ops.sqrt(variance + EPSILON)], axis=1)
        value = _finished(placed, own, value, moments.get(name))
    return moments


def push_planes(stack: Tensor, planes: Tensor, has_begun: Tensor, *, repeats_first: bool = False) -> Tensor:
    """Adds the newest planes to the observations and drops the oldest.

    Args:
        stack: float32, (slots, height, width, stack * channels), oldest plane first.
        planes: float32, (slots, height, width, channels).
        has_begun: bool, (slots,): whether the plane is the first of an episode, so that zeros stand before it.
        repeats_first: Whether copies of it stand there instead.

    Returns:
        The new observations, in the shape of `stack`.
    """
    older = stack[..., planes.shape[-1] :]
    copies = older.shape[-1] // planes.shape[-1]
    first = ops.concatenate([planes] * copies, axis=-1) if repeats_first and copies else ops.zeros_like(older)
    older = ops.where(ops.reshape(has_begun, (-1, 1, 1, 1)), first, older)
    return ops.concatenate([older, planes], axis=-1)


def _own(placed: PlacedLayer, weights: Arrays) -> dict[str, Tensor]:
    return {part: weights[f"{placed.layer.name}/{part}"] for part in placed.layer.parts}


def _summed(placed: PlacedLayer, own: Arrays, value: Tensor) -> Tensor:
    """Computes a layer up to its normalisation: the products and biases."""
    layer = placed.layer
    value = _KINDS[layer.kind](placed, own, value)
    if layer.has_bias and layer.normalisation != "before_bias":
        value = value + _per_channel(own["b"], value)
    return value


def _finished(placed: PlacedLayer, own: Arrays, value: Tensor, moments: Tensor) -> Tensor:
    """Computes the rest of a layer: normalisation, gain, activation."""
    layer = placed.layer
    if layer.normalisation:
        factor, shift = moments[:, 1], own["b"]
        if layer.normalisation == "after_bias":
            factor, shift = factor * own["gain"], own["offset"]
        value = (value - _per_channel(moments[:, 0], value)) * _per_channel(factor, value) + _per_channel(shift, value)
    if layer.gain != 1.0:
        value = value * layer.gain
    return _ACTIVATIONS[layer.activation](value)


def _channel_means(value: Tensor) -> Tensor:
    """Returns means, (slots, channels). Averages axis by axis, because one sum over all numbers would lose digits."""
    for _ in range(len(value.shape) - 2):
        value = ops.mean(value, axis=-2)
    return value


def _per_channel(vector: Tensor, value: Tensor) -> Tensor:
    """Reshapes (slots, channels) so that it broadcasts to (slots, ..., channels)."""
    return ops.reshape(vector, (vector.shape[0], *(1,) * (len(value.shape) - 2), vector.shape[1]))


def _dense(placed: PlacedLayer, own: Arrays, value: Tensor) -> Tensor:
    return ops.matmul(ops.reshape(value, (*value.shape[:2], placed.in_shape[2])), own["w"])


def _conv(placed: PlacedLayer, own: Arrays, value: Tensor) -> Tensor:
    slots, batch = value.shape[:2]
    height, width, channels = placed.out_shape
    patches = _patches(placed, value)
    weights = ops.reshape(own["w"], (slots, -1, channels))
    products = ops.matmul(ops.reshape(patches, (slots, batch * height * width, weights.shape[1])), weights)
    return ops.reshape(products, (slots, batch, height, width, channels))


def _patches(placed: PlacedLayer, value: Tensor) -> Tensor:
    """Returns the inputs of each kernel position: (slots, batch, out height, out width, kernel, kernel, channels).

    Takes 2 x kernel strided slices, first of rows, then of columns. They only copy numbers, without rounding.
    """
    kernel, stride = placed.layer.kernel, placed.layer.stride
    spans, borders = [], []
    for inside, outside in zip(placed.in_shape[:2], placed.out_shape[:2], strict=True):
        spans.append((outside - 1) * stride + 1)
        total = max(spans[-1] - 1 + kernel - inside, 0)
        borders.append((total // 2, total - total // 2))  # 0 for `valid`; an odd one goes to the end
    value = ops.pad(value, ((0, 0), (0, 0), *borders, (0, 0)))
    rows = ops.stack([value[:, :, i : i + spans[0] : stride] for i in range(kernel)], axis=3)
    columns = [
        rows[:, :, :, :, j : j + spans[1] : stride] for j in range(kernel)
    ]  # kernel rows come before positions here
    return ops.transpose(ops.stack(columns, axis=5), (0, 1, 2, 4, 3, 5, 6))


def _recurrent_conv(placed: PlacedLayer, own: Arrays, value: Tensor) -> Tensor:
    layer, width = placed.layer, placed.in_shape[1]
    skip = value * _per_channel(own["iotas"], value) if layer.skip == "input" else None
    gates = _per_channel(own["gates"], value) if layer.skip == "gated" else None
    # A comparison with NaN is false, so a channel with a gate of NaN never changes.
    last_cycle = None if gates is None else ops.minimum(ops.round(ops.abs(gates * float(width))), float(width))

    def cycle(number: Tensor, state: Tensor) -> Tensor:
        convolved = _conv(placed, own, state)
        if last_cycle is not None:
            takes_part = ops.cast(number, "float32") < last_cycle
            convolved = ops.where(takes_part, convolved, ops.zeros_like(convolved))
        state = convolved + (state if skip is None else skip)
        return ops.relu(state) if layer.inner_relu else state

    return ops.fori_loop(0, width if layer.skip == "gated" else layer.cycles, cycle, value)


_KINDS: dict[str, Callable] = {"conv": _conv, "recurrent_conv": _recurrent_conv, "dense": _dense}
_ACTIVATIONS: dict[str, Callable] = {"relu": ops.relu, "tanh": ops.tanh, "linear": lambda value: value}
