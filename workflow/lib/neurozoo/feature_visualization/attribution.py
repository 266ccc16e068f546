"""Integrated gradients: how much each pixel of an observation contributed to an output.

Unlike a gradient, the contributions add up: their sum is what the output differs from that for a black observation.

Source: Sundararajan et al. 2017, arXiv:1703.01365.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.filters.layers import check_pictures
from neurozoo.filters.pictures import Row, enlarged, fitting, newest_plane, planes_of, side_by_side, signed, write_sheet
from neurozoo.filters.recordings import choose_steps, open_recording
from neurozoo.games import brightest
from neurozoo.inspection.frozen import FrozenModel, open_frozen

CELL = 168  # pixels of a picture about
CHUNK = 64  # observations at once
SHARE = 99.5  # percentile of the absolute contributions that gets the full colour


@dataclass(frozen=True)
class Attribution:
    """Contributions to outputs.

    Attributes:
        contributions: float32, shape (batch, height, width, channels).
        outputs: Shape (batch,): the explained output for each observation.
        baselines: Shape (batch,): the same output for the baseline.
    """

    contributions: np.ndarray
    outputs: np.ndarray
    baselines: np.ndarray

    @property
    def gaps(self) -> np.ndarray:
        """What the sums of the contributions lack, shape (batch,); 0 if the path had infinitely many points."""
        sums = self.contributions.astype(np.float64).sum(axis=(1, 2, 3))
        return self.outputs - self.baselines - sums


def integrated_gradients(
    frozen: FrozenModel,
    observations: np.ndarray,
    outputs: Sequence[int],
    *,
    baseline: np.ndarray | None = None,
    points: int = 64,
) -> Attribution:
    """Attributes outputs to what was observed.

    Args:
        frozen: The frozen model; it may see vectors, too.
        observations: float32, shape (batch, height, width, channels).
        outputs: Index of the output to explain for each observation.
        baseline: The observation that counts as nothing, shape (height, width, channels); None for zeros.
        points: Of the straight path from the baseline to the observation, at which gradients are taken (midpoints).

    Raises:
        NeurozooError: The network has no such output, or `points` is below 1.
    """
    import keras
    import tensorflow as tf

    if points < 1:
        raise NeurozooError(f"The path should have at least 1 point, but has {points}.")
    if wrong := [output for output in outputs if not 0 <= output < len(frozen.actions)]:
        raise NeurozooError(f"{frozen.title} has the outputs 0 to {len(frozen.actions) - 1}, but {wrong[0]} came.")
    model = frozen.load_keras()
    observations = np.asarray(observations, np.float32)
    start = np.zeros(observations.shape[1:], np.float32) if baseline is None else np.asarray(baseline, np.float32)

    def explained(seen, chosen):
        values = keras.tree.flatten(model(seen, training=False))[0]
        return tf.gather(values, chosen, axis=1, batch_dims=1)

    signature = [tf.TensorSpec((None, *start.shape), tf.float32), tf.TensorSpec((None,), tf.int32)]

    @tf.function(input_signature=signature)
    def slopes(seen, chosen):
        with tf.GradientTape() as tape:
            tape.watch(seen)
            value = explained(seen, chosen)
        return tape.gradient(value, seen)

    shares = ((np.arange(points) + 0.5) / points).astype(np.float32)
    contributions = []
    for observation, output in zip(observations, outputs, strict=True):
        total = np.zeros(observation.shape, np.float64)
        for first in range(0, points, CHUNK):
            share = shares[first : first + CHUNK, None, None, None]
            path = start + share * (observation - start)
            total += slopes(tf.constant(path), tf.fill([len(path)], output)).numpy().sum(axis=0, dtype=np.float64)
        contributions.append((total / points * (observation - start)).astype(np.float32))
    chosen = tf.constant(list(outputs))
    reached = explained(tf.constant(observations), chosen).numpy()
    nothing = explained(tf.constant(np.repeat(start[None], len(observations), axis=0)), chosen).numpy()
    return Attribution(np.stack(contributions), reached, nothing)


def draw_attribution(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    at: Sequence[int] | None = None,
    observations: int = 6,
    points: int = 64,
) -> Attribution:
    """Draws what spoke for and against the action that an agent chose, in some steps of a rollout.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout of it.
        output: The `.png` to write.
        at: Which steps of the rollout; None for some from all over it.
        observations: How many, if `at` is None.
        points: See `integrated_gradients`.

    Raises:
        NeurozooError: No such step, the agent sees no pictures, or the rollout is another agent's.
    """
    frozen = check_pictures(open_frozen(frozen_folder))
    with open_recording(frozen, rollout) as recording:
        rows_of = dict(recording.rows(choose_steps(recording, at, observations)))
    seen = np.stack(list(rows_of.values()))
    chosen = np.asarray(frozen.load_keras()(seen, training=False)).argmax(axis=-1).tolist()
    made = integrated_gradients(frozen, seen, chosen, points=points)
    shape, high = frozen.shape, brightest(frozen.protocol)
    factor = fitting(max(shape.height, shape.width), CELL)
    rows = []
    for i, (step, action) in enumerate(zip(rows_of, chosen, strict=True)):
        planes = [made.contributions[i][..., channels].sum(axis=-1) for channels in planes_of(shape).values()]
        full = float(np.percentile(np.abs(planes), SHARE)) or float(np.abs(planes).max())
        pictures = [newest_plane(seen[i], shape, high=high), *(signed(plane, full) for plane in planes)]
        label = (
            f"step {step}\n{frozen.actions[action]}\noutput {made.outputs[i]:+.2f}\nblack {made.baselines[i]:+.2f}\n"
            f"gap {abs(made.gaps[i]):.1g}"
        )
        rows.append(Row(label, [side_by_side([enlarged(picture, factor)]) for picture in pictures]))
    write_sheet(
        output,
        title=f"{frozen.title}: integrated gradients",
        note=(
            "Recorded observations (newest frame; black is 0, white "
            f"{high:g}), the output that the agent chose, and what each pixel added to it (red) or took from it "
            "(blue), frame by frame; white is nothing. Contributions sum to the output less that for a black "
            f"observation, up to the gap. Full colour: the strongest {100 - SHARE:g} % of each row."
        ),
        headers=["observation", *(f"added by {name}" if name == "colours" else name for name in planes_of(shape))],
        rows=rows,
        blocks=2 if len(rows) > 3 and len(rows[0].cells) <= 2 else 1,
    )
    return made
