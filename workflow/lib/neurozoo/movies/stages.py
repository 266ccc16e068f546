"""The stages of a wide movie, from the observation to the last hidden layer: how large each is drawn.

Each stage can be drawn in several ways, such as 32 maps in 4 columns with 2 pixels per value. We choose one for each
stage so that all fit side by side and the sum of the logarithms of their scales is largest: no stage is tiny.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord
from neurozoo.environments.observations import ObservationShape
from neurozoo.movies.activations import is_signed
from neurozoo.movies.classic_frame import in_colour, value_grid

Scale = Literal["grey", "colour", "sequential", "diverging"]  # how values become colours
SCALES = (0.125, 0.25, 1 / 3, 0.5, 1, 1.5, 2, 2.5, *range(3, 25))  # pixels per value of a map
MAP_SIDE, PLANE_SIDE, CELL = 66, 150, 9  # pixels of a map, of an observation and of a unit, beyond which none is needed
FEW = 24  # a layer of at most this many units is one column of large cells
LARGE_CELL = 34
BETWEEN = 10  # pixels between the arrays of a stage


@dataclass(frozen=True)
class Form:
    """One way to draw an array: `columns` of maps or units of `sides` (height, width) pixels with gaps between them.

    `width` and `height` are those of the whole stage, and `merit` is the logarithm of the scale.
    """

    columns: int
    sides: tuple[int, int]
    gap: int
    width: int
    height: int
    merit: float


@dataclass(frozen=True)
class Stage:
    """A layer, or the observation, with a title and a smaller note, before its form is chosen."""

    name: str  # `observation`, or the layer's name
    title: str
    note: str
    shape: tuple[int, int, int]  # (rows, columns, channels) of its arrays; (1, 1, units) for units
    # Indices of its arrays among those of a step (the observation, the layers, the cells of a memory), which lie side
    # by side, and their scales.
    arrays: tuple[tuple[int, Scale], ...]
    forms: tuple[Form, ...]  # the ways to draw it

    def source(self, form: Form) -> np.ndarray:
        """Says for each pixel which value of an array it shows, see `value_grid`."""
        grid = value_grid(self.shape, columns=form.columns, sides=form.sides, gap=form.gap)
        return in_colour(grid) if self.arrays[0][1] == "colour" else grid


def stages_of(frozen: FrozenModel, *, height: int, unit: float) -> list[Stage]:
    """Returns the observation and the hidden layers with all forms that fit into a height in pixels.

    `unit` is the number of pixels of the movie per pixel of one with 720 rows.
    """
    stages = [_observation(frozen.shape, height=height, unit=unit)]
    memories = len(frozen.layers) + 1  # index of the first array of the memory, in a step's arrays
    for number, layer in enumerate(frozen.layers[:-1], 1):
        cells = memories + 1 if layer.kind == "lstm" and len(frozen.state_shapes) > 1 else None
        stages.append(_layer(layer, number, cells=cells, height=height, unit=unit))
    return stages


def choose_forms(stages: Sequence[Stage], widths: Sequence[int], *, width: int) -> list[Form]:
    """Chooses a form for each stage: the largest sum of merits that fits; the narrowest ones if none fits.

    `widths` are the least widths of the stages, those of their texts, and `width` is what all may take together.
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
    rows, columns, channels = whole = shape.observation
    scale: Scale
    if rows == columns == 1:
        note, scale, forms = _counted(channels, "number"), "diverging", _unit_forms(channels, 1, height, unit)
    elif shape.is_in_colour:
        note, scale, whole = f"{rows}×{columns}, colour", "colour", (rows, columns, 1)
        forms = _map_forms(whole, height, unit, most=PLANE_SIDE)
    else:
        note = f"last {shape.stack} frames" if shape.stack > 1 else f"{channels} planes {rows}×{columns}"
        # Its size matters less: the observation is beside the game, which shows the same.
        scale, forms = "grey", _map_forms(whole, height, unit, most=PLANE_SIDE, weight=0.5)
    return Stage("observation", "observation", note, whole, ((0, scale),), tuple(forms))


def _layer(layer: LayerRecord, number: int, *, cells: int | None, height: int, unit: float) -> Stage:
    arrays: list[tuple[int, Scale]] = [(number, "diverging" if is_signed(layer) else "sequential")]
    title = layer.name.upper() if layer.kind == "lstm" else layer.name
    if len(layer.shape) == 1:
        (units,) = layer.shape
        note = _counted(units, "unit")
        if cells is not None:
            arrays.append((cells, "diverging"))
            note = f"{units} outputs, cells"
        forms = _unit_forms(units, len(arrays), height, unit)
        return Stage(layer.name, title, note, (1, 1, units), tuple(arrays), tuple(forms))
    rows, columns, channels = layer.shape
    cycles = f", {layer.cycles}×" if layer.kind in ("recurrent_conv", "landscape") else ""
    forms = _map_forms((rows, columns, channels), height, unit, most=MAP_SIDE)
    note = f"{channels} maps {rows}×{columns}{cycles}"
    return Stage(layer.name, title, note, (rows, columns, channels), tuple(arrays), tuple(forms))


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _map_forms(
    shape: tuple[int, int, int], height: int, unit: float, *, most: int, weight: float = 1.0
) -> Iterator[Form]:
    """Yields the arrangements of maps in columns, with all scales that fit into the height."""
    rows, columns, channels = shape
    gap = max(1, round(1.5 * unit))
    limit = max(most * unit / max(rows, columns), SCALES[0])
    for across in range(1, min(channels, 16) + 1):
        down = -(-channels // across)
        if -(-channels // down) < across:
            continue  # the last column would be empty
        for times in SCALES:
            high, wide = max(1, round(times * rows)), max(1, round(times * columns))
            total = down * (high + gap) - gap
            if total > height or times > limit:
                break
            yield Form(across, (high, wide), gap, across * (wide + gap) - gap, total, float(np.log(times)) * weight)


def _unit_forms(units: int, arrays: int, height: int, unit: float) -> Iterator[Form]:
    """Yields grids of square cells for one or several arrays of units."""
    for across in [1] if units <= FEW else [4, 8, 16, 32, 64]:
        down = -(-units // across)
        for pitch in range(2, round((LARGE_CELL if units <= FEW else CELL) * unit) + 1):
            gap = 1 if pitch < 8 * unit else max(1, round(2 * unit))
            if down * pitch - gap > height:
                break
            width = arrays * (across * pitch - gap) + (arrays - 1) * round(BETWEEN * unit)
            side = pitch - gap
            yield Form(across, (side, side), gap, width, down * pitch - gap, float(np.log(pitch / 4)))
