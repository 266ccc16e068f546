"""Shows a frozen agent playing, in a window or a terminal; a human can take over the joystick, or play a level."""

from neurozoo.play.game import play_games
from neurozoo.play.level import play_level
from neurozoo.play.terminal import TerminalDisplay
from neurozoo.play.window import WindowDisplay

__all__ = ["TerminalDisplay", "WindowDisplay", "play_games", "play_level"]
