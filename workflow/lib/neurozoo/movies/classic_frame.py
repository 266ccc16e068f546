"""Frames of a classic activation movie: a canvas with a panel for each layer's activations.

A panel is laid out once: a table says for each pixel which value of the activation it shows. Drawing a frame is then
one indexed copy per panel.

Source of the layout: activation movies of the Atari Zoo, Such et al. 2018, arXiv:1812.07069. Deviations: all gaps are
one pixel wide (the zoo resizes whole panels, and some lines vanish), a dense unit has 5 pixels (4.5 in the zoo), the
gaps between units are grey, and the canvas grows with the number of layers and with a wide screen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord
from neurozoo.environments.observations import ObservationShape
from neurozoo.movies.activations import WatchedStep
from neurozoo.movies.lettering import black_letters, write_centred
from neurozoo.movies.screens import action_words, even
from neurozoo.text import number_label

WIDTH, HEIGHT = 550, 1000  # pixels of the canvas; its height is a minimum
CENTRE, TOP, SPACING = 350, 25, 50  # of the column of panels
GAME_X, GAME_Y = 50, 580  # upper left corner of the game's screen
MAP_COLUMNS, UNIT_COLUMNS = 8, 32
UNIT_PITCH, OUTPUT_PITCH = 5, 14  # pixels from one dense unit to the next
FEW_UNITS = 16  # layers with at most this many units are drawn as large as outputs
MAP_GAP, UNIT_GAP = (255, 0, 0), (110, 110, 110)  # red would tint small units: video halves the resolution of colour
CHOSEN = (0, 200, 60)
LABEL_SIZE, NOTE_SIZE = 20, 16  # points
LABEL_RISE = 13  # pixels from a label's middle to its panel
MARGIN = 5  # minimum pixels between the game's screen and a panel beside it
MAP_WIDTH, SMALL_MAP_WIDTH = 33, 22  # maximum pixels of a map: eight maps fit beside the screen
OBSERVATION_HEIGHT = 84  # approximate pixels of an observation's planes
OBSERVATION_COLUMNS = 4  # planes of an observation in one row; more take two

Box = tuple[int, int, int, int]  # left, top, width and height in pixels


def value_grid(shape: tuple[int, int, int], *, columns: int, sides: tuple[int, int], gap: int) -> np.ndarray:
    """Lays maps, (height, width, channels), or units, (1, 1, units), side by side, row by row.

    `sides` are the height and width of a map in pixels, and `gap` the pixels between maps.

    Returns:
        int32, shape (height, width): for each pixel, the index into the flattened activation; -1 in gaps.
    """
    height, width, channels = shape
    row, y = _cells(-(-channels // columns), values=height, length=sides[0], gap=gap)
    column, x = _cells(columns, values=width, length=sides[1], gap=gap)
    channel = row[:, None] * columns + column
    source = (y[:, None] * width + x) * channels + channel
    is_gap = (y[:, None] < 0) | (x < 0) | (channel >= channels)
    return np.where(is_gap, -1, source).astype(np.int32)


def _cells(count: int, *, values: int, length: int, gap: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns for each pixel of an axis its cell of `length` pixels, and which of `values` it shows; -1 in gaps."""
    cell, inside = np.divmod(np.arange(count * (length + gap) - gap), length + gap)
    return cell, np.where(inside >= length, -1, inside * values // length)


def in_colour(grid: np.ndarray) -> np.ndarray:
    """Turns the grid of a plane into that of red, green and blue: shape (height, width, 3)."""
    return np.where(grid[..., None] < 0, -1, grid[..., None] * 3 + np.arange(3, dtype=np.int32))


@dataclass(frozen=True)
class Panel:
    """A rectangle that shows one activation, with a label above it."""

    label: str
    # int, shape (height, width), or (height, width, 3) for a picture in colour: index into the flattened activation; -1
    # in gaps.
    source: np.ndarray
    gap: tuple[int, int, int]  # red, green and blue of the gaps

    @property
    def height(self) -> int:
        """Height in pixels."""
        return self.source.shape[0]

    @property
    def width(self) -> int:
        """Width in pixels."""
        return self.source.shape[1]

    def draw(self, view: np.ndarray, activation: np.ndarray) -> None:
        """Draws an activation, uint8 of any shape, 0 black and 255 white, into uint8 (height, width, 3)."""
        for colour, gap in enumerate(self.gap):
            # Gaps have index -1, so they show the appended value. One colour at a time is five times as fast as three.
            source = self.source if self.source.ndim == 2 else self.source[..., colour]
            view[..., colour] = np.append(activation, np.uint8(gap))[source]


def maps_panel(label: str, shape: tuple[int, int, int], *, columns: int = MAP_COLUMNS, scale: float = 1.0) -> Panel:
    """Lays a convolution's maps, (height, width, channels), side by side; `scale` is pixels per value."""
    sides = (round(shape[0] * scale), round(shape[1] * scale))
    return _framed(label, value_grid(shape, columns=min(columns, shape[2]), sides=sides, gap=1), MAP_GAP)


def units_panel(label: str, units: int, *, pitch: int = UNIT_PITCH) -> Panel:
    """Lays a dense layer's units side by side as small squares, one each `pitch` pixels."""
    columns, sides = min(UNIT_COLUMNS, units), (pitch - 1, pitch - 1)
    return _framed(label, value_grid((1, 1, units), columns=columns, sides=sides, gap=1), UNIT_GAP)


def colour_panel(label: str, shape: tuple[int, int, int], *, scale: float = 1.0) -> Panel:
    """Shows an observation in colour, (height, width, 3), as one picture; `scale` is pixels per value."""
    panel = maps_panel(label, (*shape[:2], 1), scale=scale)
    return Panel(label, in_colour(panel.source), UNIT_GAP)


def _framed(label: str, source: np.ndarray, gap: tuple[int, int, int]) -> Panel:
    return Panel(label, np.pad(source, 1, constant_values=-1), gap)


def observation_panel(shape: ObservationShape) -> Panel:
    """Chooses the panel of an observation: its planes, a picture in colour, or a row of numbers."""
    height, width, channels = shape.observation
    scale = OBSERVATION_HEIGHT // height if height < OBSERVATION_HEIGHT else OBSERVATION_HEIGHT / height
    if height == width == 1:
        return units_panel(f"observation: {channels} numbers", channels, pitch=OUTPUT_PITCH)
    if shape.is_in_colour:
        return colour_panel(f"observation: {height} x {width} in colour", shape.observation, scale=scale)
    label = f"the last {shape.stack} frames" if shape.stack > 1 else f"{channels} x {height} x {width}"
    columns = channels if channels <= OBSERVATION_COLUMNS else -(-channels // 2)
    return maps_panel(f"observation: {label}", shape.observation, columns=columns, scale=scale)


def layer_panel(layer: LayerRecord, *, is_output: bool, is_continuous: bool = False) -> Panel:
    """Chooses the panel of a layer; its label comes from the frozen model."""
    if len(layer.shape) == 1:
        (units,) = layer.shape
        if is_output:
            label = f"{layer.name}:" if is_continuous else f"{layer.name}: {units} actions"
            return units_panel(label, units, pitch=OUTPUT_PITCH)
        pitch = OUTPUT_PITCH if units <= FEW_UNITS else UNIT_PITCH
        return units_panel(f"{layer.name}: {units} units", units, pitch=pitch)
    height, width, channels = layer.shape
    cycles = f", {layer.cycles} cycles" if layer.kind in ("recurrent_conv", "landscape") else ""
    if width > SMALL_MAP_WIDTH // 2:
        scale = min(1.5 if width > 16 else 2.0, MAP_WIDTH / width)
    else:
        scale = SMALL_MAP_WIDTH // width
    label = f"{layer.name}: {channels} maps of {height} x {width}{cycles}"
    return maps_panel(label, (height, width, channels), scale=scale)


@dataclass(frozen=True)
class Place:
    """Position of a panel or the screen on a frame, for pages that link to it or show it alone."""

    name: str  # `screen`, `observation`, or the layer's name
    label: str  # text above it
    box: Box
    view: Box  # the same, including the text around it
    rows: int = 1  # of equal height, such as rows of maps; pages may lay them side by side


class Canvas:
    """A movie's frame: panels in a column on the right, the game's screen of (height, width, 3) on the left.

    The number of steps is written on each frame. `height` and `width` are even, as the video format requires; `places`
    are the positions of the game's screen and then of the panels, from top to bottom.
    """

    def __init__(self, frozen: FrozenModel, *, screen_shape: tuple[int, int, int], steps: int):
        self._actions, self._steps = frozen.actions, steps
        last, is_continuous = frozen.layers[-1], frozen.is_continuous
        layers = [layer_panel(layer, is_output=layer is last, is_continuous=is_continuous) for layer in frozen.layers]
        self.panels = (observation_panel(frozen.shape), *layers)
        tops, y = [], TOP
        for panel in self.panels:
            tops.append(y)
            y += panel.height + SPACING
        placed = list(zip(self.panels, tops, strict=True))
        screen_right = GAME_X + screen_shape[1] + MARGIN
        beside = [panel.width // 2 for panel, top in placed if top + panel.height > GAME_Y - TOP]
        self._centre = centre = max([CENTRE, *(screen_right + half for half in beside)])
        right = max(centre + max(panel.width for panel in self.panels) // 2 + TOP, screen_right)
        self.width = even(max(WIDTH, right, centre - CENTRE + WIDTH))
        self.height = even(max(HEIGHT, y - SPACING // 2, GAME_Y + screen_shape[0] + 2 * SPACING))
        self._base = np.full((self.height, self.width, 3), 255, np.uint8)
        self._image = np.empty_like(self._base)
        boxes = [(centre - panel.width // 2, top, panel.width, panel.height) for panel, top in placed]
        self._views = [self._image[top : top + height, left : left + width] for left, top, width, height in boxes]
        for panel, top in placed[:-1]:
            write_centred(self._base, panel.label, centre, top - LABEL_RISE, LABEL_SIZE)
        self._output_corner = (boxes[-1][1], boxes[-1][0])
        self._screen = (slice(GAME_Y, GAME_Y + screen_shape[0]), slice(GAME_X, GAME_X + screen_shape[1]))
        self._note_x, self._note_y = GAME_X + screen_shape[1] // 2, GAME_Y + screen_shape[0] + LABEL_RISE
        write_centred(self._base, frozen.game.replace("_", " "), self._note_x, GAME_Y - LABEL_RISE, LABEL_SIZE)
        notes = f"score {-(10**6):,}", f"step {10**4:,} of {10**4:,}"
        screen_box = (GAME_X, GAME_Y, screen_shape[1], screen_shape[0])
        screen_view = self._with_writing(screen_box, notes, below=SPACING)
        names = ("observation", *(layer.name for layer in frozen.layers))
        outputs = [f"{self.panels[-1].label}, {action}" for action in self._actions]
        texts = [*([panel.label] for panel in self.panels[:-1]), outputs]
        self.places = (
            Place("screen", "the game's screen", screen_box, screen_view),
            *(
                Place(name, panel.label.rstrip(":"), box, self._with_writing(box, words, below=0))
                for name, panel, box, words in zip(names, self.panels, boxes, texts, strict=True)
            ),
        )

    def _with_writing(self, box: Box, texts: Sequence[str], *, below: int) -> Box:
        """Widens a box by a label above, `below` pixels under it, and the width of centred texts."""
        left, top, width, height = box
        half = max(width, *(black_letters(text, LABEL_SIZE).shape[1] for text in texts)) // 2 + MARGIN
        top, bottom = max(0, top - LABEL_RISE - LABEL_SIZE), min(self.height, top + height + below + MARGIN)
        middle = left + width // 2
        left, right = max(0, middle - half), min(self.width, middle + half)
        return left, top, right - left, bottom - top

    def compose(self, step: WatchedStep) -> np.ndarray:
        """Draws one frame: uint8, shape (`height`, `width`, 3); overwritten by the next call."""
        image = self._image
        np.copyto(image, self._base)
        for panel, view, activation in zip(self.panels, self._views, step.pictures, strict=True):
            panel.draw(view, activation)
        image[self._screen] = step.screen
        is_chosen = isinstance(step.action, int)
        label = f"{self.panels[-1].label}{',' if is_chosen else ''} {action_words(self._actions, step.action)}"
        write_centred(image, label, self._centre, self._output_corner[0] - LABEL_RISE, LABEL_SIZE)
        if isinstance(step.action, int):
            frame_output(image, self._output_corner, step.action)  # over the label's lower edge
        write_centred(image, f"score {number_label(step.score)}", self._note_x, self._note_y, LABEL_SIZE)
        steps = f"step {step.number + 1:,} of {self._steps:,}"
        write_centred(image, steps, self._note_x, self._note_y + 25, NOTE_SIZE)
        return image


def frame_output(image: np.ndarray, corner: tuple[int, int], action: int) -> None:
    """Frames one unit of an output layer's panel in green.

    `corner` is the row and column of the panel's upper left pixel; the frame may reach one pixel beyond the panel.
    """
    row, column = divmod(action, UNIT_COLUMNS)
    top, left = corner[0] + OUTPUT_PITCH * row, corner[1] + OUTPUT_PITCH * column
    bottom, right = top + OUTPUT_PITCH, left + OUTPUT_PITCH
    for inner in (-1, 0):
        image[[top + inner, bottom - inner], left + inner : right - inner + 1] = CHOSEN
        image[top + inner : bottom - inner + 1, [left + inner, right - inner]] = CHOSEN
