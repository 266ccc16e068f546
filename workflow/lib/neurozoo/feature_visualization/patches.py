"""Patches: the parts of recorded observations that excite each filter most and least.

Source: `top_patches` of the Atari Zoo, Such et al. 2018, arXiv:1812.07069. Deviations: values are compared before the
ReLU, behind which every silent position is 0. The lowest patches show where a filter was lowest, not where it was
highest in its lowest steps. Steps next to each other show nearly the same, so only one of them is taken.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.frozen import open_frozen
from neurozoo.environments.observations import brightest
from neurozoo.feature_visualization.layers import check_pictures, choose_channels, find_layer, position_of
from neurozoo.feature_visualization.pictures import Row, blocks_within, newest_plane, side_by_side, write_sheet
from neurozoo.feature_visualization.receptive_fields import receptive_field
from neurozoo.feature_visualization.recordings import open_recording, survey

KINDS = ("top", "bottom", "random")
CELL = 44  # approximate size of a patch, in pixels
WIDTH = 1500  # maximum width of a sheet, in pixels


@dataclass(frozen=True)
class Patch:
    """The part of a recorded observation that one unit saw."""

    step: int  # of the recording
    position: tuple[int, int]  # (row, column) of the unit in its map
    # (row, column) of the patch's upper left pixel; outside the observation if the patch begins in the padding.
    corner: tuple[int, int]
    value: float  # before the unit's activation function
    pixels: np.ndarray  # float32, shape (height, width, channels); zeros beyond the observation's edge


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

    In any layer, the channels are filters or units; None are all. A unit of a dense layer sees whole observations.

    Returns:
        By channel, then by kind: `top` (the highest values, highest first), `bottom` (the lowest values, lowest first)
        and `random` (the highest value of random steps). There are `count` of each kind, fewer if the recording is too
        short, which lie at least `distance` steps apart.

    Raises:
        NeurozooError: The layer or a channel does not exist, or the rollout comes from another agent.
    """
    frozen = open_frozen(frozen_folder)
    record = find_layer(frozen, layer)
    channels = choose_channels(record.shape[-1] if channels is None else channels, record)
    field, generator = receptive_field(frozen, record), np.random.default_rng(seed)
    with open_recording(frozen, rollout) as recording:
        seen = survey(frozen, record, recording)
        chosen = {}
        for channel in channels:
            orders = {
                "top": np.argsort(-seen.largest[:, channel], kind="stable"),
                "bottom": np.argsort(seen.smallest[:, channel], kind="stable"),
                "random": generator.permutation(recording.steps),
            }
            for kind, order in orders.items():
                chosen[channel, kind] = distinct_steps(order, count, distance)
        rows_of = dict(recording.rows_at("observations", {step for steps in chosen.values() for step in steps}))
    found: dict[int, dict[str, list[Patch]]] = {channel: {} for channel in channels}
    for (channel, kind), steps in chosen.items():
        is_bottom = kind == "bottom"
        values, where = (seen.smallest, seen.where_smallest) if is_bottom else (seen.largest, seen.where_largest)
        patches = found[channel][kind] = []
        for step in steps:
            position = position_of(where[step, channel], record)
            corner = field.corner(*position)
            pixels = cut_patch(rows_of[step], corner, field.size)
            patches.append(Patch(step, position, corner, float(values[step, channel]), pixels))
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
    """Draws the patches of `find_patches`, a row per filter, see `choose_channels`; each shows the newest frame.

    Raises:
        NeurozooError: As `find_patches`, or the agent does not see pictures.
    """
    frozen = check_pictures(open_frozen(frozen_folder))
    record = find_layer(frozen, layer)
    shown = choose_channels(channels, record)
    found = find_patches(frozen_folder, rollout, layer=layer, channels=shown, count=count, distance=distance, seed=seed)
    field, whole = receptive_field(frozen, record), frozen.shape.observation[:2]
    sees_all = field.covers(whole, record.shape[:2] if len(record.shape) == 3 else (1, 1))
    high = brightest(frozen.protocol)
    factor = max(1, CELL // max(whole if sees_all else field.size))
    rows = []
    for channel, kinds in found.items():
        ends = [kinds[kind][0].value for kind in ("top", "bottom")]
        cells = []
        for kind in KINDS:
            pictures = []
            for patch in kinds[kind]:
                back = (-patch.corner[0], -patch.corner[1])
                pixels = cut_patch(patch.pixels, back, whole) if sees_all else patch.pixels
                pictures.append(newest_plane(pixels, frozen.shape, high))
            cells.append(side_by_side(pictures, factor))
        rows.append(Row(f"{channel}\n{ends[0]:+.2f}\n{ends[1]:+.2f}", cells))
    height, width = field.size
    seen = "the whole observation" if sees_all else f"{height} x {width} pixels, every {field.stride[0]}"
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
        blocks=blocks_within(WIDTH, rows, label=80, least=4),
    )
