"""Draws a game's screen into a movie's frame: enlarged if small, with score, step and action below."""

from collections.abc import Sequence

import numpy as np

from neurozoo.movies.panels import action_words, write_fitting
from neurozoo.number_text import number_label
from neurozoo.rollouts.rollout_files import Action

SMALL_SCREEN = 250  # pixels; screens up to this width are shown twice as large
LINE = 26  # pixels per line of the caption
OVER = 2  # divides the brightness of a screen whose rollout has ended


class ScreenView:
    """Draws a game's screen and its caption into a rectangle of a movie's frame.

    Attributes:
        width: Pixels of the rectangle.
        height: Pixels of the rectangle; the upper `screen_height` of them are the screen.
        screen_height: Pixels of the enlarged screen.
    """

    def __init__(
        self,
        screen_shape: tuple[int, int, int],
        actions: Sequence[str],
        *,
        overlay: bool = True,
        zoom: int | None = None,
    ):
        """Lays out the rectangle.

        Args:
            screen_shape: (height, width, 3) of the game's screen.
            actions: Names of the actions, or of continuous outputs.
            overlay: Whether to write score, step and action below the screen.
            zoom: Factor of enlargement; None for two if the screen is small, else one.
        """
        self._zoom = zoom or zoom_of(screen_shape)
        self._actions, self._overlay = actions, overlay
        self.screen_height, self.width = (self._zoom * side for side in screen_shape[:2])
        self.height = self.screen_height + (2 * LINE if overlay else 0)

    def draw(
        self,
        image: np.ndarray,
        corner: tuple[int, int],
        screen: np.ndarray,
        *,
        score: float,
        step: int,
        action: Action,
        is_over: bool = False,
    ) -> None:
        """Draws screen and caption.

        Args:
            image: Drawn into: uint8, shape (height, width, 3).
            corner: Row and column of the rectangle's upper left pixel.
            screen: uint8, shape `screen_shape`.
            score: Points of the episode so far.
            step: Number of the step, from 1.
            action: Index of the action, or the values of continuous outputs.
            is_over: Whether the rollout has ended; the screen is darker then.
        """
        top, left = corner
        bottom, right = top + self.screen_height, left + self.width
        shown = screen // OVER if is_over else screen
        image[top:bottom, left:right] = enlarged(shown, self._zoom)
        if not self._overlay:
            return
        image[bottom : top + self.height, left:right] = 255
        for words, place in ((f"score {number_label(score)}", 1), (f"step {step:,}", 3)):
            write_fitting(image, words, left + self.width * place // 4, bottom + LINE // 2 + 1, self.width // 2)
        words = "end" if is_over else action_words(self._actions, action)
        write_fitting(image, words, left + self.width // 2, bottom + LINE * 3 // 2, self.width)


def zoom_of(screen_shape: tuple[int, int, int]) -> int:
    """Returns the factor by which a screen is enlarged where there is room."""
    return 2 if screen_shape[1] <= SMALL_SCREEN else 1


def enlarged(picture: np.ndarray, zoom: int) -> np.ndarray:
    """Repeats each pixel of (height, width, 3) `zoom` times in both directions."""
    return picture.repeat(zoom, axis=1).repeat(zoom, axis=0)  # this order is twice as fast as the other


def even(side: int) -> int:
    """Rounds a number of pixels up to an even one, as the video format requires."""
    return -(-side // 2) * 2
