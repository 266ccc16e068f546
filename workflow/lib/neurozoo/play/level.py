"""Lets a person play a level of the platform game on a display."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neurozoo.environments.platformer.game import TICKS_PER_SECOND, PlatformerGame
from neurozoo.environments.platformer.simulator import DOWN, JUMP, LEFT, OPS, RIGHT, RUNNING, SPEED, WON
from neurozoo.play.controls import FIRST_DELAY, Controls
from neurozoo.play.game import Display

HELP = "arrows move, space or up jumps, r run or walk, a slower, s faster, q quit"
_OUTCOMES = {RUNNING: "not finished", WON: "won"}  # all others are lost
_PATIENCE = 0.02  # seconds: maximum time between two checks of the keys
_END_SECONDS = 1.0  # for which the end of a game is shown


@dataclass(frozen=True)
class PlayedLevel:
    """A game of a level.

    Attributes:
        outcome: `won`, `lost` or `not finished`.
        completion: Share of the way to the finish, 0 to 1.
        ticks: Its length.
    """

    outcome: str
    completion: float
    ticks: int


def play_level(
    level: np.ndarray,
    display: Display,
    *,
    games: int = 1,
    ops: str | os.PathLike = OPS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[PlayedLevel]:
    """Shows a level, 24 ticks a second, and lets a person play it until the games are over or the person quits.

    The runner runs (SPEED is held) until the key r makes it walk. A terminal does not report that a key is released;
    there, a key counts for a while, see `Controls`.

    Args:
        level: uint8, shape (16, 56), numbers of tiles.
        display: Where to show it.
        games: Number of games.
        ops: The op library.
        clock: Returns the time in seconds.
        sleep: Waits for a number of seconds.

    Returns:
        The games. The last one may be unfinished.

    Raises:
        NeurozooError: The op library is missing or does not fit.
    """
    person = _Person(display, clock, sleep)
    played = []
    for _ in range(games):
        game = PlatformerGame(level, ops=ops)
        try:
            while not (game.is_over or person.controls.is_over):
                person.wait(game)
                game.press(person.buttons())
            if game.is_over:
                person.wait(game, seconds=_END_SECONDS)
        except KeyboardInterrupt:
            person.controls.is_over = True
        played.append(PlayedLevel(_OUTCOMES.get(game.status, "lost"), game.completion, game.tick))
        if person.controls.is_over:
            break
    return played


class _Person:
    """Reads keys while a picture is shown, and turns them into buttons."""

    def __init__(self, display: Display, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self.controls = Controls(is_manual=True, hold=display.hold)
        self._display, self._clock, self._sleep = display, clock, sleep
        self._runs = True

    def buttons(self) -> int:
        """Returns the buttons that are held now, as bits."""
        joystick = self.controls.joystick(self._clock())
        held = {"LEFT": LEFT, "RIGHT": RIGHT, "DOWN": DOWN, "UP": JUMP, "FIRE": JUMP}
        found = SPEED if self._runs else 0
        for name, button in held.items():
            found |= button if name in joystick else 0
        return found

    def wait(self, game: PlatformerGame, *, seconds: float = 0.0) -> None:
        """Shows a game and waits for a tick, or longer; ends early if the person quits."""
        began = self._clock()
        outcome = f"  {_OUTCOMES.get(game.status, 'lost')}" if game.is_over else ""
        status = f"tick {game.tick}, {game.completion:.0%} of the way{outcome}  {HELP}"
        self._display.show(game.screen(), status)
        while not self.controls.is_over:
            for key, is_down in self._display.read_keys():
                if is_down and key == "r":
                    self._runs = not self._runs
                elif is_down:
                    self.controls.press(key, self._clock())
                else:
                    self.controls.release(key)
            delay = self.controls.delay / FIRST_DELAY / TICKS_PER_SECOND
            remaining = began + max(delay, seconds) - self._clock()
            if remaining <= 0:
                break
            self._sleep(min(remaining, _PATIENCE))
