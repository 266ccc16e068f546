"""Networks of dense layers and convolutions in NumPy, for what the core does not play."""

from collections.abc import Callable, Mapping

import numpy as np

from neurozoo.networks.chains import Layout, Network
from neurozoo.networks.layers import Layer, PlacedLayer

_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda value: np.maximum(value, 0),
    "linear": lambda value: value,
    "tanh": np.tanh,
}


def dense_network(layout: Layout, theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function from observations, float32, shape (..., inputs), to outputs, float32, shape (..., outputs).

    The outputs of an observation do not depend on the others. The network has dense layers only, not normalised.
    """
    arrays = layout.split(theta)

    def run(observations: np.ndarray) -> np.ndarray:
        value = observations[..., None, :]  # rows of their own: the sums of a larger product depend on its size
        for placed in layout.layers:
            value = _finished(value @ arrays[f"{placed.layer.name}/w"], placed.layer, arrays)
        return value[..., 0, :]

    return run


def is_plain(network: Network) -> bool:
    """Returns whether `plain_network` computes a network: convolutions and dense layers that are not normalised."""
    return all(layer.kind in ("conv", "dense") and layer.normalisation is None for layer in network.layers)


def plain_network(layout: Layout, theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function from one observation to outputs, for a network that `is_plain`.

    Sums have another order than in the core. Observations are float32, shape (height, width, channels), and outputs
    float32, shape (outputs,).
    """
    arrays = layout.split(theta)

    def run(observation: np.ndarray) -> np.ndarray:
        value = observation
        for placed in layout.layers:
            layer = placed.layer
            rows = value.reshape(1, -1) if layer.kind == "dense" else _patches(value, placed)
            weights = arrays[f"{layer.name}/w"].reshape(rows.shape[-1], -1)
            value = _finished(rows @ weights, layer, arrays).reshape(placed.out_shape)
        return value.reshape(-1)

    return run


def _finished(sums: np.ndarray, layer: Layer, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Returns what a layer makes of its weighted sums: bias, gain and activation."""
    value = sums + arrays[f"{layer.name}/b"] if layer.has_bias else sums
    return _ACTIVATIONS[layer.activation](value if layer.gain == 1 else value * np.float32(layer.gain))


def _patches(value: np.ndarray, placed: PlacedLayer) -> np.ndarray:
    """Returns what a convolution sees at each position: shape (positions, kernel * kernel * channels)."""
    layer = placed.layer
    padding = [
        _padding((out - 1) * layer.stride + layer.kernel - size) if layer.padding == "same" else (0, 0)
        for out, size in zip(placed.out_shape[:2], value.shape[:2], strict=True)
    ]
    padded = np.pad(value, (*padding, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (layer.kernel, layer.kernel), axis=(0, 1))
    height, width, _ = placed.out_shape
    seen = windows[:: layer.stride, :: layer.stride][:height, :width].transpose(0, 1, 3, 4, 2)
    return seen.reshape(height * width, -1)


def _padding(missing: int) -> tuple[int, int]:
    """Returns zeros before and after, of which an odd one goes to the end."""
    return max(missing, 0) // 2, max(missing, 0) - max(missing, 0) // 2
