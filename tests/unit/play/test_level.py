"""A person plays a level: keys become buttons, and time passes; on a simulated display and in a real terminal."""

import fcntl
import os
import pty
import struct
import sys
import termios

import pytest
from neurozoo.environments.platformer.simulator import DOWN, JUMP, LEFT, RIGHT, SPEED
from neurozoo.environments.platformer.tiles import read_level
from neurozoo.errors import NeurozooError
from neurozoo.play.level import PlayedLevel, play_level

from .test_game import Clock, FakeDisplay
from .test_terminal import finished, read_until

FLAT = "\n".join(["-" * 56] * 14 + ["X" * 56] * 2) + "\n"


@pytest.fixture(autouse=True)
def library(core, monkeypatch):
    monkeypatch.chdir(core.parents[2])


@pytest.fixture
def level(tmp_path):
    (tmp_path / "level.txt").write_text(FLAT)
    return read_level(tmp_path / "level.txt")


def played(level, script, monkeypatch, *, games=1):
    """Returns the games, the display, and the buttons of each tick."""
    from neurozoo.environments.platformer.game import PlatformerGame

    pressed, press = [], PlatformerGame.press
    monkeypatch.setattr(PlatformerGame, "press", lambda self, buttons: (pressed.append(buttons), press(self, buttons)))
    clock = Clock()
    display = FakeDisplay(script, clock=clock)
    return play_level(level, display, games=games, clock=clock, sleep=clock.sleep), display, pressed


def test_a_person_who_holds_right_wins_a_flat_level_in_the_time_of_the_original(level, monkeypatch):
    games, display, pressed = played(level, {0: ["right"]}, monkeypatch, games=2)
    # Running takes 89 decisions in a flat level; the key is still held in the second game.
    assert games == [PlayedLevel("won", 1.0, 89)] * 2
    assert set(pressed) == {RIGHT | SPEED}
    assert display.screens[0].shape == (256, 256, 3)
    assert (display.screens[0] != display.screens[80]).any()
    assert display.times[24] - display.times[0] == pytest.approx(1)
    assert "100% of the way  won" in display.statuses[89]
    assert display.times[90] - display.times[89] == pytest.approx(1)


def test_keys_are_buttons(level, monkeypatch):
    script = {0: ["r"], 1: ["right"], 2: ["space"], 3: ["-space", "up"], 4: ["-right", "-up", "left"], 5: ["down"]}
    games, _, pressed = played(level, script | {6: ["-down", "r", "p"], 7: ["q"]}, monkeypatch)
    assert pressed[:7] == [0, RIGHT, RIGHT | JUMP, RIGHT | JUMP, LEFT, LEFT | DOWN, SPEED]
    assert games[0].outcome == "not finished"
    assert games[0].ticks == len(pressed)


def test_a_lost_game_is_called_lost(tmp_path, monkeypatch):
    (tmp_path / "pit.txt").write_text(FLAT.replace("X" * 56, "X" * 8 + "-" * 48))
    games, _, _ = played(read_level(tmp_path / "pit.txt"), {0: ["right"]}, monkeypatch)
    assert games[0].outcome == "lost"
    assert games[0].completion < 0.5


def test_what_is_no_level_is_refused(tmp_path, capsys):
    from neurozoo.cli.movies_and_play import _play_level

    (tmp_path / "level.txt").write_text("no level")
    options = type("Options", (), {"folder": tmp_path / "level.txt", "cell": None, "terminal": True})
    with pytest.raises(NeurozooError, match="1 lines of 8 characters"):
        _play_level(options)


def test_the_command_plays_a_level_in_a_real_terminal(tmp_path):
    (tmp_path / "level.txt").write_text(FLAT)
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "neurozoo", "play", str(tmp_path / "level.txt"), "--terminal"])
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
        read_until(terminal, b"tick 0")
        os.write(terminal, b"\x1b[C")
        read_until(terminal, b"% of the way")
        os.write(terminal, b"q")
        shown = read_until(terminal, b"game 1: not finished after ")
        assert b"\x1b[?1049l" in shown
        assert finished(child, terminal) == 0
    finally:
        os.close(terminal)
