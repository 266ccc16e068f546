"""A window as a display, with sound. It needs the package pygame-ce."""

import contextlib
import os
from collections.abc import Iterator
from typing import Self

import numpy as np

from neurozoo.environments.atari import FRAMES_PER_SECOND, SAMPLES_PER_FRAME, aspect_of
from neurozoo.errors import NeurozooError

_WIDTH, _HEIGHT, _LINE = 640, 480, 24  # pixels: the picture at the start, and the status line
UNSEEN = ("offscreen", "dummy")  # drivers that SDL chooses where there is no desktop; a window crashes in the first
# Without any of these there is no desktop to ask; SDL would ask, and its libraries would write their own complaints.
DESKTOPS = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
_INK, _PAPER = (220, 220, 216), (18, 19, 20)
_CHUNK = 4  # frames of sound that are queued together; fewer would stutter


class WindowDisplay:
    """A window as a display, see `neurozoo.play.controls.Display`; use it in a `with` statement.

    Args:
        title: Title of the window.
        is_heard: Whether to play sound, if the machine can.

    Raises:
        NeurozooError: pygame-ce is not installed, or there is no screen for a window.
    """

    hold = None

    def __init__(self, title: str, *, is_heard: bool = True):
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
        except ImportError as error:
            raise NeurozooError(
                "A window needs the package pygame-ce: pip install --require-hashes -r envs/requirements-play.txt. "
                "Without it, add --terminal."
            ) from error
        self._pygame, self._title, self._is_heard = pygame, title, is_heard
        self._names = {
            pygame.K_UP: "up", pygame.K_DOWN: "down", pygame.K_LEFT: "left", pygame.K_RIGHT: "right",
            pygame.K_SPACE: "space", pygame.K_RETURN: "return", pygame.K_ESCAPE: "escape",
        }  # fmt: skip

    def __enter__(self) -> Self:
        pygame = self._pygame
        try:
            if not any(os.environ.get(name) for name in DESKTOPS):
                raise pygame.error("no display is available")
            pygame.display.init()
            if pygame.display.get_driver() in UNSEEN and not os.environ.get("SDL_VIDEODRIVER"):
                raise pygame.error("no display is available")
            self._window = pygame.display.set_mode((_WIDTH, _HEIGHT + _LINE), pygame.RESIZABLE)
        except pygame.error as error:
            pygame.quit()
            raise NeurozooError(f"There is no screen for a window ({error}). Add --terminal.") from error
        pygame.font.init()
        pygame.display.set_caption(self._title)
        self._font = pygame.font.Font(None, 18)
        self._channel, self._sound = None, b""
        if self._is_heard:
            rate = SAMPLES_PER_FRAME * FRAMES_PER_SECOND
            with contextlib.suppress(pygame.error):  # a machine without loudspeakers
                pygame.mixer.init(rate, size=8, channels=1, buffer=SAMPLES_PER_FRAME, allowedchanges=0)
                self._channel = pygame.mixer.Channel(0)
        return self

    def __exit__(self, *_) -> None:
        self._pygame.quit()

    def show(self, screen: np.ndarray, status: str) -> None:
        """Draws a screen in its shape, an Atari's in the 4:3 format of a television, and the status line below it."""
        pygame = self._pygame
        width, height = self._window.get_size()
        height = max(1, height - _LINE)
        aspect = aspect_of(screen.shape)
        shown = (max(1, min(width, round(height * aspect))), max(1, min(height, round(width / aspect))))
        picture = pygame.image.frombuffer(np.ascontiguousarray(screen), screen.shape[1::-1], "RGB")
        self._window.fill(_PAPER)
        place = ((width - shown[0]) // 2, (height - shown[1]) // 2)
        self._window.blit(pygame.transform.scale(picture, shown), place)
        self._window.blit(self._font.render(status, True, _INK), (6, height + 5))
        pygame.display.flip()

    def hear(self, sound: np.ndarray, volume: int) -> None:
        """Queues a frame of sound; drops sound that comes too fast."""
        if self._channel is None:
            return
        self._channel.set_volume(volume / 100)
        self._sound += sound.tobytes()
        if len(self._sound) >= _CHUNK * SAMPLES_PER_FRAME:
            if self._channel.get_queue() is None:
                self._channel.queue(self._pygame.mixer.Sound(buffer=self._sound))
            self._sound = b""

    def read_keys(self) -> Iterator[tuple[str, bool]]:
        """Yields pressed and released keys; closing the window counts as the key q."""
        pygame = self._pygame
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                yield "q", True
            elif event.type in (pygame.KEYDOWN, pygame.KEYUP):
                name = self._names.get(event.key) or event.unicode.lower()
                if name:
                    yield name, event.type == pygame.KEYDOWN
