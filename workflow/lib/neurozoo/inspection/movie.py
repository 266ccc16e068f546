"""Activation movies: a rollout, and what every layer of the network makes of it.

Three flaws of the original are mended: constant activations are black instead of NaN; dense layers are scaled over
the whole rollout, so that they do not flicker; labels come from the frozen model and stand over their own layer.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.inspection.frozen import FrozenModel, open_frozen, use_one_thread
from neurozoo.inspection.panels import Canvas, shows_colours
from neurozoo.inspection.progress import Progress
from neurozoo.inspection.streams import NpzReader
from neurozoo.inspection.video import video_written_whole

CHUNK = 64  # steps that are in memory at once: about 20 MB
REMEDY = "Record it again: python -m neurozoo rollout, or the rule rollout."


@dataclass(frozen=True)
class Movie:
    """What was rendered.

    Attributes:
        frames: Number of frames, one per step of the rollout.
        frames_per_second: How fast they were made.
    """

    frames: int
    frames_per_second: float


def render_activation_movie(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    fps: int = 60,
    max_steps: int = 0,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> Movie:
    """Draws a frame per step of a rollout: the screen, the observation, every layer and the chosen action.

    The rollout is read twice, the first time for the range of each channel. Memory does not grow with its length.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout file of that model.
        output: The `.mp4` to write.
        fps: Frames per second.
        max_steps: Shows the first steps only; 0 for all.
        log: Optional file for progress lines.
        terminal: `bar` for a progress bar where standard error is a terminal, `lines` for lines.

    Returns:
        Number of frames and speed.

    Raises:
        NeurozooError: A file is missing, damaged or belongs to another model, ffmpeg failed, or the disk is full.
    """
    if fps < 1 or max_steps < 0:
        raise NeurozooError(f"A movie has fps >= 1 and max_steps >= 0, but {fps} and {max_steps} came.")
    frozen = open_frozen(frozen_folder)
    use_one_thread()
    activations_of = _watching(frozen)
    start = time.perf_counter()
    with NpzReader(rollout, keys=("observations", "frames", "score"), remedy=REMEDY) as reader:
        steps = _checked_steps(reader, rollout, frozen)
        steps = min(steps, max_steps) if max_steps else steps
        canvas = Canvas(frozen, screen_shape=reader.shape("frames")[1:], steps=steps)
        with Progress(f"movie of {frozen.title}", total=2 * steps, log=log, terminal=terminal) as progress:
            ranges = _Ranges(len(canvas.panels), keeps_colours=shows_colours(frozen.shape))
            for (observations,) in _chunks(reader, ("observations",), steps):
                ranges.widen(activations_of(observations))
                progress.advance(len(observations))
            with video_written_whole(output, width=canvas.width, height=canvas.height, fps=fps) as show:
                step = 0
                for observations, screens, scores in _chunks(reader, ("observations", "frames", "score"), steps):
                    activations = activations_of(observations)
                    outputs = activations[-1]
                    actions = [None] * len(outputs) if frozen.is_continuous else outputs.argmax(axis=-1).tolist()
                    pictures = ranges.scaled(activations)
                    for i in range(len(observations)):
                        show(
                            canvas.compose(
                                [picture[i] for picture in pictures],
                                screens[i],
                                action=actions[i],
                                score=float(scores[i]),
                                step=step,
                                outputs=outputs[i],
                            )
                        )
                        step += 1
                        progress.advance()
    return Movie(steps, steps / (time.perf_counter() - start))


def _watching(frozen: FrozenModel) -> Callable[[np.ndarray], list[np.ndarray]]:
    """Returns a function from observations to themselves and every layer's activations."""
    import keras
    import tensorflow as tf

    model = frozen.activations_model([layer.name for layer in frozen.layers])
    run = tf.function(lambda batch: model(batch, training=False), reduce_retracing=True)

    def activations_of(observations: np.ndarray) -> list[np.ndarray]:
        activations = keras.tree.flatten(run(tf.constant(observations)))  # of a single layer, Keras returns no list
        return [observations, *(activation.numpy() for activation in activations)]

    return activations_of


def _checked_steps(reader: NpzReader, rollout: str | os.PathLike, frozen: FrozenModel) -> int:
    shapes = {key: reader.shape(key) for key in ("observations", "frames", "score")}
    steps, seen = shapes["observations"][0], frozen.shape.observation
    fits = shapes == {
        "observations": (steps, *seen),
        "frames": (steps, *shapes["frames"][1:3], 3),
        "score": (steps,),
    }
    if not fits or steps == 0:
        held = ", ".join(f"{key} {shape}" for key, shape in shapes.items())
        raise NeurozooError(
            f"{rollout} should hold observations (steps, {', '.join(map(str, seen))}), frames (steps, height, width, 3)"
            f" and score (steps,) of at least one step, but holds {held}. {REMEDY}"
        )
    return steps


def _chunks(reader: NpzReader, keys: tuple[str, ...], steps: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Yields the members' rows side by side, a few at a time, up to `steps`."""
    left = steps
    for blocks in zip(*(reader.blocks(key, CHUNK) for key in keys), strict=True):
        yield tuple(block[:left] for block in blocks)
        left -= len(blocks[0])
        if left <= 0:
            return


class _Ranges:
    """Smallest and largest values over the whole rollout, so that brightness means the same in every frame.

    Maps are scaled channel by channel, dense layers as a whole, and so is an observation in colour, which comes first.
    """

    def __init__(self, count: int, *, keeps_colours: bool = False):
        self._keeps_colours = keeps_colours
        self._low = [np.float32(np.inf)] * count
        self._high = [np.float32(-np.inf)] * count

    def widen(self, activations: list[np.ndarray]) -> None:
        """Takes a chunk into account; arrays are (batch, height, width, channels) or (batch, units)."""
        for i, activation in enumerate(activations):
            is_whole = activation.ndim != 4 or (i == 0 and self._keeps_colours)
            axes = None if is_whole else (0, 1, 2)
            self._low[i] = np.minimum(self._low[i], activation.min(axis=axes))
            self._high[i] = np.maximum(self._high[i], activation.max(axis=axes))

    def scaled(self, activations: list[np.ndarray]) -> list[np.ndarray]:
        """Returns uint8 arrays of the same shapes; what never changes is 0."""
        pictures = []
        for activation, low, high in zip(activations, self._low, self._high, strict=True):
            factor = np.float32(255) / np.maximum(high - low, np.float32(1e-8))
            pictures.append(np.rint(np.clip((activation - low) * factor, 0, 255)).astype(np.uint8))
        return pictures
