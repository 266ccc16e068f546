"""Patches: the parts of recorded observations that excite each filter most and least.

Source: `top_patches` of the Atari Zoo, Such et al. 2018, arXiv:1812.07069. Deviations: values are compared before the
ReLU, behind which every silent position is 0. The lowest patches show where a filter was lowest, not where it was
highest in its lowest steps. Steps next to each other show nearly the same, so only one of them is taken.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.frozen import LayerRecord, open_frozen
from neurozoo.environments.observations import brightest
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.layers import check_pictures, find_layer
from neurozoo.feature_visualization.pictures import Row, enlarged, fitting, newest_plane, side_by_side, write_sheet
from neurozoo.feature_visualization.receptive_fields import ReceptiveField, receptive_field
from neurozoo.feature_visualization.recordings import Recording, Survey, open_recording, survey

KINDS = ("top", "bottom", "random")
CELL = 44  # approximate size of a patch, in pixels
WIDTH = 1500  # maximum width of a sheet, in pixels


@dataclass(frozen=True)
class Patch:
    """The part of a recorded observation that one unit saw.

    Attributes:
        step: Step of the recording.
        position: (row, column) of the unit in its map.
        corner: (row, column) of the patch's upper left pixel; outside the observation if the patch begins in the
            padding.
        value: The unit's value, before its activation function.
        pixels: float32, shape (height, width, channels); zeros beyond the observation's edge.
    """

    step: int
    position: tuple[int, int]
    corner: tuple[int, int]
    value: float
    pixels: np.ndarray


def check_channels(channels: Sequence[int], layer: LayerRecord) -> list[int]:
    """Returns channels (filters, or units of a dense layer) as a list if the layer has them.

    Raises:
        NeurozooError: A channel does not exist.
    """
    known = layer.shape[-1]
    if wrong := [channel for channel in channels if not 0 <= channel < known]:
        raise NeurozooError(f"The layer {layer.name!r} has channels 0 to {known - 1}, but got {wrong[0]}.")
    return list(channels)


def distinct_steps(order: np.ndarray, count: int, distance: int) -> list[int]:
    """Takes the first steps of an order that are at least `distance` steps apart, at most `count` of them."""
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
    """Finds the patches that excite filters most and least, and random ones to compare with.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout of it.
        layer: Name of any layer. A unit of a dense layer sees whole observations.
        channels: Filters or units; None for all.
        count: Number of patches of each kind; fewer if the recording is too short.
        distance: Minimum number of steps between two patches of a kind.
        seed: Seed of the random patches.

    Returns:
        By channel, then by kind: `top` (the highest values, highest first), `bottom` (the lowest values, lowest first)
        and `random` (the highest value of random steps).

    Raises:
        NeurozooError: The layer or a channel does not exist, a number is out of range, or the rollout comes from
            another agent.
    """
    if count < 1 or distance < 1 or seed < 0:
        raise NeurozooError(
            f"Patches need count >= 1, distance >= 1 and seed >= 0, but got {count}, {distance} and {seed}."
        )
    frozen = open_frozen(frozen_folder)
    record = find_layer(frozen, layer)
    channels = check_channels(range(record.shape[-1]) if channels is None else channels, record)
    field = receptive_field(frozen, record)
    with open_recording(frozen, rollout) as recording:
        seen = survey(frozen, record, recording)
        generator = np.random.default_rng(seed)
        places = {
            (channel, kind): _locate(seen, record, channel, steps, kind)
            for channel in channels
            for kind, steps in _steps_by_kind(seen, channel, count, distance, generator).items()
        }
        return _cut_patches(places, recording, field)


def _steps_by_kind(seen: Survey, channel: int, count: int, distance: int, generator: np.random.Generator) -> dict:
    orders = {
        "top": np.argsort(-seen.largest[:, channel], kind="stable"),
        "bottom": np.argsort(seen.smallest[:, channel], kind="stable"),
        "random": generator.permutation(len(seen.largest)),
    }
    return {kind: distinct_steps(order, count, distance) for kind, order in orders.items()}


def _locate(seen: Survey, record: LayerRecord, channel: int, steps: list[int], kind: str) -> list[tuple]:
    values, where = (seen.smallest, seen.where_smallest) if kind == "bottom" else (seen.largest, seen.where_largest)
    width = record.shape[1] if len(record.shape) == 3 else 1
    return [(step, divmod(int(where[step, channel]), width), float(values[step, channel])) for step in steps]


def _cut_patches(places: dict, recording: Recording, field: ReceptiveField) -> dict[int, dict[str, list[Patch]]]:
    observations = {step for wanted in places.values() for step, _, _ in wanted}
    wanted_of: dict[int, list] = {step: [] for step in observations}
    for key, wanted in places.items():
        for rank, (step, position, value) in enumerate(wanted):
            wanted_of[step].append((key, rank, position, value))
    cut: dict[tuple[int, str, int], Patch] = {}
    for step, observation in recording.rows(observations):
        for (channel, kind), rank, position, value in wanted_of[step]:
            corner = field.corner(*position)
            pixels = cut_patch(observation, corner, field.size)
            cut[channel, kind, rank] = Patch(step, position, corner, value, pixels)
    found: dict[int, dict[str, list[Patch]]] = {channel: {kind: [] for kind in KINDS} for channel, _ in places}
    for (channel, kind), wanted in places.items():
        found[channel][kind] = [cut[channel, kind, rank] for rank in range(len(wanted))]
    return found


def cut_patch(observation: np.ndarray, corner: tuple[int, int], size: tuple[int, int]) -> np.ndarray:
    """Cuts a rectangle out of an observation, with zeros beyond its edge. Returns shape (*size, channels)."""
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
    """Draws the patches of `find_patches`, a row per filter; each shows the newest frame.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout of it.
        output: The `.png` to write.
        layer: Name of any layer.
        channels: Filters or units to show; a number n for the first n.
        count: See `find_patches`.
        distance: See `find_patches`.
        seed: See `find_patches`.

    Raises:
        NeurozooError: As `find_patches`, or the agent does not see pictures.
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
            f"activation function). A unit sees {seen}; the picture shows the newest frame. White is {high:g}, black "
            "is 0 or beyond the edge. Random: random steps, at the position where the channel was highest."
        ),
        headers=["highest", "lowest", "random"],
        rows=rows,
        blocks=max(1, min(WIDTH // block, len(rows) // 4 or 1)),
    )


def first_channels(channels: int | Sequence[int], layer: LayerRecord) -> list[int]:
    """Returns the channels to show: the first n if `channels` is a number n, otherwise the named ones.

    Raises:
        NeurozooError: A channel does not exist, or the number is below 1.
    """
    if isinstance(channels, int):
        if channels < 1:
            raise NeurozooError(f"The number of channels to show should be at least 1, but is {channels}.")
        return list(range(min(channels, layer.shape[-1])))
    return check_channels(channels, layer)
