"""Windows of SDL's dummy drivers, each in its own process, because they once ended the process of the whole suite."""

import json
import sys
import textwrap

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.play.window import WindowDisplay

OPEN = """
import json
import numpy as np, pygame
from neurozoo.play.window import WindowDisplay
with WindowDisplay("title") as window:
"""


@pytest.fixture
def in_window(python):
    """Runs a piece of Python that has a `window`, and returns the `answer` it leaves; there is no audible sound."""

    def run(code):
        script = OPEN + textwrap.indent(textwrap.dedent(code), "    ") + "print(json.dumps(answer))"
        said = python(script, SDL_VIDEODRIVER="dummy", SDL_AUDIODRIVER="dummy").stdout
        return json.loads(said.splitlines()[-1])

    return run


@pytest.mark.parametrize("size", [(1000, 324), (300, 700)])
def test_screen_has_the_format_of_a_television_in_any_window(in_window, size):
    *extents, words = in_window(
        f"""
        screen = np.zeros((210, 160, 3), np.uint8)
        screen[:105] = (200, 10, 20)
        screen[105:] = (1, 2, 250)
        pygame.display.set_mode({size})
        window.show(screen, "some words")
        pixels = pygame.surfarray.array3d(pygame.display.get_surface())
        answer = []
        for colour in ((200, 10, 20), (1, 2, 250)):
            answer.append([int(np.ptp(places)) + 1 for places in np.nonzero((pixels == colour).all(axis=-1))])
        answer.append(len(np.unique(pixels[:, -24:].reshape(-1, 3), axis=0)))
        """
    )
    for width, height in extents:
        assert width / (2 * height) == pytest.approx(4 / 3, rel=0.02)
    assert words > 2


def test_keys_are_pressed_and_released(in_window):
    pressed = in_window(
        """
        list(window.read_keys())
        for kind, key, text in (
            (pygame.KEYDOWN, pygame.K_UP, ""),
            (pygame.KEYDOWN, pygame.K_SPACE, " "),
            (pygame.KEYDOWN, pygame.K_LEFTBRACKET, "["),
            (pygame.KEYDOWN, pygame.K_m, "M"),
            (pygame.KEYDOWN, pygame.K_LSHIFT, ""),
            (pygame.KEYUP, pygame.K_UP, ""),
            (pygame.KEYDOWN, pygame.K_RETURN, chr(13)),
        ):
            pygame.event.post(pygame.event.Event(kind, key=key, unicode=text))
        pygame.event.post(pygame.event.Event(pygame.QUIT))
        answer = list(window.read_keys())
        """
    )
    assert pressed == [
        ["up", True], ["space", True], ["[", True], ["m", True], ["up", False], ["return", True], ["q", True]
    ]  # fmt: skip


def test_sound_is_played_at_the_given_volume(in_window):
    sound = in_window(
        """
        for _ in range(4):
            window.hear(np.full(512, 140, np.uint8), 25)
        channel = pygame.mixer.Channel(0)
        answer = {"mixer": pygame.mixer.get_init(), "is_busy": channel.get_busy(), "volume": channel.get_volume()}
        answer["seconds"] = channel.get_sound().get_length()
        """
    )
    assert (sound["mixer"], sound["is_busy"]) == ([30720, 8, 1], True)
    assert sound["seconds"] == pytest.approx(4 / 60, rel=0.01)
    assert sound["volume"] == pytest.approx(0.25, abs=0.01)


@pytest.mark.long(seconds=10)
def test_a_frozen_agent_plays_a_short_game_in_a_window(python, own_copy_under):
    folder = own_copy_under(max_frames=160)
    script = "import sys; from neurozoo.__main__ import main; main(sys.argv[1:])"
    said = python(script, "play", folder, "--seed", "3", SDL_VIDEODRIVER="dummy", SDL_AUDIODRIVER="dummy").stdout
    assert said.splitlines()[-1].startswith("game 1: score ")
    assert said.splitlines()[-1].endswith(" in 40 steps")


def test_without_the_package_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(NeurozooError, match=r"needs the package pygame-ce: pip install .* add --terminal"):
        WindowDisplay("title")


@pytest.mark.parametrize("driver", ["x11", ""], ids=["a display that is missing", "no display"])
def test_without_a_screen_the_message_says_what_to_do(python, driver):
    # With TensorFlow, windows nobody sees once ended the process.
    script = ("import tensorflow" if driver else "") + OPEN + "    pass"
    run = python(script, check=False, SDL_VIDEODRIVER=driver, DISPLAY=":999" if driver else "", WAYLAND_DISPLAY="")
    assert run.returncode == 1
    assert "NeurozooError: There is no screen for a window" in run.stderr
    assert "Add --terminal." in run.stderr
    assert "XDG_RUNTIME_DIR" not in run.stderr
