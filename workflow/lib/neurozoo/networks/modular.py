"""The modular agent of the river crossing task: a decision network, a landscape of its desires, and a climber.

`decision` sets how much the agent desires each kind of object, `landscape` spreads the desires over the map, and
`climb` walks uphill. They compute maps of three channels: desires (after `landscape`: heights), where the agent would
use its hands if it stepped there, and where it stands. The same in C++, to the bit: native/core/modular.cc.

Deviations from the published code: numbers are float32; an evolved landscape starts flat, and not as the last one
ended; and an agent that no step leads uphill stays until its time is over, where the published one often gives up.

Sources: Robinson, Ellis and Channon 2007, ECAL, pp. 345-354; Jolley and Channon 2018, doi:10.1162/isal_a_00099, and
github.com/WatchJolley/rivercrossing.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from neurozoo.networks.layers import PlacedLayer

DESIRED = np.float32(0.3)  # outputs beyond count as 1 or -1, if the agent sees objects
HANDS = np.float32(0.1)  # outputs from here on use the hands: > 0 picks up, < 0 puts down
HIGHEST = np.float32(15)
STEPS = ((0, 0), (-1, 1), (0, 1), (1, 1), (-1, 0), (1, 0), (-1, -1), (0, -1), (1, -1))  # (columns, rows) by action
RING = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32) / 8  # the kernel of the shunting model
KINDS = 5  # of cells: grass, resource, stone, water, trap
# As published, black grass is coded as -1 before the division.
COLOURS = np.array([(-1, -1, -1), (255, 255, 0), (128, 128, 128), (0, 128, 255), (255, 0, 0)], np.float32) / 255

Own = Mapping[str, np.ndarray]  # the weights of a layer by name


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


def landscape_cycles(desires: np.ndarray, kernel: np.ndarray | None, *, cycles: int) -> list[np.ndarray]:
    """Spreads desires over the map, so that every step uphill leads towards desired cells.

    Args:
        desires: float32, (height, width).
        kernel: float32, (3, 3); None for the shunting model, where 1/8 of each neighbour counts and cells with a desire
            of -1 stay there.
        cycles: Their number.

    Returns:
        The heights after each cycle h <- min(desires + kernel * max(h, 0), 15) from h = 0: float32, (height, width).
    """
    height, width = desires.shape
    found = [desires]  # what the first cycle makes of heights of 0
    for _ in range(cycles - 1):
        positive = np.pad(np.maximum(found[-1], np.float32(0)), 1)
        heights = None
        for row, weights in enumerate(RING if kernel is None else kernel):
            for column, weight in enumerate(weights):
                product = positive[row : row + height, column : column + width] * weight
                heights = product if heights is None else heights + product
        heights = np.minimum(heights + desires, HIGHEST)
        found.append(np.where(desires == -1, np.float32(-1), heights) if kernel is None else heights)
    return found


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


# ---- Keras

Step = Callable[[Any], Any]  # from tensors to tensors


def steps_of(placed: PlacedLayer, own: Mapping[str, Any]) -> list[Step]:
    """Returns the layers of the decision network, the convolution of a landscape, or the choice of a climb.

    Args:
        placed: The layer.
        own: Its weights as tensors.
    """
    from keras import ops

    computes: dict[str, Callable[[Any, Any], Any]] = {
        "decision": lambda weights, rows: ops.tanh(ops.matmul(rows, weights)),
        "landscape": lambda weights, heights: ops.conv(heights, weights[:, :, None, None], padding="same"),
        "climb": lambda weights, best: ops.matmul(best, weights),
    }
    return [partial(computes[placed.layer.kind], weights) for weights in own.values()]


def modular_tensors(
    placed: PlacedLayer, value: Any, steps: Sequence[Step], *, name_cycle: Callable[[Any, int], Any] | None = None
) -> Any:
    """Computes one of the layers with `keras.ops`.

    Args:
        placed: The layer.
        value: Its input, with a batch as first axis.
        steps: What has weights, see `steps_of`; or Keras layers in its place.
        name_cycle: Names the heights after a cycle of a landscape, (batch, height, width, 1), and returns them.
    """
    layer = placed.layer
    if layer.kind == "decision":
        return _decide_tensors(value, steps, sees=layer.sees)
    step = steps[0] if steps else None
    if layer.kind == "landscape":
        return _spread_tensors(value, step, cycles=layer.cycles, named=name_cycle or (lambda heights, _: heights))
    return _climb_tensors(value, step)


def _decide_tensors(observation: Any, denses: Sequence[Step], *, sees: str) -> Any:
    from keras import ops

    height, width = observation.shape[1:3]
    cells, carrying, free = ops.split(observation, (4, 5), axis=-1)
    agent = carrying + free
    carries = ops.sum(carrying, axis=(1, 2))  # (batch, 1)
    kinds = ops.concatenate([1.0 - ops.sum(cells, axis=-1, keepdims=True), cells], axis=-1)
    codes = np.eye(KINDS, dtype=np.float32) if sees == "objects" else COLOURS
    none = ops.expand_dims(carries * 0.0, -1)  # (batch, 1, 1)
    rows = ops.concatenate(
        [none + codes[None], none + ops.expand_dims(carries, -1) * np.ones((1, KINDS, 1), np.float32)], -1
    )
    for dense in denses:
        rows = dense(rows)
    if sees == "objects":
        rows = ops.cast(rows > 0.3, "float32") - ops.cast(rows < -0.3, "float32")
        under = ops.expand_dims(ops.sum(kinds * agent, axis=(1, 2)), -1)  # (batch, kinds, 1)
        desires = ops.sum(rows * under, axis=1)  # (batch, kinds); the first is that of the hands
    else:
        desires = ops.squeeze(ops.split(rows, 2, axis=-1)[1], -1)
    desires = desires * np.array([0, 1, 1, 1, 1], np.float32)
    wanted = ops.squeeze(ops.split(rows, (1,), axis=-1)[0], -1)
    picks_up = ops.cast(wanted >= HANDS, "float32") * (1.0 - carries) * np.array([0, 0, 1, 0, 0], np.float32)
    puts_down = ops.cast(wanted <= -HANDS, "float32") * carries * np.array([0, 0, 0, 1, 0], np.float32)
    table = ops.stack([desires, picks_up + puts_down], axis=-1)  # (batch, kinds, 2)
    values = ops.reshape(ops.matmul(ops.reshape(kinds, (-1, height * width, KINDS)), table), (-1, height, width, 2))
    return ops.concatenate([values, agent], axis=-1)


def _spread_tensors(value: Any, convolve: Step | None, *, cycles: int, named: Callable[[Any, int], Any]) -> Any:
    from keras import ops

    desires, rest = ops.split(value, (1,), axis=-1)
    feared = ops.cast(desires <= -1.0, "float32")
    heights = named(desires, 1)
    for cycle in range(2, cycles + 1):
        positive = ops.relu(heights)
        if convolve is None:
            around = ops.conv(positive, RING[:, :, None, None], padding="same")
            heights = ops.minimum(around + desires, 15.0) * (1.0 - feared) - feared
        else:
            heights = ops.minimum(convolve(positive) + desires, 15.0)
        heights = named(heights, cycle)
    return ops.concatenate([heights, rest], axis=-1)


def _climb_tensors(value: Any, choose: Step | None) -> Any:
    from keras import ops

    height, width = value.shape[1:3]
    heights, hands, agent = ops.split(value, 3, axis=-1)
    inside = agent * 0.0 + 1.0
    padded = ops.pad(ops.concatenate([heights, hands, inside], axis=-1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    seen = []
    for columns, rows in STEPS:
        shifted = padded[:, 1 + rows : 1 + rows + height, 1 + columns : 1 + columns + width]
        seen.append(ops.sum(shifted * agent, axis=(1, 2)))  # (batch, 3)
    around, uses_hands, possible = (ops.squeeze(each, -1) for each in ops.split(ops.stack(seen, axis=1), 3, axis=-1))
    if choose is None:
        scores = around - around[:, :1]
    else:
        best = ops.one_hot(ops.argmax(around[:, 1:], axis=-1), len(STEPS) - 1)
        scores = ops.pad(choose(best), ((0, 0), (1, 0)))
        possible = possible * 0.0 + np.array([0, *[1] * 8], np.float32)
    lowest = ops.minimum(ops.min(scores * possible, axis=-1, keepdims=True), 0.0) - 1.0
    plain, handy = possible * (1.0 - uses_hands), possible * uses_hands
    return ops.concatenate([scores * kept + lowest * (1.0 - kept) for kept in (plain, handy)], axis=-1)
