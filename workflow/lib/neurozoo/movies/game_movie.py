"""Movies of a rollout as a player would have seen it: every frame of the console at its own speed, with its sound.

A rollout holds one screen per decision and no sound. So the episodes are played again, from their starts and actions,
and compared with the rollout on the way.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurozoo.environments.atari import FRAMES_PER_SECOND, SAMPLES_PER_FRAME, AtariEnvironment
from neurozoo.errors import NeurozooError
from neurozoo.files import explained
from neurozoo.inspection.frozen import FrozenModel, open_frozen
from neurozoo.inspection.progress import Progress
from neurozoo.inspection.rollout_files import REMEDY, RolloutFile, open_rollout
from neurozoo.inspection.screens import ScreenView, even
from neurozoo.inspection.video import Sound, video_written_whole

STEPS_PER_SECOND = 15  # where there are no frames between steps: as many decisions as an agent takes in Atari


@dataclass(frozen=True)
class GameMovie:
    """What was filmed.

    Attributes:
        frames: Number of frames.
        seconds: How long it plays.
        has_sound: Whether it is heard.
        frames_per_second: How fast it was made.
    """

    frames: int
    seconds: float
    has_sound: bool
    frames_per_second: float


@dataclass(frozen=True)
class _Shown:
    """A frame of the game; `sound` is None in worlds without, `is_last` says whether it is its step's last."""

    screen: np.ndarray
    sound: np.ndarray | None
    score: float
    step: int
    action: int | np.ndarray
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
    """Films a rollout in real time, with sound if it is of an Atari game.

    The pitch is 2 % too low: the emulator makes 512 samples per frame for a console of 61.3 frames per second.

    Args:
        frozen_folder: The frozen model, which says how the game was played.
        rollout: A rollout file of that model.
        output: The `.mp4` to write.
        max_steps: Shows the first steps only; 0 for all.
        overlay: Whether score, step and action stand beneath the screen.
        log: Optional file for progress lines.
        terminal: `bar` for a progress bar where standard error is a terminal, `lines` for lines.

    Returns:
        Number of frames, and how long they play.

    Raises:
        NeurozooError: A file is missing, damaged or belongs to another model, ffmpeg failed, or the disk is full.
    """
    frozen = open_frozen(frozen_folder)
    is_heard = frozen.protocol.world == "atari"
    with (
        open_rollout(rollout, frozen, keys=("score",), max_steps=max_steps) as recorded,
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
            with video_written_whole(output, width=image.shape[1], height=image.shape[0], fps=fps, sound=sound) as show:
                for shown in game:
                    view.draw(image, (0, 0), shown.screen, score=shown.score, step=shown.step, action=shown.action)
                    show(image)
                    frames += 1
                    progress.advance(shown.is_last)
        return GameMovie(frames, frames / fps, is_heard, frames / (time.perf_counter() - start))


@contextlib.contextmanager
def _soundtrack(game: Iterator[_Shown], output: str | os.PathLike) -> Iterator[Sound]:
    """Writes down what a game sounds like, in a file beside `output` that lasts as long as the `with` statement."""
    folder = Path(output).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".sound") as file:
            for shown in game:
                file.write(shown.sound.tobytes())
            file.flush()
            yield Sound(file.name, SAMPLES_PER_FRAME * FRAMES_PER_SECOND)
    except OSError as error:
        raise explained(error, output) from error


def _replayed(frozen: FrozenModel, recorded: RolloutFile, *, is_checked: bool = False) -> Iterator[_Shown]:
    """Plays a rollout's episodes again and yields each frame of the console."""
    environment = AtariEnvironment(frozen.game, recorded.disturbance.protocol(frozen), is_heard=True)
    screens = recorded.rows("frames")
    score = 0.0
    for number, action in enumerate(recorded.actions):
        if number in recorded.starts:
            environment.reset(**recorded.starts[number])
            score = 0.0
        if environment.is_done or (is_checked and not np.array_equal(environment.screen, next(screens)[0])):
            raise NeurozooError(
                f"{recorded.path} cannot be played again as {frozen.game} under {frozen.protocol.name}, as the frozen "
                f"model in {frozen.folder} wants it: at step {number + 1} the screen is another one. It is of another "
                f"model, or another version of ale-py recorded it. {REMEDY}"
            )
        frames = []
        environment.step(
            action, watch=lambda gained, frames=frames: frames.append((environment.screen, environment.sound, gained))
        )
        for place, (screen, sound, gained) in enumerate(frames, 1):
            score += gained
            yield _Shown(screen, sound, score, environment.steps, action, is_last=place == len(frames))


def _recorded(recorded: RolloutFile) -> Iterator[_Shown]:
    """Yields a rollout's screens, in worlds where nothing happens between them."""
    for moment in recorded.moments():
        yield _Shown(**moment, sound=None, is_last=True)
