"""Guided backpropagation: what in a recorded observation excites a filter.

For each filter, it finds the observation and position with the highest value before the ReLU, and sends that value back
to the pixels. On its way back, only positive signals pass, and only through active units. Black pixels stay black.

Source: visualisation of simple_dqn (tambetm), after Springenberg et al. 2015, arXiv:1412.6806. As there, the oldest of
four frames is left out and the others are red, green and blue, so moving objects leave coloured traces.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord, open_frozen
from neurozoo.environments.observations import ObservationShape
from neurozoo.feature_visualization.layers import check_pictures, choose_channels, find_layer, model_to, position_of
from neurozoo.feature_visualization.pictures import Row, colour, framed, grey, write_sheet
from neurozoo.feature_visualization.recordings import open_recording, survey
from neurozoo.rollouts.rollout_files import RolloutFile

CELL = 168  # approximate size of a picture, in pixels
CHUNK = 16  # filters per batch


def guided_signals(
    frozen: FrozenModel,
    layer: LayerRecord,
    observations: np.ndarray,
    *,
    channels: Sequence[int],
    positions: Sequence[tuple[int, int]],
) -> np.ndarray:
    """Sends the value of one unit per observation, (batch, height, width, channels), back to the pixels.

    The (row, column) of a unit in a dense layer is ignored.

    Returns:
        float32, same shape as `observations`: the unit's value before its ReLU times its guided derivative. It is 0
        where the observation is 0, and 0 everywhere if the unit is silent.
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
    """The observation of a recording that excites a filter, or a unit of a dense layer, most."""

    channel: int
    value: float  # before the activation function
    step: int  # of the recording
    position: tuple[int, int]  # (row, column) in the layer's map; (0, 0) in a dense layer
    observation: np.ndarray  # at that step, float32, shape (height, width, channels)
    signal: np.ndarray  # what in the observation excited the filter, see `guided_signals`


def find_excitations(
    frozen: FrozenModel,
    layer: LayerRecord,
    recording: RolloutFile,
    channels: Sequence[int],
    *,
    among: np.ndarray | None = None,
) -> list[Excitation]:
    """Finds the observation and position with each filter's highest value, and sends that value back to the pixels.

    Only the steps of `among`, bool, shape (steps,), count; all do if it is None or selects none.
    """
    seen = survey(frozen, layer, recording)
    counting = seen.largest if among is None or not among.any() else np.where(among[:, None], seen.largest, -np.inf)
    steps = [int(counting[:, channel].argmax()) for channel in channels]
    rows_of = dict(recording.rows_at("observations", steps))
    where = [position_of(seen.where_largest[step, c], layer) for step, c in zip(steps, channels, strict=True)]
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
    """Draws for each filter the observation that excited it most, and what in it did so; see `choose_channels`.

    Raises:
        NeurozooError: The layer or a channel does not exist, the agent does not see pictures, or the rollout comes from
            another agent.
    """
    frozen = check_pictures(open_frozen(frozen_folder))
    record = find_layer(frozen, layer)
    shown = choose_channels(channels, record)
    with open_recording(frozen, rollout) as recording:
        found = find_excitations(frozen, record, recording, shown)
    shape, rows = frozen.shape, []
    for one in found:
        pictures = [draw_in_colours(part, shape) for part in (one.signal, one.observation)]
        label = f"{one.channel}\n{one.value:+.2f}" + ("\nsilent" if one.value <= 0 else "") + f"\nstep {one.step}"
        rows.append(Row(label, framed(pictures, CELL)))
    write_sheet(
        output,
        title=f"{frozen.title}: guided backpropagation from {layer}",
        note=(
            "A row per channel: its number, its highest value in the recording (before the activation function) and "
            "its step; what in the observation excited it; the observation. "
            f"{colours_explained(shape)} Each picture is scaled from its own lowest number (black) to its own highest "
            "(white, or full colour)."
        ),
        headers=["what excited it", "observation"],
        rows=rows,
        blocks=min(3, len(rows)),
    )


def draw_in_colours(values: np.ndarray, shape: ObservationShape) -> np.ndarray:
    """Draws the last three channels of an observation as red, green and blue, from its lowest to its highest number.

    With fewer than three channels, the newest one is drawn in grey. Returns uint8, shape (height, width, 3).
    """
    low, high = float(values.min()), float(values.max())
    if shape.is_in_colour or values.shape[-1] >= 3:
        return colour(values[..., -3:], low, high)
    return grey(values[..., -1], low, high)


def colours_explained(shape: ObservationShape) -> str:
    """Explains the colours of `draw_in_colours` in a sentence."""
    if shape.is_in_colour:
        return "Colours are those of the game."
    if shape.stack >= 3 and shape.channels == 1:
        return "The last three frames are red, green and blue (newest): grey stands still, colours move."
    if shape.observation[-1] >= 3:
        return "The last three channels are red, green and blue."
    return "Grey is the newest frame."
