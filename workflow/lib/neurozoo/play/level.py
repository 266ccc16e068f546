"""Lets a person play a level of the platform game on a display."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neurozoo.environments.platformer.game import TICKS_PER_SECOND, PlatformerGame
from neurozoo.environments.platformer.simulator import CORE, DOWN, JUMP, LEFT, RIGHT, RUNNING, SPEED, WON
from neurozoo.play.controls import FIRST_DELAY, Controls, Display

HELP = "arrows move, space or up jumps, r run or walk, a slower, s faster, q quit"
_OUTCOMES = {RUNNING: "not finished", WON: "won"}  # all others are lost
_END_SECONDS = 1.0  # for which the end of a game is shown


@dataclass(frozen=True)
class PlayedLevel:
    """A game of a level: `won`, `lost` or `not finished`, the share of the way to the finish, and the ticks it took."""

    outcome: str
    completion: float
    ticks: int


def play_level(
    level: np.ndarray,
    display: Display,
    *,
    games: int = 1,
    core: str | os.PathLike = CORE,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[PlayedLevel]:
    """Shows a level, 24 ticks a second, and lets a person play it until the games are over or the person quits.

    The runner runs (SPEED is held) until the key r makes it walk. A terminal does not report that a key is released;
    there, a key counts for a while, see `Controls`. The last game may be unfinished. The level is uint8, shape (16,
    56).
    """
    controls = Controls(is_manual=True, hold=display.hold)

    def show(game: PlatformerGame, seconds: float = 0.0) -> None:
        """Shows a game for a tick, or longer."""
        began, outcome = clock(), f"  {_outcome(game)}" if game.is_over else ""
        display.show(game.screen(), f"tick {game.tick}, {game.completion:.0%} of the way{outcome}  {HELP}")
        tick = 1 / FIRST_DELAY / TICKS_PER_SECOND
        controls.wait(display, lambda: began + max(controls.delay * tick, seconds), clock=clock, sleep=sleep)

    played: list[PlayedLevel] = []
    while len(played) < games and not controls.is_over:
        game = PlatformerGame(level, core=core)
        try:
            while not (game.is_over or controls.is_over):
                show(game)
                game.press(_buttons(controls.joystick(clock()), runs=controls.runs))
            if game.is_over:
                show(game, seconds=_END_SECONDS)
        except KeyboardInterrupt:
            controls.is_over = True
        played.append(PlayedLevel(_outcome(game), game.completion, game.tick))
    return played


def _outcome(game: PlatformerGame) -> str:
    return _OUTCOMES.get(game.status, "lost")


def _buttons(joystick: str, *, runs: bool) -> int:
    """Returns the buttons of a position of the joystick as bits."""
    held = {"LEFT": LEFT, "RIGHT": RIGHT, "DOWN": DOWN, "UP": JUMP, "FIRE": JUMP}
    found = SPEED if runs else 0
    for name, button in held.items():
        found |= button if name in joystick else 0
    return found
