"""Activation movies: a rollout beside the activations of all layers, or of one.

We mend three flaws of the original: constant activations are black instead of NaN; dense layers are scaled over the
whole rollout and do not flicker; labels come from the frozen model and stand above the right layer.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord, open_frozen, use_one_thread
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.movies.activations import WatchedRollout, WatchedStep, watched_rollout
from neurozoo.movies.layer_picture import LayerPicture
from neurozoo.movies.panels import Canvas
from neurozoo.movies.scene import ROWS, Scene
from neurozoo.movies.themes import THEMES, ThemeName
from neurozoo.movies.video import check_fps, video_written_whole
from neurozoo.rollouts.progress import Progress

Picture = TypeVar("Picture", Scene, Canvas, LayerPicture)
LayoutName = Literal["wide", "classic"]
LAYOUTS: tuple[LayoutName, ...] = ("wide", "classic")


@dataclass(frozen=True)
class Movie:
    """Summary of a rendered movie.

    Attributes:
        frames: Number of frames, one per step of the rollout.
        frames_per_second: Rendering speed.
    """

    frames: int
    frames_per_second: float


def render_activation_movie(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    layout: LayoutName = "wide",
    theme: ThemeName = "dark",
    rows: int = ROWS[0],
    fps: int = 60,
    max_steps: int = 0,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> Movie:
    """Draws a frame per step of a rollout: the screen, the observation, all layers and the chosen action.

    It reads the rollout twice, the first time for the range of each channel. Memory does not grow with its length.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout file of that model.
        output: The `.mp4` to write.
        layout: `wide` (16:9, from the screen on the left to the action on the right) or `classic` (the Atari Zoo's).
        theme: Colours of a wide movie: `dark` or `light`.
        rows: Height of a wide movie in pixels: 720 or 1080.
        fps: Frames per second.
        max_steps: Shows only the first steps; 0 for all.
        log: Optional file for progress lines.
        terminal: `bar` for a progress bar where standard error is a terminal, `lines` for lines.

    Returns:
        Number of frames and speed.

    Raises:
        NeurozooError: A file is missing, damaged or belongs to another model, a choice is unknown, ffmpeg failed, or
            the disk is full.
    """
    for what, name, known in (("layout", layout, LAYOUTS), ("theme", theme, THEMES)):
        if name not in known:
            raise unknown_name(what, name, known)
    if rows not in ROWS:
        raise NeurozooError(f"rows of a movie should be {' or '.join(map(str, ROWS))}, but is {rows}.")
    frozen = open_frozen(frozen_folder)
    if layout == "wide":
        return _rendered(
            frozen,
            rollout,
            output,
            layers=frozen.layers,
            lay_out=lambda watched: Scene(frozen, watched, theme=theme, rows=rows),
            draw=Scene.compose,
            fps=fps,
            max_steps=max_steps,
            log=log,
            terminal=terminal,
            is_wide=True,
        )
    return _rendered(
        frozen,
        rollout,
        output,
        layers=frozen.layers,
        lay_out=lambda watched: Canvas(frozen, screen_shape=watched.screen_shape, steps=watched.steps),
        draw=_draw_all,
        fps=fps,
        max_steps=max_steps,
        log=log,
        terminal=terminal,
    )


def _draw_all(canvas: Canvas, step: WatchedStep) -> np.ndarray:
    action, outputs = (step.action, None) if isinstance(step.action, int) else (None, step.action)
    return canvas.compose(
        step.pictures, step.screen, action=action, score=step.score, step=step.number, outputs=outputs
    )


def render_layer_movie(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    layer: str,
    fps: int = 60,
    max_steps: int = 0,
    overlay: bool = True,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> Movie:
    """Draws a frame per step of a rollout: the screen and one layer beside it, equally enlarged.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout file of that model.
        output: The `.mp4` to write.
        layer: Name of the layer in `model.json`, such as `conv1`.
        fps: Frames per second.
        max_steps: Shows only the first steps; 0 for all.
        overlay: Whether to write score, step and action below the screen.
        log: Optional file for progress lines.
        terminal: `bar` for a progress bar where standard error is a terminal, `lines` for lines.

    Returns:
        Number of frames and speed.

    Raises:
        NeurozooError: There is no such layer, or for the reasons of `render_activation_movie`.
    """
    frozen = open_frozen(frozen_folder)
    layers = {record.name: record for record in frozen.layers}
    if layer not in layers:
        raise unknown_name("layer", layer, layers, owner=frozen.title)
    return _rendered(
        frozen,
        rollout,
        output,
        layers=[layers[layer]],
        lay_out=lambda watched: LayerPicture(frozen, layers[layer], screen_shape=watched.screen_shape, overlay=overlay),
        draw=LayerPicture.compose,
        fps=fps,
        max_steps=max_steps,
        log=log,
        terminal=terminal,
    )


def _rendered(
    frozen: FrozenModel,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    layers: Sequence[LayerRecord],
    lay_out: Callable[[WatchedRollout], Picture],
    draw: Callable[[Picture, WatchedStep], np.ndarray],
    fps: int,
    max_steps: int,
    log: str | os.PathLike | None,
    terminal: str,
    is_wide: bool = False,
) -> Movie:
    check_fps(fps)
    use_one_thread()
    with watched_rollout(frozen, rollout, layers=layers, max_steps=max_steps, is_centred=is_wide) as watched:
        start = time.perf_counter()
        picture = lay_out(watched)
        with (
            Progress(f"movie of {frozen.title}", total=2 * watched.steps, log=log, terminal=terminal) as progress,
            video_written_whole(output, width=picture.width, height=picture.height, fps=fps, is_packed=is_wide) as show,
        ):
            for step in watched.each_step(progress):
                show(draw(picture, step))
        return Movie(watched.steps, watched.steps / (time.perf_counter() - start))
