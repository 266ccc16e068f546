"""Movies of a rollout as a player would see it: every frame of the console in real time, with sound.

A rollout holds one screen per step and no sound. So we replay the episodes from their starts and actions, and compare
the screens with the rollout.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.frozen import FrozenModel, open_frozen
from neurozoo.environments.atari import FRAMES_PER_SECOND, SAMPLES_PER_FRAME, AtariEnvironment
from neurozoo.environments.protocols import STEPS_PER_SECOND
from neurozoo.errors import NeurozooError, explained
from neurozoo.folders import opened_parent, reached
from neurozoo.movies.screens import ScreenView, even
from neurozoo.movies.video import video_written_whole
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.rollout_files import REMEDY, Action, RolloutFile, open_rollout


@dataclass(frozen=True)
class GameMovie:
    """Summary of a game movie: its frames, its length, whether it has sound, and the rendering speed."""

    frames: int
    seconds: float
    has_sound: bool
    frames_per_second: float


@dataclass(frozen=True)
class _GameFrame:
    """A frame of the game; `sound` is None in worlds without sound, `is_last` marks the last frame of a step."""

    screen: np.ndarray
    sound: np.ndarray | None
    score: float
    step: int
    action: Action
    is_last: bool


def film_game(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    max_steps: int = 0,
    overlay: bool = True,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> GameMovie:
    """Films a rollout in real time, with sound in Atari games.

    The pitch is 2 % too low: the emulator makes 512 samples per frame for a console of 61.3 frames per second. The
    frozen model names game and protocol. With an `overlay`, score, step and action stand below the screen; all else is
    as in `Filming`.

    Raises:
        NeurozooError: A file is missing, damaged or belongs to another model, ffmpeg failed, or the disk is full.
    """
    frozen = open_frozen(frozen_folder)
    is_heard = frozen.protocol.world == "atari"
    with (
        open_rollout(rollout, frozen, max_steps=max_steps) as recorded,
        contextlib.ExitStack() as soundtracks,
    ):
        view = ScreenView(recorded.screen_shape, frozen.actions, overlay=overlay)
        image = np.full((even(view.height), even(view.width), 3), 255, np.uint8)
        start, frames = time.perf_counter(), 0
        fps = FRAMES_PER_SECOND if is_heard else STEPS_PER_SECOND
        with Progress(f"game of {frozen.title}", total=recorded.steps, log=log, terminal=terminal) as progress:
            sound = None
            if is_heard:
                played = _replayed(frozen, recorded, is_checked=True)
                sound = soundtracks.enter_context(_soundtrack(played, output))
            game = _replayed(frozen, recorded) if is_heard else _recorded(recorded)
            height, width = image.shape[:2]
            rate = SAMPLES_PER_FRAME * FRAMES_PER_SECOND
            with video_written_whole(output, width=width, height=height, fps=fps, sound=sound, sound_rate=rate) as show:
                for frame in game:
                    view.draw(image, (0, 0), frame.screen, score=frame.score, step=frame.step, action=frame.action)
                    show(image)
                    frames += 1
                    progress.advance(frame.is_last)
        return GameMovie(frames, frames / fps, is_heard, frames / (time.perf_counter() - start))


@contextlib.contextmanager
def _soundtrack(game: Iterator[_GameFrame], output: str | os.PathLike) -> Iterator[str]:
    """Writes the game's sound to a temporary file beside `output`; it lives as long as the `with` statement."""
    try:
        with opened_parent(output, make=True) as (folder, _), tempfile.TemporaryFile(dir=reached(folder)) as file:
            for frame in game:
                assert frame.sound is not None  # a console has sound
                file.write(frame.sound.tobytes())
            file.flush()
            yield str(reached(file.fileno()))
    except OSError as error:
        raise explained(error, output) from error


def _replayed(frozen: FrozenModel, recorded: RolloutFile, *, is_checked: bool = False) -> Iterator[_GameFrame]:
    """Replays a rollout's episodes and yields each frame of the console."""
    environment = AtariEnvironment(frozen.game, recorded.perturbation.protocol(frozen), is_heard=True)
    screens = recorded.rows("frames")
    frames: list[tuple[np.ndarray, np.ndarray, float]] = []
    score = 0.0
    for number, action in enumerate(recorded.actions):
        if number in recorded.starts:
            environment.reset(**recorded.starts[number])
            score = 0.0
        if environment.is_done or (is_checked and not np.array_equal(environment.screen, next(screens)[0])):
            raise NeurozooError(
                f"{recorded.path} cannot be replayed as {frozen.game} under {frozen.protocol.name}, the game and "
                f"protocol of the frozen model in {frozen.folder}: the screen differs at step {number + 1}. Another "
                f"model played it, or another version of ale-py recorded it. {REMEDY}"
            )
        assert isinstance(action, int)  # a console has no continuous actions
        frames.clear()
        if change := recorded.perturbation.change:
            change.write_memory(environment)
        environment.step(action, watch=lambda gained: frames.append((environment.screen, environment.sound, gained)))
        for place, (screen, sound, gained) in enumerate(frames, 1):
            score += gained
            yield _GameFrame(screen, sound, score, environment.steps, action, is_last=place == len(frames))


def _recorded(recorded: RolloutFile) -> Iterator[_GameFrame]:
    """Yields a rollout's screens, in worlds that have no frames between steps."""
    for moment in recorded.moments():
        yield _GameFrame(**moment, sound=None, is_last=True)
