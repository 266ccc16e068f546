"""Guided backpropagation: what in a recorded observation excites a filter.

For each filter the observation and the position with the highest value before the rectifier are found; the value there
is sent back to the pixels, and on its way only positive signals pass, and only through units that are active. Pixels
that are black stay black.

Source: visualisation of simple_dqn (tambetm), after Springenberg et al. 2015, arXiv:1412.6806. As there, of four frames
the oldest is left out and the others are red, green and blue, so that what moves leaves a trace of colours.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.filters.layers import check_pictures, find_layer, model_to
from neurozoo.filters.patches import first_channels
from neurozoo.filters.pictures import Row, colour, enlarged, fitting, grey, side_by_side, write_sheet
from neurozoo.filters.recordings import Recording, open_recording, survey
from neurozoo.games import ObservationShape
from neurozoo.inspection.frozen import FrozenModel, LayerRecord, open_frozen
from neurozoo.inspection.panels import shows_colours

CELL = 168  # pixels of a picture about
CHUNK = 16  # filters at once


def guided_signals(
    frozen: FrozenModel,
    layer: LayerRecord,
    observations: np.ndarray,
    *,
    channels: Sequence[int],
    positions: Sequence[tuple[int, int]],
) -> np.ndarray:
    """Sends the value of one unit for each observation back to the pixels.

    Args:
        frozen: The frozen model.
        layer: The layer of the units.
        observations: float32, shape (batch, height, width, channels).
        channels: Of each unit.
        positions: (row, column) of each unit; anything for a dense layer.

    Returns:
        float32, shape as `observations`: the unit's value before its rectifier times its guided derivative, 0 where the
        observation is 0, and 0 everywhere if the unit is silent.
    """
    import tensorflow as tf

    model = model_to(frozen, layer, relu="guided")
    signals = []
    for start in range(0, len(observations), CHUNK):
        part = slice(start, start + CHUNK)
        seen = tf.constant(observations[part])
        with tf.GradientTape() as tape:
            tape.watch(seen)
            values = model(seen, training=False)
            places = [
                (i, *(position if values.shape.rank == 4 else ()), channel)
                for i, (position, channel) in enumerate(zip(positions[part], channels[part], strict=True))
            ]
            units = tf.gather_nd(values, places)
        back = tape.gradient(units, seen).numpy() * np.maximum(units.numpy(), 0)[:, None, None, None]
        signals.append(np.where(observations[part] > 0, back, 0))
    return np.concatenate(signals)


@dataclass(frozen=True)
class Excitation:
    """The moment of a recording that excites a filter most.

    Attributes:
        channel: The filter, or unit of a dense layer.
        value: What it reached, before the activation function.
        step: Of the recording.
        position: (row, column) in the layer's map; (0, 0) in a dense layer.
        observation: What was seen then, float32, shape (height, width, channels).
        signal: What in it did so, see `guided_signals`.
    """

    channel: int
    value: float
    step: int
    position: tuple[int, int]
    observation: np.ndarray
    signal: np.ndarray


def find_excitations(
    frozen: FrozenModel,
    layer: LayerRecord,
    recording: Recording,
    channels: Sequence[int],
    *,
    among: np.ndarray | None = None,
) -> list[Excitation]:
    """Finds for each filter the observation and the position with its highest value, and sends that back.

    Args:
        frozen: The frozen model.
        layer: Any of its layers.
        recording: What it saw.
        channels: The filters or units.
        among: The steps that count, bool, shape (steps,); None, or none at all, for all.
    """
    seen = survey(frozen, layer, recording)
    counting = seen.largest if among is None or not among.any() else np.where(among[:, None], seen.largest, -np.inf)
    steps = [int(counting[:, channel].argmax()) for channel in channels]
    rows_of = dict(recording.rows(steps))
    width = layer.shape[1] if len(layer.shape) == 3 else 1
    where = [divmod(int(seen.where_largest[step, c]), width) for step, c in zip(steps, channels, strict=True)]
    observations = np.stack([rows_of[step] for step in steps])
    signals = guided_signals(frozen, layer, observations, channels=channels, positions=where)
    values = [float(seen.largest[step, channel]) for step, channel in zip(steps, channels, strict=True)]
    return [Excitation(*parts) for parts in zip(channels, values, steps, where, observations, signals, strict=True)]


def draw_guided(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    layer: str,
    channels: int | Sequence[int] = 16,
) -> None:
    """Draws for each filter the observation that excited it most, and what in it did so.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout of it.
        output: The `.png` to write.
        layer: Any layer.
        channels: Which filters or units, or how many of the first.

    Raises:
        NeurozooError: No such layer or channel, the agent sees no pictures, or the rollout is another agent's.
    """
    frozen = check_pictures(open_frozen(frozen_folder))
    record = find_layer(frozen, layer)
    shown = first_channels(channels, record)
    with open_recording(frozen, rollout) as recording:
        found = find_excitations(frozen, record, recording, shown)
    shape = frozen.shape
    factor = fitting(max(shape.height, shape.width), CELL)
    rows = []
    for one in found:
        pictures = [draw_in_colours(part, shape) for part in (one.signal, one.observation)]
        label = f"{one.channel}\n{one.value:+.2f}" + ("\nsilent" if one.value <= 0 else "") + f"\nstep {one.step}"
        rows.append(Row(label, [side_by_side([enlarged(picture, factor)]) for picture in pictures]))
    write_sheet(
        output,
        title=f"{frozen.title}: guided backpropagation from {layer}",
        note=(
            "A row per channel: its number, its highest value in the recording (before the activation function) and in "
            "which step; what in the observation did it, and the observation. "
            f"{colours_explained(shape)} Each picture is spread from its own lowest number (black) to its own highest "
            "(white, or full colour)."
        ),
        headers=["what did it", "observation"],
        rows=rows,
        blocks=min(3, len(rows)),
    )


def draw_in_colours(values: np.ndarray, shape: ObservationShape) -> np.ndarray:
    """Draws an observation's last three frames as red, green and blue, from its lowest to its highest number.

    Fewer than three channels are drawn in grey, from the newest one. uint8, shape (height, width, 3).
    """
    low, high = float(values.min()), float(values.max())
    if shows_colours(shape) or values.shape[-1] >= 3:
        return colour(values[..., -3:], low, high)
    return grey(values[..., -1], low, high)


def colours_explained(shape: ObservationShape) -> str:
    """Says what the colours of `draw_in_colours` mean."""
    if shows_colours(shape):
        return "Colours are those of the game."
    if shape.stack >= 3 and shape.channels == 1:
        return "The last three frames are red, green and blue (newest): grey stands still, colours move."
    if shape.observation[-1] >= 3:
        return "The last three channels are red, green and blue."
    return "Grey is the newest frame."
