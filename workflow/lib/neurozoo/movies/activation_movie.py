"""Activation movies: a rollout beside the activations of all layers, or of one.

We mend three flaws of the original: constant activations are black instead of NaN; dense layers are scaled over the
whole rollout and do not flicker; labels come from the frozen model and stand above the right layer.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from neurozoo.agents.frozen import FrozenModel, LayerRecord, open_frozen, use_one_thread
from neurozoo.errors import unknown_name
from neurozoo.movies.activations import WatchedRollout
from neurozoo.movies.layer_picture import LayerPicture
from neurozoo.movies.panels import Canvas
from neurozoo.movies.scene import ROWS, Scene
from neurozoo.movies.themes import ThemeName
from neurozoo.movies.video import video_written_whole
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.rollout_files import open_rollout


@dataclass(frozen=True)
class Movie:
    """Summary of a rendered movie: one frame per step of the rollout, and the rendering speed."""

    frames: int
    frames_per_second: float


def render_activation_movie(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    layout: Literal["wide", "classic"] = "wide",
    theme: ThemeName = "dark",
    rows: int = ROWS[0],
    fps: int = 60,
    max_steps: int = 0,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> Movie:
    """Draws a frame per step of a rollout: the screen, the observation, all layers and the chosen action.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout file of that model.
        output: The `.mp4` to write.
        layout: `wide` (16:9, from the screen on the left to the action on the right) or `classic` (the Atari Zoo's).
        theme: Colours of a wide movie: `dark` or `light`.
        rows: Height of a wide movie in pixels: 720 or 1080.
        fps: Frames per second.
        max_steps: Shows only the first steps; 0 for all.
        log: See `Progress`, and so `terminal`.
        terminal: See `Progress`.

    Raises:
        NeurozooError: A file is missing, damaged or belongs to another model, ffmpeg failed, or the disk is full.
    """
    frozen = open_frozen(frozen_folder)

    def lay_out(watched: WatchedRollout) -> Scene | Canvas:
        if layout == "wide":
            return Scene(frozen, watched, theme=theme, rows=rows)
        return Canvas(frozen, screen_shape=watched.rollout.screen_shape, steps=watched.rollout.steps)

    return _rendered(
        frozen, rollout, output, frozen.layers, lay_out,
        fps=fps, max_steps=max_steps, log=log, terminal=terminal, is_wide=layout == "wide",
    )  # fmt: skip


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

    `layer` is its name in `model.json`, such as `conv1`. `overlay` says whether to write score, step and action below
    the screen. All else is as in `render_activation_movie`.
    """
    frozen = open_frozen(frozen_folder)
    layers = {record.name: record for record in frozen.layers}
    if layer not in layers:
        raise unknown_name("layer", layer, layers, owner=frozen.title)

    def lay_out(watched: WatchedRollout) -> LayerPicture:
        return LayerPicture(frozen, layers[layer], screen_shape=watched.rollout.screen_shape, overlay=overlay)

    return _rendered(
        frozen, rollout, output, [layers[layer]], lay_out, fps=fps, max_steps=max_steps, log=log, terminal=terminal
    )


def _rendered(
    frozen: FrozenModel,
    path: str | os.PathLike,
    output: str | os.PathLike,
    layers: Sequence[LayerRecord],
    lay_out: Callable[[WatchedRollout], Scene | Canvas | LayerPicture],
    *,
    fps: int,
    max_steps: int,
    log: str | os.PathLike | None,
    terminal: str,
    is_wide: bool = False,
) -> Movie:
    use_one_thread()
    with open_rollout(path, frozen, max_steps=max_steps) as rollout:
        start, steps = time.perf_counter(), rollout.steps
        watched = WatchedRollout(frozen, rollout, layers=layers, is_centred=is_wide)
        picture = lay_out(watched)
        with (
            Progress(f"movie of {frozen.title}", total=2 * steps, log=log, terminal=terminal) as progress,
            video_written_whole(output, width=picture.width, height=picture.height, fps=fps, is_packed=is_wide) as show,
        ):
            for step in watched.each_step(progress):
                show(picture.compose(step))
        return Movie(steps, steps / (time.perf_counter() - start))
