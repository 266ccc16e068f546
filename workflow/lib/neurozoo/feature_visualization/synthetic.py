"""Synthetic inputs: pictures that an optimiser makes to excite a unit, a channel or a direction as much as possible.

Source: `synthetic_inputs.visualize_neuron` of the Atari Zoo, Such et al. 2018, arXiv:1812.07069. Corrections: L1 and L2
are two penalties (in the zoo, both were L2), and a direction runs along the channels in every layout. Deviations:
objectives take the values before the activation function. Penalties are means over the pixels, not sums. Jitter ends
before the optimisation does. Penalties are scaled by the objective's initial gradient, so one weight suits layers of
any scale.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from neurozoo.agents.frozen import FrozenModel, LayerRecord, open_frozen, use_one_thread
from neurozoo.environments.observations import brightest
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization import objectives
from neurozoo.feature_visualization.layers import check_pictures, choose_channels, find_layer, model_to
from neurozoo.feature_visualization.objectives import Objective
from neurozoo.feature_visualization.parameterisations import LEARNING_RATES, PARAMETERISATIONS
from neurozoo.feature_visualization.pictures import (
    Row,
    blocks_within,
    draw_curve,
    draw_planes,
    framed,
    planes_of,
    write_sheet,
)
from neurozoo.feature_visualization.recordings import open_recording
from neurozoo.files import open_file
from neurozoo.files.csv import write_csv_table
from neurozoo.rollouts.rollout_files import RolloutFile

SETTLING = 0.25  # share of the steps, at the end, without jitter
CELL = 84  # approximate size of a plane, in pixels
WIDTH = 1300  # approximate width of a sheet, in pixels


@dataclass(frozen=True)
class Ascent:
    """Settings for making a synthetic input.

    Raises:
        NeurozooError: A value is out of range.
    """

    steps: int = 256  # of the optimiser (Adam); 512 in the zoo
    learning_rate: float | None = None  # None for one that suits the parameterisation
    # `pixel`, `fourier` or `cppn`, see `neurozoo.feature_visualization.parameterisations`.
    parameterisation: Literal["pixel", "fourier", "cppn"] = "pixel"
    frames: Literal["all", "newest"] = "all"  # `newest` leaves the frames before it black
    # Maximum random shift of the picture in each direction, in pixels. Every step draws a new shift, except in the last
    # quarter of the steps: with a stride of 4, the best picture over all shifts is a poor one without a shift.
    jitter: int = 3
    total_variation: float = 0.0  # weight of the mean difference between neighbouring pixels
    l1: float = 0.0  # weight of the mean absolute brightness
    l2: float = 0.0  # weight of the mean squared brightness
    seed: int = 0  # of the start and of the jitter

    def __post_init__(self):
        for name in ("total_variation", "l1", "l2", "jitter", "seed"):
            if getattr(self, name) < 0:
                raise NeurozooError(f"{name} should be at least 0, but is {getattr(self, name)}.")
        if self.steps < 1 or (self.learning_rate is not None and self.learning_rate <= 0):
            raise NeurozooError(f"steps {self.steps} and learning_rate {self.learning_rate} should be above 0.")


@dataclass(frozen=True)
class Synthetic:
    """Synthetic inputs, and how the optimisation went."""

    inputs: np.ndarray  # float32, shape (batch, height, width, channels), as the network sees them
    start: np.ndarray  # the inputs before the first step
    values: np.ndarray  # shape (batch,): the objective of `inputs`, without jitter and penalties
    start_values: np.ndarray  # like `values`, of `start`
    # Shape (steps, batch): the objective of the jittered picture before each step, without penalties.
    course: np.ndarray


def synthesise(
    frozen: FrozenModel,
    layer: LayerRecord,
    objective: Objective,
    *,
    count: int,
    ascent: Ascent | None = None,
    stops: Literal["before", "behind"] = "before",
) -> Synthetic:
    """Maximises an objective for `count` pictures at once, by gradient ascent from grey noise.

    The objective, one of `neurozoo.feature_visualization.objectives` or any function like them, takes the layer's
    values `before` its activation function or `behind` it, and returns a number for each picture.

    Raises:
        NeurozooError: The agent does not see pictures, or the jitter is as large as they are.
    """
    import keras
    import tensorflow as tf

    use_one_thread()
    ascent, shape = ascent or Ascent(), check_pictures(frozen).shape
    if ascent.jitter >= (side := min(shape.height, shape.width)):
        raise NeurozooError(f"jitter should be below the {side} pixels of a picture's side, but is {ascent.jitter}.")
    generator = np.random.default_rng(ascent.seed)
    model = model_to(frozen, layer, stops=stops, relu="rescued")
    before = shape.observation[2] - shape.channels if ascent.frames == "newest" else 0
    made = PARAMETERISATIONS[ascent.parameterisation](
        (count, *shape.observation[:2], shape.observation[2] - before), generator
    )
    high = brightest(frozen.protocol)
    rate = ascent.learning_rate or LEARNING_RATES[ascent.parameterisation]
    optimiser = keras.optimizers.Adam(rate)
    optimiser.build(made.variables)

    def picture():
        return tf.pad(made.draw(), [[0, 0], [0, 0], [0, 0], [before, 0]])

    @tf.function
    def evaluate():
        pictures = picture()
        return pictures, objective(model(high * pictures, training=False))

    @tf.function
    def gradient_sums():
        with tf.GradientTape() as tape:
            pictures = picture()
            tape.watch(pictures)
            value = objective(model(high * pictures, training=False))
        sums = tf.reduce_sum(tf.abs(tape.gradient(value, pictures)), (1, 2, 3))
        return tf.where(sums > 0, sums, tf.ones_like(sums))

    scale = gradient_sums()

    @tf.function
    def step(offset):
        with tf.GradientTape() as tape:
            pictures = picture()
            value = objective(model(high * _shift(pictures, offset, ascent.jitter), training=False))
            penalty = (
                ascent.total_variation * objectives.total_variation(pictures)
                + ascent.l1 * objectives.mean_absolute(pictures)
                + ascent.l2 * objectives.mean_square(pictures)
            )
            loss = tf.reduce_sum(penalty - value / scale)
        optimiser.apply(tape.gradient(loss, made.variables), made.variables)
        return value

    start, start_values = evaluate()
    offsets = generator.integers(0, 2 * ascent.jitter, (ascent.steps, 2), endpoint=True)
    offsets[round(ascent.steps * (1 - SETTLING)) :] = ascent.jitter  # this means no shift
    course = [step(tf.constant(offset, tf.int32)).numpy() for offset in offsets]
    inputs, values = evaluate()
    return Synthetic(
        high * inputs.numpy(), high * start.numpy(), values.numpy(), start_values.numpy(), np.array(course)
    )


def _shift(pictures, offset, jitter: int):
    """Shifts pictures by `offset` - `jitter` pixels down and right; the edge is mirrored into the gap."""
    import tensorflow as tf

    if jitter == 0:
        return pictures
    padded = tf.pad(pictures, [[0, 0], [jitter, jitter], [jitter, jitter], [0, 0]], "SYMMETRIC")
    shape = pictures.shape
    return tf.slice(padded, [0, offset[0], offset[1], 0], [shape[0], shape[1], shape[2], shape[3]])


def draw_synthetic(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    layer: str,
    channels: int | Sequence[int] = 16,
    objective: Literal["channel", "unit", "direction"] = "channel",
    position: tuple[int, int] | None = None,
    directions: np.ndarray | None = None,
    course: str | os.PathLike | None = None,
    **settings: Any,
) -> Synthetic:
    """Draws a synthetic input for each channel, how its objective rose, and the best value of recorded observations.

    The objective is `channel`, the mean over the map; `unit`, one unit of it, at `position` (row, column) or in the
    middle; or `direction`, which ignores `channels` and takes `directions`, shape (directions, channels). In a dense
    layer, `channel` and `unit` are the same. `course` is a `.csv` for the objective of each channel at each step. The
    `settings` are fields of `Ascent`; see also `choose_channels`.

    Raises:
        NeurozooError: The layer, a channel or a setting does not exist, or the rollout comes from another agent.
    """
    ascent = Ascent(**settings)
    frozen = check_pictures(open_frozen(frozen_folder))
    record = find_layer(frozen, layer)
    has_maps = len(record.shape) == 3
    if objective == "direction":
        vectors = _check_directions(directions, record)
        shown, goal = list(range(len(vectors))), objectives.direction(vectors)
        what = "dot product times cosine with the direction" + (", mean over the map" if has_maps else "")
    else:
        shown = choose_channels(channels, record)
        if objective == "unit" and has_maps:
            position = _check_position(position, record)
            goal = objectives.unit(shown, position)
            what = f"the unit at row {position[0]}, column {position[1]}"
        else:
            goal, what = objectives.channel_mean(shown), "mean over the map" if has_maps else "the unit"
    with open_recording(frozen, rollout) as recording:
        recorded = _highest_recorded(frozen, record, recording, goal, len(shown))
    made = synthesise(frozen, record, goal, count=len(shown), ascent=ascent)
    high = brightest(frozen.protocol)
    rows = []
    for i, channel in enumerate(shown):
        label = f"{channel}\n{made.values[i]:+.2f}\nrecorded\n{recorded[i]:+.2f}"
        planes = framed(draw_planes(made.inputs[i], frozen.shape, high), CELL)
        rows.append(Row(label, [*planes, draw_curve(made.course[:, i])]))
    old = " Frames before the newest stay black." if ascent.frames == "newest" else ""
    write_sheet(
        output,
        title=f"{frozen.title}: synthetic inputs for {layer}",
        note=(
            f"A row per {'direction' if objective == 'direction' else 'channel'}: its number, the value of the picture "
            f"({what}, before the activation function), and the highest value of a recorded observation. Black is 0, "
            f"white {high:g}.{old} On the right: the objective over {ascent.steps} steps, from its lowest to its "
            f"highest value. Parameterisation: {ascent.parameterisation}; jitter {ascent.jitter}; weights of total "
            f"variation {ascent.total_variation:g}, L1 {ascent.l1:g}, L2 {ascent.l2:g}."
        ),
        headers=[*planes_of(frozen.shape), "objective"],
        rows=rows,
        blocks=blocks_within(WIDTH, rows, label=80, least=4),
    )
    if course is not None:
        steps = np.tile(np.arange(ascent.steps), len(shown))
        rising = {"channel": np.repeat(shown, ascent.steps), "step": steps, "objective": made.course.T.ravel()}
        write_csv_table(course, pd.DataFrame(rising))
    return made


def read_directions(path: str | os.PathLike) -> np.ndarray:
    """Reads directions from a `.npy` file, which may be a stranger's."""
    try:
        with open_file(path) as file:
            return np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise NeurozooError(f"{path} should be a .npy file of shape (directions, channels): {error}.") from error


