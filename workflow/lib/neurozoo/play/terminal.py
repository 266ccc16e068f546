"""A text terminal as a display: two pixels per character, and keys as they are typed.

It works over ssh. The terminal needs 24-bit colours, which nearly all terminals have.
"""

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from typing import Self

import numpy as np
from PIL import Image

from neurozoo.environments.atari import aspect_of
from neurozoo.errors import NeurozooError

_SEQUENCES = {b"A": "up", b"B": "down", b"C": "right", b"D": "left"}  # arrow keys by the last byte of their sequence
_KEY = re.compile(rb"\x1b[\[O][^@-~]*([@-~])|(\x1b)(?=[^\[O])|([^\x1b])")  # a sequence, an escape or another byte
_NAMES = {b" ": "space", b"\r": "return", b"\n": "return"}
_ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J"  # alternate screen, hidden cursor, cleared
_LEAVE = "\x1b[0m\x1b[?25h\x1b[?1049l"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # synchronized update, where the terminal supports it
_ESCAPE_SECONDS = 0.05  # a lone escape byte older than this is the escape key


class KeyReader:
    """Turns the bytes that a terminal sends, possibly in pieces, into names of keys."""

    def __init__(self) -> None:
        self._pending = b""
        self._since = 0.0

    def feed(self, data: bytes, now: float) -> list[str]:
        """Adds the bytes that arrived by now, in seconds on any clock, and returns the keys that are certain."""
        if data:
            self._since = now
        self._pending += data
        keys = []
        while found := _KEY.match(self._pending):
            sequence, escape, byte = found.groups()
            if sequence:
                keys.append(_SEQUENCES.get(sequence, ""))
            elif escape:
                keys.append("escape")
            else:
                keys.append(_NAMES.get(byte) or byte.decode("ascii", "replace").lower())
            self._pending = self._pending[found.end() :]
        if self._pending and now - self._since > _ESCAPE_SECONDS:
            keys.append("escape" if self._pending == b"\x1b" else "")  # an incomplete sequence is dropped
            self._pending = b""
        return [key for key in keys if key]


def fitting_size(columns: int, lines: int, aspect: float) -> tuple[int, int]:
    """Returns (width, height) in pixels of the largest picture that fits above a line of text.

    A character is about twice as high as wide, so half a character is a square pixel. `aspect` is width / height.
    """
    height = max(2, min(2 * (lines - 1), int(columns / aspect)) // 2 * 2)
    return max(1, min(columns, round(height * aspect))), height


def cells_of(picture: np.ndarray) -> np.ndarray:
    """Joins pairs of pixel rows: (rows, columns, 6), with red, green and blue of the upper and of the lower pixel."""
    return np.concatenate([picture[0::2], picture[1::2]], axis=-1)


def draw_cells(cells: np.ndarray, before: np.ndarray | None, *, left: int) -> str:
    """Returns the control sequences that change a terminal's picture into another one, see `cells_of`.

    `before` are the cells shown now; None for an empty screen. The picture begins in the column `left`, from 0.
    """
    is_new = np.ones(cells.shape[:2], bool) if before is None else (cells != before).any(axis=-1)
    parts: list[str] = []
    colours: tuple[int, ...] | None = None
    for row in np.flatnonzero(is_new.any(axis=1)):
        last = -2
        for column in np.flatnonzero(is_new[row]).tolist():
            if column != last + 1:
                parts.append(f"\x1b[{row + 1};{left + column + 1}H")
            cell = tuple(cells[row, column].tolist())
            if cell != colours:
                parts.append("\x1b[38;2;{};{};{};48;2;{};{};{}m".format(*cell))
                colours = cell
            parts.append("▀")
            last = column
    return "".join(parts)


class TerminalDisplay:
    """The terminal of this process as a display, see `neurozoo.play.controls.Display`; use it in a `with` statement.

    Raises:
        NeurozooError: Standard input or output is not a terminal.
    """

    hold = 0.4  # seconds: most terminals repeat a held key sooner than that

    def __init__(self) -> None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise NeurozooError(
                "--terminal needs standard input and output to be a terminal, but at least one of them is not. Start "
                "the command in a terminal, or leave --terminal out for a window."
            )
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._reader = KeyReader()
        self._cells: np.ndarray | None = None
        self._size: os.terminal_size | None = None

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._in)
        tty.setcbreak(self._in, termios.TCSADRAIN)
        self._write(_ENTER)
        return self

    def __exit__(self, *_) -> None:
        self._write(_LEAVE)
        termios.tcsetattr(self._in, termios.TCSADRAIN, self._before)

    def show(self, screen: np.ndarray, status: str) -> None:
        """Draws the cells that have changed, and the status line."""
        size = os.get_terminal_size(self._out)
        width, height = fitting_size(size.columns, size.lines, aspect_of(screen.shape))
        picture = np.asarray(Image.fromarray(screen).resize((width, height), Image.Resampling.BOX))
        cells = cells_of(picture)
        is_same = size == self._size and self._cells is not None and cells.shape == self._cells.shape
        text = "" if is_same else "\x1b[0m\x1b[2J"
        text += draw_cells(cells, self._cells if is_same else None, left=(size.columns - width) // 2)
        text += f"\x1b[0m\x1b[{size.lines};1H\x1b[2K{status[: size.columns - 1]}"
        self._write(_BEGIN + text + _END)
        self._cells, self._size = cells, size

    def hear(self, sound: np.ndarray, volume: int) -> None:
        """Does nothing: a terminal has no sound."""

    def read_keys(self) -> Iterator[tuple[str, bool]]:
        """Yields the keys that were typed; a terminal never reports releases."""
        data = b""
        while select.select([self._in], [], [], 0)[0] and (more := os.read(self._in, 1024)):
            data += more
        for key in self._reader.feed(data, time.monotonic()):
            yield key, True

    def _write(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self._out, data) :]
