"""The modular agent of the river crossing task: a decision network, a landscape of its desires, and a climber.

`decision` sets how much the agent desires each kind of object, `landscape` spreads the desires over the map, and
`climb` walks uphill. They compute maps of three channels: desires (after `landscape`: heights), where the agent would
use its hands if it stepped there, and where it stands. The same in C++: native/core/modular.cc.

Deviations from the published code: numbers are float32; an evolved landscape starts flat, and not as the last one
ended; and an agent that no step leads uphill stays until its time is over, where the published one often gives up.

Sources: Robinson, Ellis and Channon 2007, ECAL, pp. 345-354; Jolley and Channon 2018, doi:10.1162/isal_a_00099, and
github.com/WatchJolley/rivercrossing.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from neurozoo.networks.layers import PlacedLayer

DESIRED = 0.3  # outputs beyond count as 1 or -1, if the agent sees objects
HANDS = np.float32(0.1)  # outputs from here on use the hands: > 0 picks up, < 0 puts down
HIGHEST = np.float32(15)
STEPS = ((0, 0), (-1, 1), (0, 1), (1, 1), (-1, 0), (1, 0), (-1, -1), (0, -1), (1, -1))  # (columns, rows) by action
RING = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32) / 8  # the kernel of the shunting model
KINDS = 5  # of cells: grass, resource, stone, water, trap
# As published, black grass is coded as -1 before the division.
COLOURS = np.array([(-1, -1, -1), (255, 255, 0), (128, 128, 128), (0, 128, 255), (255, 0, 0)], np.float32) / 255


def landscape_cycles(desires: np.ndarray, kernel: np.ndarray | None, *, cycles: int) -> list[np.ndarray]:
    """Spreads desires over the map, so that every step uphill leads towards desired cells.

    Args:
        desires: float32, (..., height, width).
        kernel: float32, (3, 3); None for the shunting model, where 1/8 of each neighbour counts and cells with a desire
            of -1 stay there.
        cycles: Their number.

    Returns:
        The heights after each cycle h <- min(desires + kernel * max(h, 0), 15) from h = 0: float32, the same shape.
    """
    *several, height, width = desires.shape
    padding = [*([(0, 0)] * len(several)), (1, 1), (1, 1)]
    found = [desires]  # what the first cycle makes of heights of 0
    for _ in range(cycles - 1):
        positive = np.pad(np.maximum(found[-1], np.float32(0)), padding)
        heights = None
        for row, weights in enumerate(RING if kernel is None else kernel):
            for column, weight in enumerate(weights):
                product = positive[..., row : row + height, column : column + width] * weight
                heights = product if heights is None else heights + product
        heights = np.minimum(heights + desires, HIGHEST)
        found.append(np.where(desires == -1, np.float32(-1), heights) if kernel is None else heights)
    return found


Step = Callable[[Any], Any]  # from tensors to tensors


def steps_of(placed: PlacedLayer, own: Mapping[str, Any]) -> list[Step]:
    """Returns the layers of the decision network, the convolution of a landscape, or the choice of a climb.

    `own` are its weights as tensors.
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
    """Computes one of the layers with `keras.ops`; `value` has a batch as first axis.

    `steps` has weights, see `steps_of`, or is Keras layers. `name_cycle` names the heights after a cycle of a
    landscape, (batch, height, width, 1), and returns them.
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
        rows = ops.cast(rows > DESIRED, "float32") - ops.cast(rows < -DESIRED, "float32")
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
