"""What filters respond to: the parts of recorded observations that excite each most and least.

Source: `top_patches` of the Atari Zoo, Such et al. 2018, arXiv:1812.07069. Deviations: values are compared before the
rectifier, behind which every silent position is 0; the lowest patches are where a filter was lowest, not where it was
highest in its lowest steps; and steps next to each other, which show nearly the same, are not both taken.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.filters.layers import check_pictures, find_layer
from neurozoo.filters.pictures import Row, enlarged, fitting, newest_plane, side_by_side, write_sheet
from neurozoo.filters.receptive_fields import ReceptiveField, receptive_field
from neurozoo.filters.recordings import Recording, Survey, open_recording, survey
from neurozoo.games import brightest
from neurozoo.inspection.frozen import LayerRecord, open_frozen

KINDS = ("top", "bottom", "random")
CELL = 44  # pixels of a patch about
WIDTH = 1500  # pixels of a sheet at most


@dataclass(frozen=True)
class Patch:
    """A part of a recorded observation that a unit saw.

    Attributes:
        step: Of the recording.
        position: (row, column) of the unit in its map.
        corner: (row, column) of the patch's upper left pixel; outside of the observation where that is padded.
        value: What the unit made of it, before its activation function.
        pixels: float32, shape (height, width, channels); zeros beyond the observation's edge.
    """

    step: int
    position: tuple[int, int]
    corner: tuple[int, int]
    value: float
    pixels: np.ndarray


def check_channels(channels: Sequence[int], layer: LayerRecord) -> list[int]:
    """Returns channels (filters, or units of a dense layer) if the layer has them.

    Raises:
        NeurozooError: It has not.
    """
    known = layer.shape[-1]
    if wrong := [channel for channel in channels if not 0 <= channel < known]:
        raise NeurozooError(
            f"The layer {layer.name!r} has the channels 0 to {known - 1}, but {wrong[0]} was asked for."
        )
    return list(channels)


def distinct_steps(order: np.ndarray, count: int, distance: int) -> list[int]:
    """Takes the first steps of an order that are at least `distance` steps from each other, `count` at most."""
    chosen: list[int] = []
    for step in order.tolist():
        if all(abs(step - other) >= distance for other in chosen):
            chosen.append(step)
            if len(chosen) == count:
                break
    return chosen


def find_patches(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    *,
    layer: str,
    channels: Sequence[int] | None = None,
    count: int = 5,
    distance: int = 10,
    seed: int = 0,
) -> dict[int, dict[str, list[Patch]]]:
    """Finds the patches that excite filters most and least, and some others to compare with.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout of it.
        layer: Any layer. A unit of a dense layer sees whole observations.
        channels: Filters or units; None for all.
        count: Patches of each kind, fewer if the recording is too short.
        distance: Steps between two patches of a kind at least.
        seed: Of the random choice.

    Returns:
        By channel, then by kind: `top` (the highest value anywhere, highest first), `bottom` (the lowest value
        anywhere, lowest first) and `random` (steps at random, the highest value in each).

    Raises:
        NeurozooError: No such layer or channel, a number is out of range, or the rollout is another agent's.
    """
    if count < 1 or distance < 1 or seed < 0:
        raise NeurozooError(
            f"Patches have count >= 1, distance >= 1 and a seed >= 0, but {count}, {distance} and {seed} came."
        )
    frozen = open_frozen(frozen_folder)
    record = find_layer(frozen, layer)
    channels = check_channels(range(record.shape[-1]) if channels is None else channels, record)
    field = receptive_field(frozen, record)
    with open_recording(frozen, rollout) as recording:
        seen = survey(frozen, record, recording)
        generator = np.random.default_rng(seed)
        places = {
            (channel, kind): _places(seen, record, channel, steps, kind)
            for channel in channels
            for kind, steps in _steps(seen, channel, count, distance, generator).items()
        }
        return _cut(places, recording, field)


def _steps(seen: Survey, channel: int, count: int, distance: int, generator: np.random.Generator) -> dict:
    orders = {
        "top": np.argsort(-seen.largest[:, channel], kind="stable"),
        "bottom": np.argsort(seen.smallest[:, channel], kind="stable"),
        "random": generator.permutation(len(seen.largest)),
    }
    return {kind: distinct_steps(order, count, distance) for kind, order in orders.items()}


def _places(seen: Survey, record: LayerRecord, channel: int, steps: list[int], kind: str) -> list[tuple]:
    values, where = (seen.smallest, seen.where_smallest) if kind == "bottom" else (seen.largest, seen.where_largest)
    width = record.shape[1] if len(record.shape) == 3 else 1
    return [(step, divmod(int(where[step, channel]), width), float(values[step, channel])) for step in steps]


def _cut(places: dict, recording: Recording, field: ReceptiveField) -> dict[int, dict[str, list[Patch]]]:
    observations = {step for wanted in places.values() for step, _, _ in wanted}
    wanted_of: dict[int, list] = {step: [] for step in observations}
    for key, wanted in places.items():
        for rank, (step, position, value) in enumerate(wanted):
            wanted_of[step].append((key, rank, position, value))
    found = {channel: {kind: [] for kind in KINDS} for channel, _ in places}
    for (channel, kind), wanted in places.items():
        found[channel][kind] = [None] * len(wanted)
    for step, observation in recording.rows(observations):
        for (channel, kind), rank, position, value in wanted_of[step]:
            corner = field.corner(*position)
            pixels = cut_patch(observation, corner, field.size)
            found[channel][kind][rank] = Patch(step, position, corner, value, pixels)
    return found


def cut_patch(observation: np.ndarray, corner: tuple[int, int], size: tuple[int, int]) -> np.ndarray:
    """Cuts a rectangle out of an observation, with zeros where it reaches beyond: shape (*size, channels)."""
    patch = np.zeros((*size, observation.shape[-1]), observation.dtype)
    spans = []
    for start, length, whole in zip(corner, size, observation.shape[:2], strict=True):
        first, last = max(start, 0), min(start + length, whole)
        spans.append((slice(first - start, last - start), slice(first, last)))
    patch[spans[0][0], spans[1][0]] = observation[spans[0][1], spans[1][1]]
    return patch


def draw_patches(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    layer: str,
    channels: int | Sequence[int] = 16,
    count: int = 5,
    distance: int = 10,
    seed: int = 0,
) -> None:
    """Draws the newest frame of `find_patches`, a row per filter.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout of it.
        output: The `.png` to write.
        layer: Any layer.
        channels: Which filters or units, or how many of the first.
        count: See `find_patches`.
        distance: See `find_patches`.
        seed: See `find_patches`.

    Raises:
        NeurozooError: As `find_patches`, or the agent sees no pictures.
    """
    frozen = check_pictures(open_frozen(frozen_folder))
    record = find_layer(frozen, layer)
    shown = first_channels(channels, record)
    found = find_patches(frozen_folder, rollout, layer=layer, channels=shown, count=count, distance=distance, seed=seed)
    field, whole = receptive_field(frozen, record), frozen.shape.observation[:2]
    sees_all = field.covers(whole, record.shape[:2] if len(record.shape) == 3 else (1, 1))
    high = brightest(frozen.protocol)
    factor = fitting(max(whole if sees_all else field.size), CELL)
    rows = []
    for channel, kinds in found.items():
        ends = [kinds[kind][0].value for kind in ("top", "bottom")]
        cells = []
        for kind in KINDS:
            pictures = []
            for patch in kinds[kind]:
                pixels = (
                    cut_patch(patch.pixels, (-patch.corner[0], -patch.corner[1]), whole) if sees_all else patch.pixels
                )
                pictures.append(enlarged(newest_plane(pixels, frozen.shape, high=high), factor))
            cells.append(side_by_side(pictures))
        rows.append(Row(f"{channel}\n{ends[0]:+.2f}\n{ends[1]:+.2f}", cells))
    height, width = field.size
    seen = "the whole observation" if sees_all else f"{height} x {width} pixels, every {field.stride[0]}"
    block = sum(cell.shape[1] + 4 for cell in rows[0].cells) + 80
    write_sheet(
        output,
        title=f"{frozen.title}: patches for {layer}",
        note=(
            "A row per channel, with its number, its highest and its lowest value in the recording (before the "
            f"activation function). A unit sees {seen}; shown is the newest frame. Black is 0, white {high:g}, and "
            "black also what lies beyond the edge. Random: steps at random, where the channel was highest in each."
        ),
        headers=["highest", "lowest", "random"],
        rows=rows,
        blocks=max(1, min(WIDTH // block, len(rows) // 4 or 1)),
    )


def first_channels(channels: int | Sequence[int], layer: LayerRecord) -> list[int]:
    """Returns the channels to show: the first so many, or those that were named.

    Raises:
        NeurozooError: The layer has none of a named number, or a number is out of range.
    """
    if isinstance(channels, int):
        if channels < 1:
            raise NeurozooError(f"At least 1 channel can be shown, but {channels} came.")
        return list(range(min(channels, layer.shape[-1])))
    return check_channels(channels, layer)
