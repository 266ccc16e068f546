"""Frames of an activation movie: a canvas with a panel for each layer's activations.

A panel is laid out once: a table says for each pixel which value of the activation it shows. Drawing a frame is then
one indexed copy per panel.

Source of the layout: activation movies of the Atari Zoo, Such et al. 2018, arXiv:1812.07069. Deviations: all gaps are
one pixel wide (the zoo resizes whole panels, and some lines vanish), a dense unit has 5 pixels (4.5 in the zoo), the
gaps between units are grey, and the canvas grows with the number of layers and with a wide screen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from neurozoo.agents.frozen import FrozenModel, LayerRecord
from neurozoo.environments.observations import ObservationShape
from neurozoo.number_text import number_label
from neurozoo.rollouts.rollout_files import Action

WIDTH, HEIGHT = 550, 1000  # pixels of the canvas; its height is a minimum
CENTRE, TOP, SPACING = 350, 25, 50  # of the column of panels
GAME_X, GAME_Y = 50, 580  # upper left corner of the game's screen
MAP_COLUMNS, UNIT_COLUMNS = 8, 32
UNIT_PITCH, OUTPUT_PITCH = 5, 14  # pixels from one dense unit to the next
FEW_UNITS = 16  # layers with at most this many units are drawn as large as outputs
MAP_GAP, UNIT_GAP = (
    (255, 0, 0),
    (110, 110, 110),
)  # red would tint small units: video halves the resolution of colour
CHOSEN = (0, 200, 60)
LABEL_SIZE, NOTE_SIZE = 20, 16  # points
FITTING_SIZES = (20, 18, 16, 14, 12, 10)  # points
LABEL_RISE = 13  # pixels from a label's middle to its panel
MARGIN = 5  # minimum pixels between the game's screen and a panel beside it
MAP_WIDTH, SMALL_MAP_WIDTH = 33, 22  # maximum pixels of a map: eight maps fit beside the screen
OBSERVATION_HEIGHT = 84  # approximate pixels of an observation's planes
OBSERVATION_COLUMNS = 4  # planes of an observation in one row; more take two
SHOWN_OUTPUTS = 3  # number of continuous outputs whose values are written


@dataclass(frozen=True)
class Panel:
    """A rectangle that shows one activation.

    Attributes:
        label: Text above it.
        source: int, shape (height, width), or (height, width, 3) for a picture in colour: index into the flattened
            activation; -1 in gaps.
        gap: Red, green and blue of the gaps.
    """

    label: str
    source: np.ndarray
    gap: tuple[int, int, int]

    @property
    def height(self) -> int:
        """Height in pixels."""
        return self.source.shape[0]

    @property
    def width(self) -> int:
        """Width in pixels."""
        return self.source.shape[1]

    def draw(self, view: np.ndarray, activation: np.ndarray) -> None:
        """Draws the panel.

        Args:
            view: Drawn into: uint8, shape (height, width, 3).
            activation: uint8, any shape; 0 is black and 255 is white.
        """
        for colour, gap in enumerate(self.gap):
            # Gaps have index -1, so they show the appended value. One colour at a time is five times as fast as three.
            source = self.source if self.source.ndim == 2 else self.source[..., colour]
            view[..., colour] = np.append(activation, np.uint8(gap))[source]


def maps_panel(label: str, shape: tuple[int, int, int], *, columns: int = MAP_COLUMNS, scale: float = 1.0) -> Panel:
    """Lays a convolution's maps side by side, row by row.

    Args:
        label: Text above the panel.
        shape: (height, width, channels) of the activation.
        columns: Maps per row.
        scale: Pixels per value, in both directions; a gap of one pixel surrounds each map.
    """
    height, width, channels = shape
    columns = min(columns, channels)
    row, y = _cells(-(-channels // columns), values=height, length=round(height * scale))
    column, x = _cells(columns, values=width, length=round(width * scale))
    channel = row[:, None] * columns + column
    source = (y[:, None] * width + x) * channels + channel
    is_gap = (y[:, None] < 0) | (x < 0) | (channel >= channels)
    return Panel(label, np.where(is_gap, -1, source), MAP_GAP)


def units_panel(label: str, units: int, *, columns: int = UNIT_COLUMNS, pitch: int = UNIT_PITCH) -> Panel:
    """Lays a dense layer's units side by side as small squares, row by row.

    Args:
        label: Text above the panel.
        units: Number of units.
        columns: Units per row.
        pitch: Pixels from one unit to the next, one of which is a gap.
    """
    columns = min(columns, units)
    row, y = _cells(-(-units // columns), values=1, length=pitch - 1)
    column, x = _cells(columns, values=1, length=pitch - 1)
    source = row[:, None] * columns + column
    return Panel(label, np.where((y[:, None] < 0) | (x < 0) | (source >= units), -1, source), UNIT_GAP)


def colour_panel(label: str, shape: tuple[int, int, int], *, scale: float = 1.0) -> Panel:
    """Shows an observation in colour as one picture.

    Args:
        label: Text above the panel.
        shape: (height, width, 3) of the observation.
        scale: Pixels per value, in both directions; a gap of one pixel surrounds the picture.
    """
    height, width, _ = shape
    _, y = _cells(1, values=height, length=round(height * scale))
    _, x = _cells(1, values=width, length=round(width * scale))
    is_gap = (y[:, None] < 0) | (x < 0)
    source = np.where(is_gap, -1, (y[:, None] * width + x) * 3)
    return Panel(label, np.where(is_gap[..., None], -1, source[..., None] + np.arange(3)), UNIT_GAP)


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


def _cells(count: int, *, values: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Divides an axis into cells of `length` pixels, with a gap of one pixel before each and after the last.

    Returns:
        For each pixel, its cell, and the index in 0 ... `values` - 1 of the value that it shows; -1 in gaps.
    """
    cell, inside = np.divmod(np.arange(count * (length + 1) + 1), length + 1)
    return cell, np.where(inside == 0, -1, (inside - 1) * values // length)


def layer_panel(layer: LayerRecord, *, is_output: bool, is_continuous: bool = False) -> Panel:
    """Chooses the panel of a layer; its label comes from the frozen model."""
    if len(layer.shape) == 1:
        if is_output:
            label = f"{layer.name}:" if is_continuous else f"{layer.name}: {layer.shape[0]} actions"
            return units_panel(label, layer.shape[0], pitch=OUTPUT_PITCH)
        pitch = OUTPUT_PITCH if layer.shape[0] <= FEW_UNITS else UNIT_PITCH
        return units_panel(f"{layer.name}: {layer.shape[0]} units", layer.shape[0], pitch=pitch)
    height, width, channels = layer.shape
    cycles = f", {layer.cycles} cycles" if layer.kind == "recurrent_conv" else ""
    if width > SMALL_MAP_WIDTH // 2:
        scale = min(1.5 if width > 16 else 2.0, MAP_WIDTH / width)
    else:
        scale = SMALL_MAP_WIDTH // width
    return maps_panel(
        f"{layer.name}: {channels} maps of {height} x {width}{cycles}", (height, width, channels), scale=scale
    )


@dataclass(frozen=True)
class Place:
    """Position of a panel or the screen on a frame, for pages that link to it or show it alone.

    Attributes:
        name: `screen`, `observation`, or the layer's name.
        label: Text above it.
        box: Left, top, width and height in pixels.
        view: The same, including the text around it.
        rows: Rows of equal height, such as rows of maps; pages may lay them side by side.
    """

    name: str
    label: str
    box: tuple[int, int, int, int]
    view: tuple[int, int, int, int]
    rows: int = 1


class Canvas:
    """A movie's frame: panels in a column on the right, the game's screen on the left.

    Attributes:
        panels: The observation's panel and one per layer, from top to bottom.
        height: Pixels; even, as the video format requires.
        width: Pixels; even.
        places: Positions of the game's screen and then of the panels.
    """

    def __init__(self, frozen: FrozenModel, *, screen_shape: tuple[int, int, int], steps: int):
        """Lays out the canvas.

        Args:
            frozen: Names the layers, the actions and the game.
            screen_shape: (height, width, 3) of the game's screen.
            steps: Number of frames of the movie, which is written on each.
        """
        self._actions, self._steps = frozen.actions, steps
        is_continuous = frozen.is_continuous
        self.panels = (
            observation_panel(frozen.shape),
            *(
                layer_panel(layer, is_output=layer is frozen.layers[-1], is_continuous=is_continuous)
                for layer in frozen.layers
            ),
        )
        tops, y = [], TOP
        for panel in self.panels:
            tops.append(y)
            y += panel.height + SPACING
        beside = [
            panel.width // 2 for panel, top in zip(self.panels, tops, strict=True) if top + panel.height > GAME_Y - TOP
        ]
        self._centre = max([CENTRE, *(GAME_X + screen_shape[1] + MARGIN + half for half in beside)])
        right = self._centre + max(panel.width for panel in self.panels) // 2 + TOP
        right = max(right, GAME_X + screen_shape[1] + MARGIN)
        self.width = -(-max(WIDTH, right, self._centre - CENTRE + WIDTH) // 2) * 2
        self.height = -(-max(HEIGHT, y - SPACING // 2, GAME_Y + screen_shape[0] + 2 * SPACING) // 2) * 2
        self._base = np.full((self.height, self.width, 3), 255, np.uint8)
        self._image = np.empty_like(self._base)
        self._views = []
        for panel, top in zip(self.panels, tops, strict=True):
            left = self._centre - panel.width // 2
            self._views.append(self._image[top : top + panel.height, left : left + panel.width])
            if panel is not self.panels[-1]:
                write_centred(self._base, panel.label, self._centre, top - LABEL_RISE, LABEL_SIZE)
        self._output_corner = (tops[-1], self._centre - self.panels[-1].width // 2)
        self._screen = (slice(GAME_Y, GAME_Y + screen_shape[0]), slice(GAME_X, GAME_X + screen_shape[1]))
        self._note_x = GAME_X + screen_shape[1] // 2
        self._note_y = GAME_Y + screen_shape[0] + LABEL_RISE
        write_centred(self._base, frozen.game.replace("_", " "), self._note_x, GAME_Y - LABEL_RISE, LABEL_SIZE)
        names = ("observation", *(layer.name for layer in frozen.layers))
        notes = f"score {-(10**6):,}", f"step {10**4:,} of {10**4:,}"
        screen_box = (GAME_X, GAME_Y, screen_shape[1], screen_shape[0])
        self.places = (
            Place("screen", "the game's screen", screen_box, self._with_writing(screen_box, notes, below=SPACING)),
            *(
                Place(
                    name,
                    panel.label.rstrip(":"),
                    box := (self._centre - panel.width // 2, top, panel.width, panel.height),
                    self._with_writing(box, self._labels_of(panel), below=0),
                )
                for name, panel, top in zip(names, self.panels, tops, strict=True)
            ),
        )

    def _labels_of(self, panel: Panel) -> list[str]:
        if panel is not self.panels[-1]:
            return [panel.label]
        return [f"{panel.label}, {action}" for action in self._actions]

    def _with_writing(
        self, box: tuple[int, int, int, int], texts: Sequence[str], *, below: int
    ) -> tuple[int, int, int, int]:
        """Widens a box by a label above, `below` pixels under it, and the width of centred texts."""
        left, top, width, height = box
        half = max(width, *(_letters(text, LABEL_SIZE).shape[1] for text in texts)) // 2 + MARGIN
        top, bottom = max(0, top - LABEL_RISE - LABEL_SIZE), min(self.height, top + height + below + MARGIN)
        middle = left + width // 2
        left, right = max(0, middle - half), min(self.width, middle + half)
        return left, top, right - left, bottom - top

    def compose(
        self,
        activations: Sequence[np.ndarray],
        screen: np.ndarray,
        *,
        action: int | None,
        score: float,
        step: int,
        outputs: np.ndarray | None = None,
    ) -> np.ndarray:
        """Draws one frame.

        Args:
            activations: One array per panel, uint8, any shape; 0 is black and 255 is white.
            screen: The game's screen, uint8, shape (height, width, 3).
            action: Index of the chosen action, which is framed and named; None where outputs are continuous.
            score: Points of the episode so far.
            step: Number of the frame, from 0.
            outputs: Values of the outputs, which are written if `action` is None.

        Returns:
            uint8, shape (`height`, `width`, 3); overwritten by the next call.
        """
        image = self._image
        np.copyto(image, self._base)
        for panel, view, activation in zip(self.panels, self._views, activations, strict=True):
            panel.draw(view, activation)
        image[self._screen] = screen
        top = self._output_corner[0] - LABEL_RISE
        label = self.panels[-1].label
        if action is None:
            values = np.empty(0) if outputs is None else outputs
            write_centred(image, f"{label} {action_words(self._actions, values)}", self._centre, top, LABEL_SIZE)
        else:
            write_centred(image, f"{label}, {self._actions[action]}", self._centre, top, LABEL_SIZE)
            frame_output(image, self._output_corner, action)  # over the label's lower edge
        write_centred(image, f"score {number_label(score)}", self._note_x, self._note_y, LABEL_SIZE)
        write_centred(image, f"step {step + 1:,} of {self._steps:,}", self._note_x, self._note_y + 25, NOTE_SIZE)
        return image


def frame_output(image: np.ndarray, corner: tuple[int, int], action: int) -> None:
    """Frames one unit of an output layer's panel in green.

    Args:
        image: Drawn into: uint8, shape (height, width, 3).
        corner: Row and column of the panel's upper left pixel; the frame may reach one pixel beyond the panel.
        action: Index of the unit.
    """
    row, column = divmod(action, UNIT_COLUMNS)
    top, left = (side + OUTPUT_PITCH * i for side, i in zip(corner, (row, column), strict=True))
    bottom, right = top + OUTPUT_PITCH, left + OUTPUT_PITCH
    for inner in (-1, 0):
        image[[top + inner, bottom - inner], left + inner : right - inner + 1] = CHOSEN
        image[top + inner : bottom - inner + 1, [left + inner, right - inner]] = CHOSEN


def action_words(names: Sequence[str], action: Action) -> str:
    """Returns the name of an action, or the names and values of the first continuous outputs."""
    if isinstance(action, int):
        return names[action]
    return ", ".join(f"{name} {value:+.2f}" for name, value in list(zip(names, action, strict=False))[:SHOWN_OUTPUTS])


def write_centred(image: np.ndarray, text: str, x: int, y: int, size: int) -> None:
    """Writes a line of black text, centred at (x, y), into uint8 (height, width, 3)."""
    letters = _letters(text, size)
    top, left = y - letters.shape[0] // 2, max(0, x - letters.shape[1] // 2)
    view = image[top : top + letters.shape[0], left : left + letters.shape[1]]
    view[:] = letters[: view.shape[0], : view.shape[1]]


def write_fitting(image: np.ndarray, text: str, x: int, y: int, width: int) -> None:
    """Writes a line like `write_centred`, in the largest size that fits into `width` pixels."""
    fitting = [size for size in FITTING_SIZES if _letters(text, size).shape[1] <= width]
    write_centred(image, text, x, y, (fitting or FITTING_SIZES[-1:])[0])


@lru_cache(maxsize=1024)
def _letters(text: str, size: int) -> np.ndarray:
    """Returns a line of text, black on white, in Pillow's own font: uint8, shape (height, width, 1)."""
    font = _font(size)
    image = Image.new("L", (int(font.getlength(text)) + 2, size + size // 4), 255)
    ImageDraw.Draw(image).text((1, image.height // 2), text, fill=0, font=font, anchor="lm")
    return np.asarray(image)[..., np.newaxis]


@lru_cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)  # Pillow unpacks the font each time
