"""Watching a frozen agent play, in a window or in a terminal, and taking the joystick from it."""

from neurozoo.play.game import play_games
from neurozoo.play.terminal import TerminalDisplay
from neurozoo.play.window import WindowDisplay

__all__ = ["TerminalDisplay", "WindowDisplay", "play_games"]
