"""What the keys do, without any window.

Source: keys of simple_dqn (tambetm), which are those of the Arcade Learning Environment 0.5 (`display_screen.cpp`).
Deviations: q and escape end the game; of two opposite directions the one that was pressed last counts.
"""

FIRST_DELAY = 17  # milliseconds per frame: the console's own speed
STEP = 5  # milliseconds, and units of volume
VOLUME = 50  # of 100, at the start
_ARROWS = ("up", "down", "left", "right")
_OPPOSITES = {"up": "down", "down": "up", "left": "right", "right": "left"}

HELP = "a slower, s faster, m manual, [ ] volume, q quit"
MANUAL_HELP = "arrows move, space fires, p nothing, m agent"


class Controls:
    """Turns pressed keys into the speed, the volume, who plays, and what the human does.

    Keys go by the names `up`, `down`, `left`, `right`, `space`, `return`, `escape`, and by their letters.

    Args:
        is_manual: Whether the human plays at first.
        hold: Seconds for which a key counts as held after it was pressed, for terminals, which never say that it was
            released but repeat a key that is held; None where `release` is called.

    Attributes:
        delay: Milliseconds of a frame.
        volume: From 0 to 100.
        is_manual: Whether the human plays.
        is_over: Whether it is to end.
    """

    def __init__(self, *, is_manual: bool = False, hold: float | None = None):
        self.delay = FIRST_DELAY
        self.volume = VOLUME
        self.is_manual = is_manual
        self.is_over = False
        self._hold = hold
        self._held: dict[str, float] = {}  # when it was pressed, in the order of that

    def press(self, key: str, now: float) -> None:
        """Does what a key is for, at once or as long as it is held.

        Args:
            key: Its name; others than those above do nothing.
            now: Seconds on any clock.
        """
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
        elif key in ("q", "escape"):
            self.is_over = True
        elif key in ("return", "p"):
            self._held.clear()
        elif key in (*_ARROWS, "space"):
            if self._hold is not None:  # where releases go unheard, the opposite direction is one
                self._held.pop(_OPPOSITES.get(key), None)
            self._held.pop(key, None)
            self._held[key] = now

    def release(self, key: str) -> None:
        """Lets go of a key."""
        self._held.pop(key, None)

    def joystick(self, now: float) -> str:
        """Returns what the human does, by ALE's name of the action, such as `UPRIGHTFIRE` or `NOOP`.

        Args:
            now: Seconds on the clock of `press`.
        """
        held = [key for key, since in self._held.items() if self._hold is None or now - since <= self._hold]
        directions = [
            max((key for key in axis if key in held), key=held.index, default="") for axis in (_ARROWS[:2], _ARROWS[2:])
        ]
        return ("".join(directions) + ("fire" if "space" in held else "")).upper() or "NOOP"