def _check_directions(directions: np.ndarray | None, record: LayerRecord) -> np.ndarray:
    vectors = np.zeros(0) if directions is None else np.asarray(directions, np.float32)
    if vectors.ndim != 2 or vectors.shape[1] != record.shape[-1] or not np.abs(vectors).sum(axis=-1).all():
        raise NeurozooError(
            f"Directions for the layer {record.name!r} should be an array of shape (directions, {record.shape[-1]}) "
            f"without rows of zeros, but got {'none' if directions is None else f'one of shape {vectors.shape}'}."
        )
    return vectors


def _highest_recorded(
    frozen: FrozenModel, record: LayerRecord, recording: RolloutFile, goal: Objective, count: int
) -> np.ndarray:
    """Returns each picture's highest objective over all recorded observations: shape (count,)."""
    import tensorflow as tf

    model = model_to(frozen, record)

    @tf.function(reduce_retracing=True)
    def highest(observations):
        values = model(observations, training=False)
        judged = tf.map_fn(lambda one: goal(tf.repeat(one[None], count, axis=0)), values)
        return tf.reduce_max(judged, axis=0)

    return np.max([highest(tf.constant(block)).numpy() for (block,) in recording.blocks("observations")], axis=0)


def _check_position(position: tuple[int, int] | None, record: LayerRecord) -> tuple[int, int]:
    height, width, _ = record.shape
    row, column = position or (height // 2, width // 2)
    if not (0 <= row < height and 0 <= column < width):
        raise NeurozooError(
            f"A map of the layer {record.name!r} has {height} rows and {width} columns, but got the position "
            f"({row}, {column}). Both count from 0."
        )
    return row, column
