"""The modular agent in NumPy, with the bits of the native core: a slow twin."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from neurozoo.networks.chains import Layout
from neurozoo.networks.layers import PlacedLayer
from neurozoo.networks.modular import COLOURS, HANDS, KINDS, STEPS, landscape_cycles

DESIRED = np.float32(0.3)
Own = Mapping[str, np.ndarray]  # the weights of a layer by name


def modular_network(layout: Layout, theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function from one observation of objects, float32, (height, width, 6), to 18 scores."""
    arrays = layout.split(theta)

    def run(observation: np.ndarray) -> np.ndarray:
        value = observation
        for placed in layout.layers:
            value = run_modular(placed, value, {part: arrays[f"{placed.layer.name}/{part}"] for part in placed.shapes})
        return value

    return run


def run_modular(placed: PlacedLayer, value: np.ndarray, own: Own) -> np.ndarray:
    """Computes one of the layers in NumPy, with the bits of the native core.

    Args:
        placed: The layer.
        value: Its input, float32: an observation of objects (height, width, 6) or a map (height, width, 3).
        own: Its weights.

    Returns:
        float32: a map, or the scores of the 18 actions.
    """
    if placed.layer.kind == "decision":
        return _decide(placed, value, own)
    if placed.layer.kind == "landscape":
        *_, heights = landscape_cycles(value[..., 0], own.get("w"), cycles=placed.layer.cycles)
        return np.concatenate([heights[..., None], value[..., 1:]], axis=-1)
    return _climb(value, own.get("w"))


def _decide(placed: PlacedLayer, observation: np.ndarray, own: Own) -> np.ndarray:
    agents = observation[..., 4] + observation[..., 5] > 0.5
    place = np.unravel_index(agents.argmax(), agents.shape)
    carries = bool(agents.any() and observation[place][4] > 0.5)
    seen = np.concatenate([np.full((*agents.shape, 1), 0.5), observation[..., :4]], axis=-1) > 0.5
    kinds = seen.argmax(axis=-1)  # grass, 0, if none is there
    sees_objects = placed.layer.sees == "objects"
    outputs = []
    for kind in range(KINDS):
        values = [*(float(kind == other) for other in range(KINDS))] if sees_objects else COLOURS[kind].tolist()
        values.append(float(carries))
        for weights in own.values():
            values = _tanh_units(values, weights)
        outputs.append(np.array(values, np.float32))
    if sees_objects:
        outputs = [(output > DESIRED).astype(np.float32) - (output < -DESIRED) for output in outputs]
        desires = outputs[kinds[place]].copy()
        desires[0] = 0
    else:
        desires = np.array([0, *(output[1] for output in outputs[1:])], np.float32)
    picks_up, puts_down = not carries and outputs[2][0] >= HANDS, carries and outputs[3][0] <= -HANDS
    hands = np.array([0, 0, picks_up, puts_down, 0], np.float32)
    is_agent = np.zeros(agents.shape, np.float32)
    is_agent[place] = agents.any()
    return np.stack([desires[kinds], hands[kinds], is_agent], axis=-1)


def _tanh_units(inputs: list[float], weights: np.ndarray) -> list[float]:
    """Computes a dense layer in double precision, with the `tanh` of the C library, as the core does."""
    sums = [0.0] * weights.shape[1]
    for value, row in zip(inputs, weights.tolist(), strict=True):
        sums = [total + value * weight for total, weight in zip(sums, row, strict=True)]
    return [math.tanh(total) for total in sums]


def _climb(value: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    row, column = np.unravel_index((value[..., 2] > 0.5).argmax(), value.shape[:2])
    padded = np.pad(value, ((1, 1), (1, 1), (0, 0)))
    around = np.stack([padded[row + 1 + rows, column + 1 + columns] for columns, rows in STEPS])
    inside = np.pad(np.ones(value.shape[:2], bool), 1)
    possible = np.array([inside[row + 1 + rows, column + 1 + columns] for columns, rows in STEPS])
    scores = around[:, 0] - around[0, 0]
    if weights is not None:
        scores[1:] = weights[around[1:, 0].argmax()]
        possible = np.arange(len(STEPS)) > 0  # the agent never stays, and may leave the grid
    lowest = min(np.float32(0), scores[possible].min()) - np.float32(1)
    hands = around[:, 1] > 0.5
    return np.concatenate([np.where(possible & ready, scores, lowest) for ready in (~hands, hands)])


def crossing_weights() -> np.ndarray:
    """Returns weights of `modular` that cross rivers: the agent wants stones while its hands are free."""
    first, second = np.zeros((6, 4), np.float32), np.zeros((4, 5), np.float32)
    first[:5, 0] = 9  # this unit is always on
    first[5, 1] = 9  # and this one with a stone
    second[0] = 1, 9, 9, -9, -9  # hands, resource, stone, water, trap
    second[1] = -2, 0, -9, 9, 0  # with a stone, water does not matter
    return np.concatenate([first.ravel(), second.ravel()])
