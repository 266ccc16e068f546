"""The weights that a Q-network learns: their names, shapes and first values."""

import numpy as np

from neurozoo.networks.chains import Layout

HEADS = {"advantages": None, "value": 1}  # of a dueling network, which stand for its last layer; their units

Names = dict[str, tuple[int, ...]]  # shapes by names such as `conv1/w`


def trained_shapes(layout: Layout, *, is_dueling: bool) -> Names:
    """Returns the shapes of the arrays that are learned, in the order of Keras: `conv1/w`, ..., `advantages/w`, ..."""
    if not is_dueling:
        return layout.shapes
    last = layout.layers[-1]
    shapes = {name: shape for name, shape in layout.shapes.items() if not name.startswith(f"{last.layer.name}/")}
    for head, units in HEADS.items():
        count = units or layout.num_actions
        parts = {"w": (last.in_shape[2] // 2, count), "b": (count,)}
        shapes |= {f"{head}/{part}": parts[part] for part in last.layer.parts}
    return shapes


def initial_weights(shape: tuple[int, ...], rule: str, random: np.random.Generator) -> np.ndarray:
    """Draws the first values of an array by `initialisation` of the settings: float32; biases are 0."""
    fan_in, field = int(np.prod(shape[:-1])), int(np.prod(shape[:-2]))
    if len(shape) == 1:
        return np.zeros(shape, np.float32)
    if rule == "gaussian":
        return (0.01 * random.standard_normal(shape)).astype(np.float32)
    if rule == "glorot_uniform":
        bound = np.sqrt(6 / (fan_in + field * shape[-1]))
    else:
        bound = np.sqrt({"torch": 1, "fan_in_uniform": 3, "he_uniform": 6}[rule] / fan_in)
    return random.uniform(-bound, bound, shape).astype(np.float32)
