"""Draws a game's screen into a movie's frame, and score, step and action below it."""

from collections.abc import Sequence

import numpy as np
from PIL import Image

from neurozoo.environments.atari import ATARI_WIDTH
from neurozoo.movies.lettering import write_fitting
from neurozoo.movies.themes import packed_picture
from neurozoo.rollouts.rollout_files import Action
from neurozoo.text import number_label

SMALL_SCREEN = 250  # pixels; screens up to this width are shown twice as large
LINE = 26  # pixels per line of the caption
OVER = 2  # divides the brightness of a screen whose rollout has ended
SHOWN_OUTPUTS = 3  # number of continuous outputs whose values are written


class ScreenView:
    """Draws a game's screen, and its caption if there is an `overlay`, into a rectangle of a movie's frame.

    The rectangle has `width` and `height`; its upper `screen_height` pixels are the screen, enlarged by `zoom`, or by
    two if it is small.
    """

    def __init__(
        self,
        screen_shape: tuple[int, int, int],
        actions: Sequence[str],
        *,
        overlay: bool = True,
        zoom: int | None = None,
    ):
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
        """Draws screen and caption into an image; this and the screen are uint8, shape (height, width, 3).

        `corner` is the row and column of the rectangle's upper left pixel. Steps count from 1. If the rollout
        `is_over`, the screen is darker.
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


def action_words(names: Sequence[str], action: Action) -> str:
    """Returns the name of an action, or the names and values of the first continuous outputs."""
    if isinstance(action, int):
        return names[action]
    return ", ".join(f"{name} {value:+.2f}" for name, value in list(zip(names, action, strict=False))[:SHOWN_OUTPUTS])


def zoom_of(screen_shape: tuple[int, int, int]) -> int:
    """Returns the factor by which a screen is enlarged where there is room."""
    return 2 if screen_shape[1] <= SMALL_SCREEN else 1


def enlarged(picture: np.ndarray, zoom: int) -> np.ndarray:
    """Repeats each pixel of (height, width, 3) `zoom` times in both directions."""
    return picture.repeat(zoom, axis=1).repeat(zoom, axis=0)  # this order is twice as fast as the other


def even(side: int) -> int:
    """Rounds a number of pixels up to an even one, as the video format requires."""
    return -(-side // 2) * 2


def fitted_size(screen_shape: tuple[int, int, int], width: int, height: int) -> tuple[int, int]:
    """Returns the width and height of a screen that is enlarged, or reduced, to fit into a rectangle.

    Screens of an Atari fill the rectangle, as they filled a television; others keep their shape.
    """
    rows, columns = screen_shape[:2]
    if columns == ATARI_WIDTH:
        return width, height
    times = min(width / columns, height / rows)
    return max(2, round(columns * times)), max(2, round(rows * times))


def draw_packed(view: np.ndarray, screen: np.ndarray) -> None:
    """Draws a screen, uint8 (rows, columns, 3), into packed pixels, uint32: repeats pixels, or averages them."""
    (height, width), (rows, columns) = view.shape, screen.shape[:2]
    if width < columns or height < rows:
        view[:] = packed_picture(np.asarray(Image.fromarray(screen).resize((width, height), Image.Resampling.BOX)))
    else:
        wide = packed_picture(screen).take(np.arange(width) * columns // width, axis=1)
        view[:] = wide.take(np.arange(height) * rows // height, axis=0)
