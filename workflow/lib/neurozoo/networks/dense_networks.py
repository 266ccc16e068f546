"""Networks of dense layers in NumPy, for what the op does not play."""

from collections.abc import Callable

import numpy as np

from neurozoo.networks.description import Layout

_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda value: np.maximum(value, 0),
    "linear": lambda value: value,
    "tanh": np.tanh,
}


def dense_network(layout: Layout, theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function from observations to outputs.

    Args:
        layout: The network, of dense layers only.
        theta: float32, shape (parameters,).

    Returns:
        A function from float32, shape (..., inputs), to float32, shape (..., outputs). The outputs of an observation
        do not depend on the others.
    """
    arrays = layout.split(theta)
    layers = [
        (arrays[f"{placed.layer.name}/w"], arrays[f"{placed.layer.name}/b"], _ACTIVATIONS[placed.layer.activation])
        for placed in layout.layers
    ]

    def run(observations: np.ndarray) -> np.ndarray:
        value = observations[..., None, :]  # rows of their own: the sums of a larger product depend on its size
        for weights, bias, activation in layers:
            value = activation(value @ weights + bias)
        return value[..., 0, :]

    return run
