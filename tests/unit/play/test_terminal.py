"""The terminal display, on a simulated terminal and on a real pseudo-terminal."""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

import numpy as np
import pytest
from neurozoo.environments.atari import aspect_of
from neurozoo.errors import NeurozooError
from neurozoo.play.terminal import KeyReader, TerminalDisplay, cells_of, draw_cells, fitting_size


@pytest.mark.parametrize(
    ("pieces", "keys"),
    [
        ([b"a", b"S"], ["a", "s"]),
        ([b"[", b"]"], ["[", "]"]),
        ([b" \r\n"], ["space", "return", "return"]),
        ([b"\x1b[A\x1b[B\x1b[C\x1b[D"], ["up", "down", "right", "left"]),
        ([b"\x1bOA"], ["up"]),  # in keypad mode
        ([b"\x1b[1;2C"], ["right"]),  # with shift
        ([b"\x1b", b"[", b"Aq"], ["up", "q"]),
        ([b"\x1b[5~m"], ["m"]),  # page up has no meaning here
        ([b"\x1bq"], ["escape", "q"]),
        ([b"\xc3\xa4p"], ["p"]),
    ],
)
def test_bytes_become_keys_even_in_pieces(pieces, keys):
    reader = KeyReader()
    found = [key for number, piece in enumerate(pieces) for key in reader.feed(piece, 0.001 * number)]
    assert [key for key in found if key.isascii()] == keys


def test_an_escape_alone_is_a_key_after_a_moment():
    reader = KeyReader()
    assert reader.feed(b"\x1b", 1.0) == []
    assert reader.feed(b"", 1.01) == []
    assert reader.feed(b"", 1.1) == ["escape"]
    assert reader.feed(b"", 2.0) == []
    assert reader.feed(b"\x1b[", 3.0) == []
    assert reader.feed(b"", 3.1) == []  # an incomplete sequence is dropped
    assert reader.feed(b"A", 3.2) == ["a"]


def test_picture_has_the_format_of_a_television():
    for columns, lines in ((80, 24), (200, 50), (40, 60), (3, 2)):
        width, height = fitting_size(columns, lines, 4 / 3)
        assert width <= columns
        assert height <= 2 * (lines - 1)
        assert height % 2 == 0
        assert columns < 10 or abs(width / height - 4 / 3) < 0.06
    assert fitting_size(200, 25, 4 / 3)[1] == 48
    assert fitting_size(80, 100, 4 / 3)[0] >= 78


def test_a_square_screen_stays_square():
    assert aspect_of((400, 400, 3)) == 1
    assert fitting_size(80, 24, aspect_of((400, 400, 3))) == (46, 46)
    assert aspect_of((210, 160, 3)) == pytest.approx(4 / 3)


class Terminal:
    """Understands just enough control sequences to check what was drawn."""

    def __init__(self, rows, columns):
        self.cells = np.zeros((rows, columns, 6), np.uint8)

    def write(self, text):
        row = column = 0
        colours = None
        for place, colour, _mark in re.findall(r"\x1b\[(\d+;\d+)H|\x1b\[([\d;]+)m|(▀)", text):
            if place:
                row, column = (int(number) - 1 for number in place.split(";"))
            elif colour:
                numbers = [int(number) for number in colour.split(";")]
                assert (numbers[:2], numbers[5:7]) == ([38, 2], [48, 2])
                colours = numbers[2:5] + numbers[7:10]
            else:
                self.cells[row, column] = colours
                column += 1


def test_terminal_shows_every_picture_though_only_changes_are_sent():
    random = np.random.default_rng(0)
    terminal, before = Terminal(6, 10), None
    picture = random.integers(0, 256, (10, 7, 3), np.uint8)
    for _ in range(5):
        cells = cells_of(picture)
        text = draw_cells(cells, before, left=2)
        terminal.write(text)
        assert np.array_equal(terminal.cells[:5, 2:9, :3], picture[0::2])
        assert np.array_equal(terminal.cells[:5, 2:9, 3:], picture[1::2])
        assert not terminal.cells[:, [0, 1, 9]].any()
        before, picture = cells, picture.copy()
        picture[random.integers(10), random.integers(7)] ^= 255
    assert text.count("▀") == 1
    assert draw_cells(before, before, left=2) == ""


def test_without_a_terminal_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setattr(sys, "stdin", open(os.devnull))  # noqa: SIM115
    with pytest.raises(NeurozooError, match="leave --terminal out for a window"):
        TerminalDisplay()


PROGRAM = """
import sys, time
import numpy as np
from neurozoo.play.terminal import TerminalDisplay
with TerminalDisplay() as display:
    number = 0
    while True:
        display.show(np.full((210, 160, 3), number % 200, np.uint8), f"frame {number}")
        number += 1
        for key, is_down in display.read_keys():
            assert is_down
            print(key, file=sys.stderr, flush=True)
            if key == "q":
                sys.exit()
        time.sleep(0.01)
"""


def test_keys_typed_into_a_real_terminal_arrive_and_its_settings_are_restored(tmp_path):
    child, terminal = pty.fork()
    if child == 0:
        os.dup2(os.open(tmp_path / "keys", os.O_CREAT | os.O_WRONLY), 2)
        os.execv(sys.executable, [sys.executable, "-c", PROGRAM])
    try:
        before = termios.tcgetattr(terminal)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
        shown = read_until(terminal, b"frame 0")
        assert b"\x1b[?1049h" in shown
        read_until(terminal, b"frame 2")
        for typed in (b"\x1b[A", b" ", b"m[", b"\r"):
            os.write(terminal, typed)
            read_until(terminal, b"frame")
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 30, 0, 0))
        assert b"\x1b[10;1H" in read_until(terminal, b"\x1b[10;1H")  # the line is at the new bottom
        os.write(terminal, b"q")
        shown = read_until(terminal, b"\x1b[?1049l")
        assert b"\x1b[?25h" in shown
        assert finished(child, terminal) == 0
        assert termios.tcgetattr(terminal)[:4] == before[:4]
    finally:
        os.close(terminal)
    assert (tmp_path / "keys").read_text().split() == ["up", "space", "m", "[", "return", "q"]


def read_until(terminal, wanted, *, seconds=600):
    data, end = b"", time.monotonic() + seconds
    while wanted not in data:
        assert time.monotonic() < end, f"{wanted} did not come: {data[-300:]}"
        if select.select([terminal], [], [], 0.1)[0]:
            data += os.read(terminal, 65536)
    return data


def finished(child, terminal, *, seconds=600):
    """Waits for the program while reading its output, and returns its exit status."""
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        assert time.monotonic() < end
        time.sleep(0.02)
