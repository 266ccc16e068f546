"""What the keys do, whatever the display.

Source: keys of simple_dqn (tambetm), which are those of the Arcade Learning Environment 0.5 (`display_screen.cpp`).
Deviations: q and escape end the game; of two opposite directions, the one pressed last counts.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

FIRST_DELAY = 17  # milliseconds per frame: the console's own speed
STEP = 5  # milliseconds of delay, or units of volume
VOLUME = 50  # of 100, at the start
PATIENCE = 0.02  # seconds: maximum time between two checks of the keys
_ARROWS = ("up", "down", "left", "right")
_OPPOSITES = {"up": "down", "down": "up", "left": "right", "right": "left"}

# The actions that keys can choose, apart from NOOP, by their ALE names.
JOYSTICK = {
    up + side + fire
    for up, side, fire in itertools.product(("", "UP", "DOWN"), ("", "LEFT", "RIGHT"), ("", "FIRE"))
    if up + side + fire
}

MANUAL_HELP = "arrows move, space acts, p no-op, m agent"


class Display(Protocol):
    """Shows a game, and reads keys."""

    @property
    def hold(self) -> float | None:
        """See `Controls`."""

    def show(self, screen: np.ndarray, status: str) -> None:
        """Shows a screen, uint8, shape (height, width, 3), with a line of text below it."""

    def hear(self, sound: np.ndarray, volume: int) -> None:
        """Plays a frame of sound, uint8, shape (samples,), where 128 is silence; `volume` goes from 0 to 100."""

    def read_keys(self) -> Iterator[tuple[str, bool]]:
        """Yields the keys that were pressed (True) or released (False) since the last call, see `Controls`."""


def help_of(*, has_joystick: bool, is_heard: bool) -> str:
    """Says which keys do something while the agent plays."""
    wanted = {"a slower": True, "s faster": True, "m manual": has_joystick, "[ ] volume": is_heard, "q quit": True}
    return ", ".join(key for key, does_something in wanted.items() if does_something)


def action_of(joystick: str, actions: Sequence[str]) -> int:
    """Returns the index of the action that a position of the joystick stands for, see `Controls.joystick`.

    Its button is an action's FIRE, or else its hands, or else nothing. Where there is no such action, it is the no-op,
    or else the first action.
    """
    known = [name.upper() for name in actions]
    move = joystick.removesuffix("FIRE")
    with_hands = f"{move or 'STAY'}+HANDS" if joystick.endswith("FIRE") else joystick
    return next((known.index(name) for name in (joystick, with_hands, move, "NOOP") if name in known), 0)


class Controls:
    """Turns pressed keys into the speed, the volume, who plays, and the human's action.

    Keys have the names `up`, `down`, `left`, `right`, `space`, `return`, `escape`, or their letter. For `hold` seconds
    after a press, a key counts as held. This is for terminals, which repeat a held key but never report its release; it
    is None for displays that call `release`.

    Attributes:
        delay: Milliseconds per frame.
        volume: From 0 to 100.
        is_manual: Whether the human plays.
        runs: Whether the human's figure runs, in games where it can walk.
        is_over: Whether the human wants to quit.
    """

    def __init__(self, *, is_manual: bool = False, hold: float | None = None):
        self.delay, self.volume = FIRST_DELAY, VOLUME
        self.is_manual, self.runs, self.is_over = is_manual, True, False
        self._hold = hold
        self._held: dict[str, float] = {}  # when each key was pressed, oldest first

    def press(self, key: str, now: float) -> None:
        """Reacts to a pressed key; unknown ones do nothing. `now` is in seconds, on any clock."""
        if key == "a":
            self.delay += STEP
        elif key == "s":
            self.delay = max(0, self.delay - STEP)
        elif key == "]":
            self.volume = min(100, self.volume + STEP)
        elif key == "[":
            self.volume = max(0, self.volume - STEP)
        elif key == "m":
            self.is_manual = not self.is_manual
            self._held.clear()
        elif key == "r":
            self.runs = not self.runs
        elif key in ("q", "escape"):
            self.is_over = True
        elif key in ("return", "p"):
            self._held.clear()
        elif key in (*_ARROWS, "space"):
            if self._hold is not None and key in _OPPOSITES:  # without release events, this releases the opposite
                self._held.pop(_OPPOSITES[key], None)
            self._held.pop(key, None)
            self._held[key] = now

    def release(self, key: str) -> None:
        """Reacts to a released key."""
        self._held.pop(key, None)

    def joystick(self, now: float) -> str:
        """Returns the human's action by its ALE name, such as `UPRIGHTFIRE` or `NOOP`; `now` as in `press`."""
        held = [key for key, since in self._held.items() if self._hold is None or now - since <= self._hold]
        directions = [
            max((key for key in axis if key in held), key=held.index, default="") for axis in (_ARROWS[:2], _ARROWS[2:])
        ]
        return ("".join(directions) + ("fire" if "space" in held else "")).upper() or "NOOP"

    def wait(
        self, display: Display, end: Callable[[], float], *, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        """Reacts to the keys of a display until the time `end`, which they may change, or until the human quits."""
        while True:
            for key, is_down in display.read_keys():
                if is_down:
                    self.press(key, clock())
                else:
                    self.release(key)
            remaining = end() - clock()
            if self.is_over or remaining <= 0:
                return
            sleep(min(remaining, PATIENCE))
