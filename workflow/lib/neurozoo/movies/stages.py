"""The stages of a wide movie, from the observation to the last hidden layer: how large each is drawn.

Each stage can be drawn in several ways, such as 32 maps in 4 columns with 2 pixels per value. We choose one for each
stage so that all fit side by side and the sum of the logarithms of their scales is largest: no stage is tiny.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord
from neurozoo.environments.observations import ObservationShape
from neurozoo.movies.activations import is_signed

Scale = Literal["grey", "colour", "sequential", "diverging"]
SCALES = (0.125, 0.25, 1 / 3, 0.5, 1, 1.5, 2, 2.5, *range(3, 25))  # pixels per value of a map
MAP_SIDE, PLANE_SIDE, CELL = 66, 150, 9  # pixels of a map, of an observation and of a unit, beyond which none is needed
FEW = 24  # a layer of at most this many units is one column of large cells
LARGE_CELL = 34


@dataclass(frozen=True)
class Block:
    """A rectangle that shows one array.

    Attributes:
        array: Index of the array among those of a step: the observation, the layers, the cells of a memory.
        source: int32, shape (height, width), or (height, width, 3) for a picture in colour: index into the flattened
            array; -1 in gaps.
        scale: How values become colours.
    """

    array: int
    source: np.ndarray
    scale: Scale


@dataclass(frozen=True)
class Form:
    """One way to draw a stage: `width` and `height` in pixels, and `merit`, the logarithm of its scale."""

    width: int
    height: int
    merit: float
    draw: Callable[[], tuple[Block, ...]]


@dataclass(frozen=True)
class Stage:
    """A layer, or the observation, before its form is chosen.

    Attributes:
        name: `observation`, or the layer's name.
        title: Text above it.
        note: Smaller text below the title.
        forms: The ways to draw it.
    """

    name: str
    title: str
    note: str
    forms: tuple[Form, ...]


def stages_of(frozen: FrozenModel, *, height: int, unit: float) -> list[Stage]:
    """Returns the observation and the hidden layers with all forms that fit into a height.

    Args:
        frozen: The agent.
        height: Pixels.
        unit: Pixels of the movie per pixel of one with 720 rows.
    """
    stages = [_observation(frozen.shape, height=height, unit=unit)]
    memories = len(frozen.layers) + 1  # index of the first array of the memory, in a step's arrays
    for number, layer in enumerate(frozen.layers[:-1], 1):
        cells = memories + 1 if layer.kind == "lstm" and len(frozen.state_shapes) > 1 else None
        stages.append(_layer(layer, number, cells=cells, height=height, unit=unit))
    return stages


def choose_forms(stages: Sequence[Stage], widths: Sequence[int], *, width: int) -> list[Form]:
    """Chooses a form for each stage.

    Args:
        stages: The stages.
        widths: Least width of each stage, that of its text.
        width: Pixels that all stages may take together.

    Returns:
        The forms with the largest sum of merits that fit; the narrowest ones if none do.
    """
    best: dict[int, tuple[float, tuple[Form, ...]]] = {0: (0.0, ())}  # by the width taken so far
    for stage, least in zip(stages, widths, strict=True):
        longer: dict[int, tuple[float, tuple[Form, ...]]] = {}
        for taken, (merit, forms) in best.items():
            for form in stage.forms:
                total, sum_of_merits = taken + max(least, form.width), merit + form.merit
                if total <= width and (total not in longer or longer[total][0] < sum_of_merits):
                    longer[total] = (sum_of_merits, (*forms, form))
        best = longer
    if not best:
        return [min(stage.forms, key=lambda form: (form.width, -form.merit)) for stage in stages]
    return list(max(best.items(), key=lambda entry: (round(entry[1][0], 6), -entry[0]))[1][1])


def _observation(shape: ObservationShape, *, height: int, unit: float) -> Stage:
    rows, columns, channels = shape.observation
    if rows == columns == 1:
        forms = _unit_forms(channels, [(0, "diverging")], height=height, unit=unit)
        return Stage("observation", "observation", _counted(channels, "number"), tuple(forms))
    if shape.is_in_colour:
        plane = _map_forms((rows, columns, 1), 0, "colour", height=height, unit=unit, most=PLANE_SIDE)
        forms = map(_in_colour, plane)
        return Stage("observation", "observation", f"{rows}×{columns}, colour", tuple(forms))
    note = f"last {shape.stack} frames" if shape.stack > 1 else f"{channels} planes {rows}×{columns}"
    forms = _map_forms(shape.observation, 0, "grey", height=height, unit=unit, most=PLANE_SIDE)
    return Stage("observation", "observation", note, tuple(map(_less, forms)))


def _less(form: Form) -> Form:
    """Makes the size of a stage matter less: the observation is beside the game, which shows the same."""
    return replace(form, merit=form.merit / 2)


def _layer(layer: LayerRecord, number: int, *, cells: int | None, height: int, unit: float) -> Stage:
    scale: Scale = "diverging" if is_signed(layer) else "sequential"
    if len(layer.shape) == 1:
        arrays: list[tuple[int, Scale]] = [(number, scale)]
        note = _counted(layer.shape[0], "unit")
        if cells is not None:
            arrays.append((cells, "diverging"))
            note = f"{layer.shape[0]} outputs, cells"
        forms = _unit_forms(layer.shape[0], arrays, height=height, unit=unit)
        return Stage(layer.name, layer.name.upper() if layer.kind == "lstm" else layer.name, note, tuple(forms))
    rows, columns, channels = layer.shape
    cycles = f", {layer.cycles}×" if layer.kind == "recurrent_conv" else ""
    forms = _map_forms((rows, columns, channels), number, scale, height=height, unit=unit, most=MAP_SIDE)
    return Stage(layer.name, layer.name, f"{channels} maps {rows}×{columns}{cycles}", tuple(forms))


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _map_forms(
    shape: tuple[int, int, int], array: int, scale: Scale, *, height: int, unit: float, most: int
) -> Iterator[Form]:
    """Yields the arrangements of maps in columns, each with the largest scale that fits into the height."""
    rows, columns, channels = shape
    gap = max(1, round(1.5 * unit))
    limit = max(most * unit / max(rows, columns), SCALES[0])
    for across in range(1, min(channels, 16) + 1):
        down = -(-channels // across)
        if -(-channels // down) < across:
            continue  # the last column would be empty
        for times in SCALES:
            sides = tuple(max(1, round(times * side)) for side in (rows, columns))
            total = down * (sides[0] + gap) - gap, across * (sides[1] + gap) - gap
            if total[0] > height or times > limit:
                break

            def draw(across: int = across, down: int = down, sides: tuple[int, ...] = sides) -> tuple[Block, ...]:
                row, y = _cells(down, values=rows, length=sides[0], gap=gap)
                column, x = _cells(across, values=columns, length=sides[1], gap=gap)
                channel = row[:, None] * across + column
                source = (y[:, None] * columns + x) * channels + channel
                is_gap = (y[:, None] < 0) | (x < 0) | (channel >= channels)
                return (Block(array, np.where(is_gap, -1, source).astype(np.int32), scale),)

            yield Form(total[1], total[0], float(np.log(times)), draw)


def _in_colour(form: Form) -> Form:
    def draw() -> tuple[Block, ...]:
        (block,) = form.draw()
        source = np.where(block.source[..., None] < 0, -1, block.source[..., None] * 3 + np.arange(3))
        return (replace(block, source=source.astype(np.int32)),)

    return replace(form, draw=draw)


def _unit_forms(units: int, arrays: Sequence[tuple[int, Scale]], *, height: int, unit: float) -> Iterator[Form]:
    """Yields grids of square cells; several arrays, such as the output and the cells of an LSTM, lie side by side."""
    columns = [1] if units <= FEW else [4, 8, 16, 32, 64]
    for across in columns:
        down = -(-units // across)
        most = round((LARGE_CELL if units <= FEW else CELL) * unit)
        for pitch in range(2, most + 1):
            gap = 1 if pitch < 8 * unit else max(1, round(2 * unit))
            total = across * pitch - gap, down * pitch - gap
            if total[1] > height:
                break
            between = round(10 * unit) * (len(arrays) - 1)

            def draw(across: int = across, down: int = down, pitch: int = pitch, gap: int = gap) -> tuple[Block, ...]:
                row, y = _cells(down, values=1, length=pitch - gap, gap=gap)
                column, x = _cells(across, values=1, length=pitch - gap, gap=gap)
                source = row[:, None] * across + column
                is_gap = (y[:, None] < 0) | (x < 0) | (source >= units)
                source = np.where(is_gap, -1, source).astype(np.int32)
                return tuple(Block(array, source, scale) for array, scale in arrays)

            yield Form(len(arrays) * total[0] + between, total[1], float(np.log(pitch / 4)), draw)


def _cells(count: int, *, values: int, length: int, gap: int) -> tuple[np.ndarray, np.ndarray]:
    """Divides an axis into cells of `length` pixels with gaps between them.

    Returns:
        For each pixel, its cell, and the index in 0 ... `values` - 1 of the value that it shows; -1 in gaps.
    """
    cell, inside = np.divmod(np.arange(count * (length + gap) - gap), length + gap)
    return cell, np.where(inside >= length, -1, inside * values // length)
