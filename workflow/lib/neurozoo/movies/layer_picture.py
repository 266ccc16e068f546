"""Frames of a one-layer movie: the game on the left, a layer's activation on the right, equally enlarged.

Source: the side-by-side clips of the Atari Zoo, Such et al. 2018, arXiv:1812.07069.
"""

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord
from neurozoo.movies.activations import WatchedStep
from neurozoo.movies.lettering import write_fitting
from neurozoo.movies.panels import LABEL_RISE, frame_output, layer_panel
from neurozoo.movies.screens import ScreenView, enlarged, even, zoom_of

GAP = 30  # pixels around screen and panel
TOP = 40  # pixels above them, for their labels


class LayerPicture:
    """Draws the frames of a one-layer movie; their `height` and `width` are even, as the video format requires."""

    def __init__(
        self, frozen: FrozenModel, layer: LayerRecord, *, screen_shape: tuple[int, int, int], overlay: bool = True
    ):
        self._is_output = layer is frozen.layers[-1]
        self._panel = layer_panel(layer, is_output=self._is_output, is_continuous=frozen.is_continuous)
        self._zoom = zoom_of(screen_shape)
        self._small = np.full((self._panel.height + 2, self._panel.width + 2, 3), 255, np.uint8)
        self._screen = ScreenView(screen_shape, frozen.actions, overlay=overlay)
        height, width = (self._zoom * side for side in self._small.shape[:2])
        left = GAP + self._screen.width + GAP
        self._view = (slice(TOP, TOP + height), slice(left, left + width))
        self.width = even(left + width + GAP)
        self.height = even(TOP + max(self._screen.height, height) + GAP // 2)
        self._image = np.full((self.height, self.width, 3), 255, np.uint8)
        game, label = frozen.game.replace("_", " "), self._panel.label.rstrip(":")
        write_fitting(self._image, game, GAP + self._screen.width // 2, TOP - LABEL_RISE, self._screen.width)
        write_fitting(self._image, label, left + width // 2, TOP - LABEL_RISE, width + GAP)

    def compose(self, step: WatchedStep) -> np.ndarray:
        """Draws one frame: uint8, shape (`height`, `width`, 3); overwritten by the next call.

        The `pictures` of the step are the observation, which is not shown, and the layer's activation.
        """
        small, action = self._small, step.action
        small[:] = 255
        self._panel.draw(small[1:-1, 1:-1], step.pictures[1])
        if self._is_output and isinstance(action, int):
            frame_output(small, (1, 1), action)
        self._image[self._view] = enlarged(small, self._zoom)
        self._screen.draw(self._image, (TOP, GAP), step.screen, score=step.score, step=step.number + 1, action=action)
        return self._image
