"""Activation movies: a rollout beside the activations of all layers, or of one.

We mend three flaws of the original: constant activations are black instead of NaN; dense layers are scaled over the
whole rollout and do not flicker; labels come from the frozen model and stand above the right layer.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Unpack

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord, open_frozen, use_one_thread
from neurozoo.errors import unknown_name
from neurozoo.movies.activations import WatchedRollout, WatchedStep
from neurozoo.movies.classic_frame import LABEL_RISE, Canvas, frame_output, layer_panel
from neurozoo.movies.lettering import write_fitting
from neurozoo.movies.screens import ScreenView, enlarged, even, zoom_of
from neurozoo.movies.themes import ThemeName
from neurozoo.movies.video import Filming, video_written_whole
from neurozoo.movies.wide_frame import ROWS, Scene
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.rollout_files import RolloutFile, open_rollout, recognise

GAP = 30  # pixels around the game and the panel of a one-layer movie
TOP = 40  # pixels above them, for their labels


@dataclass(frozen=True)
class Movie:
    """Summary of a rendered movie: its frames, and the rendering speed."""

    frames: int
    frames_per_second: float


class Painter(Protocol):
    """Draws the frames of a movie; `height` and `width` are even, as the video format requires."""

    height: int
    width: int

    def compose(self, moment: Any, /) -> np.ndarray:
        """Draws one frame, which the next call overwrites."""


def render_activation_movie(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    layout: Literal["wide", "classic"] = "wide",
    theme: ThemeName = "dark",
    rows: int = ROWS[0],
    fps: int = 60,
    **filming: Unpack[Filming],
) -> Movie:
    """Draws a frame per step of a rollout: the screen, the observation, all layers and the chosen action.

    A wide movie (16:9, from the screen on the left to the action on the right) has a theme, and 720 or 1080 rows of
    pixels; the classic layout is the Atari Zoo's. All else is as in `Filming`.

    Raises:
        NeurozooError: A file is missing, damaged or belongs to another model, ffmpeg failed, or the disk is full.
    """
    frozen, is_wide = open_frozen(frozen_folder), layout == "wide"

    def prepare(played: RolloutFile) -> tuple[Painter, Callable[[Progress], Iterator[WatchedStep]]]:
        watched = WatchedRollout(frozen, played, layers=frozen.layers, is_centred=is_wide)
        if is_wide:
            return Scene(frozen, watched, theme=theme, rows=rows), watched.each_step
        return Canvas(frozen, screen_shape=played.screen_shape, steps=played.steps), watched.each_step

    return film_rollout(frozen, rollout, output, prepare, fps=fps, passes=2, is_packed=is_wide, **filming)


def render_layer_movie(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    layer: str,
    overlay: bool = True,
    fps: int = 60,
    **filming: Unpack[Filming],
) -> Movie:
    """Draws a frame per step of a rollout: the screen and one layer beside it, equally enlarged.

    `layer` is its name in `model.json`, such as `conv1`. `overlay` says whether to write score, step and action below
    the screen. All else is as in `render_activation_movie`.
    """
    frozen = open_frozen(frozen_folder)
    layers = {record.name: record for record in frozen.layers}
    if layer not in layers:
        raise unknown_name("layer", layer, layers, owner=frozen.title)

    def prepare(played: RolloutFile) -> tuple[Painter, Callable[[Progress], Iterator[WatchedStep]]]:
        watched = WatchedRollout(frozen, played, layers=[layers[layer]])
        picture = LayerPicture(frozen, layers[layer], screen_shape=played.screen_shape, overlay=overlay)
        return picture, watched.each_step

    return film_rollout(frozen, rollout, output, prepare, fps=fps, passes=2, **filming)


def film_rollout(
    frozen: FrozenModel,
    path: str | os.PathLike,
    output: str | os.PathLike,
    prepare: Callable[[RolloutFile], tuple[Painter, Callable[[Progress], Iterator]]],
    *,
    fps: int,
    passes: int = 1,
    is_packed: bool = False,
    max_steps: int = 0,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> Movie:
    """Films a rollout of a model: `prepare` returns who draws, and a function that yields what each frame shows.

    `passes` says how often that function goes through the rollout, and `is_packed` how frames are drawn, see
    `video_written_whole`; all else is as in `Filming`.
    """
    use_one_thread()
    with open_rollout(path, frozen, max_steps=max_steps) as rollout:
        recognise(rollout, frozen)
        start, frames = time.perf_counter(), 0
        painter, moments = prepare(rollout)
        width, height = painter.width, painter.height
        with (
            Progress(f"movie of {frozen.title}", total=passes * rollout.steps, log=log, terminal=terminal) as progress,
            video_written_whole(output, width=width, height=height, fps=fps, is_packed=is_packed) as show,
        ):
            for moment in moments(progress):
                show(painter.compose(moment))
                frames += 1
        return Movie(frames, frames / (time.perf_counter() - start))


class LayerPicture:
    """Draws the frames of a one-layer movie: the game on the left, the layer's activation on the right.

    Source: the side-by-side clips of the Atari Zoo, Such et al. 2018, arXiv:1812.07069.
    """

    def __init__(
        self, frozen: FrozenModel, layer: LayerRecord, *, screen_shape: tuple[int, int, int], overlay: bool = True
    ):
        self._is_output = layer is frozen.layers[-1]
        self._panel = layer_panel(layer, is_output=self._is_output, is_continuous=frozen.is_continuous)
        self._zoom = zoom_of(screen_shape)
        self._small = np.full((self._panel.height + 2, self._panel.width + 2, 3), 255, np.uint8)
        self._screen = ScreenView(screen_shape, frozen.actions, overlay=overlay)
        height, width = (self._zoom * side for side in self._small.shape[:2])
        left = GAP + self._screen.width + GAP
        self._view = (slice(TOP, TOP + height), slice(left, left + width))
        self.width = even(left + width + GAP)
        self.height = even(TOP + max(self._screen.height, height) + GAP // 2)
        self._image = np.full((self.height, self.width, 3), 255, np.uint8)
        game, label = frozen.game.replace("_", " "), self._panel.label.rstrip(":")
        write_fitting(self._image, game, GAP + self._screen.width // 2, TOP - LABEL_RISE, self._screen.width)
        write_fitting(self._image, label, left + width // 2, TOP - LABEL_RISE, width + GAP)

    def compose(self, step: WatchedStep) -> np.ndarray:
        """Draws one frame: uint8, shape (`height`, `width`, 3); overwritten by the next call.

        The `pictures` of the step are the observation, which is not shown, and the layer's activation.
        """
        small, action = self._small, step.action
        small[:] = 255
        self._panel.draw(small[1:-1, 1:-1], step.pictures[1])
        if self._is_output and isinstance(action, int):
            frame_output(small, (1, 1), action)
        self._image[self._view] = enlarged(small, self._zoom)
        self._screen.draw(self._image, (TOP, GAP), step.screen, score=step.score, step=step.number + 1, action=action)
        return self._image
