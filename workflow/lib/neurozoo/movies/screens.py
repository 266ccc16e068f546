"""A game's screen as a part of a movie's frame: large enough to see, with score, step and action beneath."""

from collections.abc import Sequence

import numpy as np

from neurozoo.inspection.panels import action_words, write_fitting

SMALL_SCREEN = 250  # pixels of width up to which a screen is shown twice as large
LINE = 26  # pixels from a line of the caption to the next
OVER = 2  # divisor of the brightness of a screen that stands still


class ScreenView:
    """Draws a game's screen, and what happens there, into a rectangle of a movie's frame.

    Attributes:
        width: Pixels of the rectangle.
        height: Pixels of the rectangle; the screen takes `screen_height` of them from above.
        screen_height: Pixels of the screen as it is shown.
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
            actions: Names of the actions, or of the outputs that are obeyed.
            overlay: Whether score, step and action stand beneath the screen.
            zoom: Pixels per pixel; None for two where the screen is small.
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
        action: int | Sequence[float],
        is_over: bool = False,
    ) -> None:
        """Draws screen and caption.

        Args:
            image: Drawn into: uint8, shape (height, width, 3).
            corner: Row and column of the rectangle's upper left pixel.
            screen: uint8, of the shape that was announced.
            score: Points of the episode so far.
            step: Number of the step, from 1.
            action: Index of the action, or the values of the outputs that are obeyed.
            is_over: Whether it stands still, because the rollout has ended: it is darker then.
        """
        top, left = corner
        bottom, right = top + self.screen_height, left + self.width
        shown = screen // OVER if is_over else screen
        image[top:bottom, left:right] = enlarged(shown, self._zoom)
        if not self._overlay:
            return
        image[bottom : top + self.height, left:right] = 255
        for words, place in ((f"score {score:,.0f}", 1), (f"step {step:,}", 3)):
            write_fitting(image, words, left + self.width * place // 4, bottom + LINE // 2 + 1, self.width // 2)
        words = "end" if is_over else action_words(self._actions, action)
        write_fitting(image, words, left + self.width // 2, bottom + LINE * 3 // 2, self.width)


def zoom_of(screen_shape: tuple[int, int, int]) -> int:
    """Returns how many pixels wide and high a screen's pixel is shown, where there is room."""
    return 2 if screen_shape[1] <= SMALL_SCREEN else 1


def enlarged(picture: np.ndarray, zoom: int) -> np.ndarray:
    """Repeats each pixel of (height, width, 3) `zoom` times in both directions."""
    return picture.repeat(zoom, axis=1).repeat(zoom, axis=0)  # in this order, for it is twice as fast


def even(side: int) -> int:
    """Returns a side's pixels, rounded up to an even number, as the video format wants it."""
    return -(-side // 2) * 2
