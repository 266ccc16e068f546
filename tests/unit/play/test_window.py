import sys

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.play.window import WindowDisplay


@pytest.fixture
def window(monkeypatch):
    """A window that SDL makes nowhere, with a loudspeaker that nobody hears."""
    pytest.importorskip("pygame", reason="windows are tested with pygame-ce: pip install -r envs/requirements-play.txt")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("SDL_AUDIODRIVER", "dummy")
    with WindowDisplay("title") as display:
        yield display


def test_screen_is_shown_as_wide_as_a_television_whatever_the_window(window):
    import pygame

    screen = np.zeros((210, 160, 3), np.uint8)
    screen[:105] = (200, 10, 20)
    screen[105:] = (1, 2, 250)
    for size in ((640, 504), (1000, 324), (300, 700)):
        pygame.display.set_mode(size)
        window.show(screen, "some words")
        pixels = pygame.surfarray.array3d(pygame.display.get_surface())
        for colour in ((200, 10, 20), (1, 2, 250)):
            width, height = (np.ptp(places) + 1 for places in np.nonzero((pixels == colour).all(axis=-1)))
            assert width / (2 * height) == pytest.approx(4 / 3, rel=0.02)
        assert len(np.unique(pixels[:, -24:].reshape(-1, 3), axis=0)) > 2  # the words


def test_keys_are_pressed_and_released(window):
    import pygame

    list(window.read_keys())
    for kind, key, text in (
        (pygame.KEYDOWN, pygame.K_UP, ""),
        (pygame.KEYDOWN, pygame.K_SPACE, " "),
        (pygame.KEYDOWN, pygame.K_LEFTBRACKET, "["),
        (pygame.KEYDOWN, pygame.K_m, "M"),
        (pygame.KEYDOWN, pygame.K_LSHIFT, ""),
        (pygame.KEYUP, pygame.K_UP, ""),
        (pygame.KEYDOWN, pygame.K_RETURN, "\r"),
    ):
        pygame.event.post(pygame.event.Event(kind, key=key, unicode=text))
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert list(window.read_keys()) == [
        ("up", True), ("space", True), ("[", True), ("m", True), ("up", False), ("return", True), ("q", True)
    ]  # fmt: skip


def test_sound_is_played_as_loud_as_it_is_wanted(window):
    import pygame

    assert pygame.mixer.get_init() == (30720, 8, 1)
    for _ in range(4):
        window.hear(np.full(512, 140, np.uint8), 25)
    channel = pygame.mixer.Channel(0)
    assert channel.get_busy()
    assert channel.get_sound().get_length() == pytest.approx(4 / 60, rel=0.01)
    assert channel.get_volume() == pytest.approx(0.25, abs=0.01)


def test_without_the_package_it_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(NeurozooError, match=r"needs the package pygame-ce: pip install .* add --terminal"):
        WindowDisplay("title")


def test_without_a_screen_it_says_what_to_do(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "x11")
    monkeypatch.setenv("DISPLAY", ":999")
    with pytest.raises(NeurozooError, match=r"no screen for a window .* Add --terminal"), WindowDisplay("title"):
        pass
