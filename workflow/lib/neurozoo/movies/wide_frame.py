"""The frame of a wide activation movie: the game on the left, and the way from its screen to the action on the right.

What never changes (titles, ribbons, tracks) is drawn once. A frame then costs an indexed copy per layer, some numbers
and some bars. Lengths are those of a movie with 720 rows; larger movies multiply them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from neurozoo.agents.frozen import FrozenModel
from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.algorithms.agent_names import label_with_name
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.environments.game_titles import game_title
from neurozoo.movies.activations import WatchedRollout, WatchedStep
from neurozoo.movies.classic_frame import Canvas, Place
from neurozoo.movies.lettering import fitted, width_of, write
from neurozoo.movies.outputs import OutputCard, action_titles, meaning_of, shown_values
from neurozoo.movies.score_chart import ScoreLine
from neurozoo.movies.screens import draw_packed, fitted_size
from neurozoo.movies.stages import Form, Scale, Stage, choose_forms, stages_of
from neurozoo.movies.themes import THEMES, Theme, ThemeName, colour_table, packed, packed_picture
from neurozoo.records.comparability import read_facts, settings_in
from neurozoo.text import number_label

ROWS = (720, 1080)  # heights of wide movies
ASPECT = 16 / 9
_MARGIN, _HEADER = 20, 60
_GAME = (480, 420)  # width and height of the screen
_SCORE = 204  # height of the card below the screen
_FLOW = 530  # left edge of the stages
_LABEL, _LEGEND = 38, 24  # heights of the text above a stage, and of the legend below all
_CARD = 164  # width of the outputs: the longest name of an action, and its value
_LEAST_GAP = 14  # between stages
_FADED = 0.3  # strength of a ribbon at its end
_FINE = 2  # ribbons are drawn this many times as large, and then reduced
_TITLE, _TEXT, _NOTE = 25, 13, 10.5  # points
_GREYS = packed_picture(np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1))


def trained_by(frozen: FrozenModel) -> str:
    """Returns the title of an agent's algorithm; `PQN` for a run of `impala` that is one, if its settings are there."""
    if frozen.algo == IMPORTED:
        return "published weights"
    around = frozen.folder.parents[:3]  # of `frozen/`, `tags/TAG/frozen/`
    run_dir = next((folder for folder in around if (folder / "config.yaml").exists()), None)
    name = label_with_name(frozen.algo, settings_in(read_facts(run_dir / "config.yaml"))) if run_dir else ""
    spec = ALGORITHMS.get(frozen.algo)
    return name or (spec.title if spec else frozen.algo.replace("_", " "))


class _Box(NamedTuple):
    """A rectangle in pixels."""

    left: int
    top: int
    width: int
    height: int

    @property
    def slices(self) -> tuple[slice, slice]:
        """Rows and columns of an image."""
        return slice(self.top, self.top + self.height), slice(self.left, self.left + self.width)


@dataclass(frozen=True)
class _Block:
    """A rectangle that shows one array of a step, see `Stage`."""

    array: int
    scale: Scale
    source: np.ndarray
    box: _Box


@dataclass(frozen=True)
class _Placed:
    """A stage with its position and blocks."""

    stage: Stage
    box: _Box
    blocks: tuple[_Block, ...]

    @property
    def rows(self) -> int:
        """Rows of maps or units."""
        is_gap = (self.blocks[0].source < 0).reshape(self.box.height, -1).all(axis=1)
        return 1 + int((np.diff(is_gap.astype(int)) > 0).sum())


class SceneLayout:
    """Positions of everything on a frame; they depend on the network and on the size of screen and movie.

    The `places` are those of the screen, the observation and the layers, for pages that show them alone. `has_notes`
    says whether sizes stand below the names of the layers; those of many layers have no room side by side.
    """

    def __init__(self, frozen: FrozenModel, *, screen_shape: tuple[int, int, int], rows: int = ROWS[0]):
        self.unit = unit = rows / ROWS[0]
        self.height, self.width = rows, round(rows * ASPECT)
        self.meaning = meaning_of(frozen)
        margin, header = self.px(_MARGIN), self.px(_HEADER)
        room = self.px(_GAME[0]), self.px(_GAME[1])
        width, height = fitted_size(screen_shape, *room)
        self.screen = _Box(margin + (room[0] - width) // 2, header + (room[1] - height) // 2, width, height)
        self.score = _Box(margin, header + room[1] + self.px(16), room[0], self.px(_SCORE))
        top, bottom = header + self.px(_LABEL), self.height - margin - self.px(_LEGEND)
        left, right = self.px(_FLOW), self.width - margin
        titles = action_titles(frozen)
        self.card = OutputCard(titles, self.meaning, width=self.px(_CARD), height=bottom - top, unit=unit)
        self.middle = (top + bottom) // 2
        self.output = self._centred(right - self.card.width, self.card.width, self.card.height)
        stages = stages_of(frozen, height=bottom - top, unit=unit)
        room_for_stages = self.output.left - left - self.px(_LEAST_GAP) * len(stages)
        titles_widths = [width_of(stage.title, self.px(_TEXT), bold=True) for stage in stages]
        least = list(map(max, titles_widths, (width_of(stage.note, self.px(_NOTE)) for stage in stages)))
        forms = choose_forms(stages, least, width=room_for_stages)
        self.has_notes = sum(map(max, least, (form.width for form in forms))) <= room_for_stages
        if not self.has_notes:
            least, forms = titles_widths, choose_forms(stages, titles_widths, width=room_for_stages)
        self.stages = self._placed(stages, forms, least, left=left)
        self.legend = _Box(left, bottom + self.px(10), right - left, self.px(_LEGEND))
        boxes = [
            ("screen", "the game's screen", self.screen, 1),
            *((each.stage.name, f"{each.stage.title}: {each.stage.note}", each.box, each.rows) for each in self.stages),
            (frozen.layers[-1].name, f"action: {self.meaning}", self.output, 1),
        ]
        # Pages write the labels themselves, so the views are without text.
        self.places = tuple(Place(name, text, box, box, rows) for name, text, box, rows in boxes)

    def px(self, length: float) -> int:
        """Converts a length at 720 rows to pixels."""
        return round(length * self.unit)

    def _centred(self, left: int, width: int, height: int) -> _Box:
        return _Box(left, self.middle - height // 2, width, height)

    def _placed(
        self, stages: Sequence[Stage], forms: Sequence[Form], least: Sequence[int], *, left: int
    ) -> tuple[_Placed, ...]:
        widths = [max(text, form.width) for text, form in zip(least, forms, strict=True)]
        gap = (self.output.left - left - sum(widths)) / len(stages)
        placed, x = [], float(left)
        for stage, form, width in zip(stages, forms, widths, strict=True):
            box = self._centred(round(x) + (width - form.width) // 2, form.width, form.height)
            source = stage.source(form)
            height, across = source.shape[:2]
            space = (form.width - len(stage.arrays) * across) // max(1, len(stage.arrays) - 1)
            blocks = [
                _Block(array, scale, source, _Box(box.left + place * (across + space), box.top, across, height))
                for place, (array, scale) in enumerate(stage.arrays)
            ]
            placed.append(_Placed(stage, box, tuple(blocks)))
            x += width + gap
        return tuple(placed)


def places_on(
    frozen: FrozenModel, *, screen_shape: tuple[int, int, int], width: int, height: int, steps: int
) -> tuple[Place, ...]:
    """Returns the positions of screen, observation and layers on an activation movie, wide or classic.

    There are none if an activation movie of this agent, screen and number of steps has another width and height.
    """
    layout: SceneLayout | Canvas
    if height in ROWS and width > height:
        layout = SceneLayout(frozen, screen_shape=screen_shape, rows=height)
    else:
        layout = Canvas(frozen, screen_shape=screen_shape, steps=steps)
    return layout.places if (layout.width, layout.height) == (width, height) else ()


class Scene:
    """Draws the frames of a wide activation movie, of 720 or 1080 rows."""

    def __init__(self, frozen: FrozenModel, watched: WatchedRollout, *, theme: ThemeName = "dark", rows: int = ROWS[0]):
        rollout = watched.rollout
        self._layout = layout = SceneLayout(frozen, screen_shape=rollout.screen_shape, rows=rows)
        self._frozen, self._watched, self._theme = frozen, watched, THEMES[theme]
        self.height, self.width = layout.height, layout.width
        self._paper = packed(self._theme.paper)
        self._image = np.full((self.height, self.width), self._paper, np.uint32)
        self._unseen = _UnseenPlanes(frozen, layout, self._theme, rollout.starts)
        self._draw_ribbons()
        self._draw_titles()
        self._draw_legend()
        self._draw_score_card()
        self._views = [(block, self._image[block.box.slices]) for each in layout.stages for block in each.blocks]

    # ---- once

    def _write(self, text: str, x: int, y: int, size: float, **looks: Any) -> int:
        """Writes quiet text on paper, unless `looks` say otherwise; the size is that of a movie with 720 rows."""
        looks = {"ink": self._theme.quiet, "paper": self._theme.paper, **looks}
        return write(self._image, text, x, y, self._layout.px(size), **looks)

    def _draw_ribbons(self) -> None:
        """Draws the way from the screen through the stages to the actions."""
        layout, pad = self._layout, self._layout.px(5)
        x0 = layout.screen.left + layout.screen.width
        size = self.width - x0, self.height
        share = np.zeros((self.height, size[0]))
        for before, after in pairwise([layout.screen, *(each.box for each in layout.stages), layout.output]):
            left, right = before.left + before.width - x0, after.left - pad - x0
            left += 0 if before is layout.screen else pad
            corners = [(left, before.top), (left, before.top + before.height)]
            corners += [(right, after.top + after.height), (right, after.top)]
            canvas = Image.new("L", (_FINE * size[0], _FINE * size[1]), 0)
            ImageDraw.Draw(canvas).polygon([(_FINE * x, _FINE * y) for x, y in corners], fill=255)
            ribbon = np.asarray(canvas.resize(size, Image.Resampling.BOX)) / 255.0
            fading = np.interp(np.arange(size[0]), [left, right], [1.0, _FADED])
            share = np.maximum(share, ribbon * fading)
        share = share[..., None]
        mixed = np.array(self._theme.paper) * (1 - share) + np.array(self._theme.flow) * share
        self._image[:, x0:] = packed_picture(np.rint(mixed).astype(np.uint8))

    def _draw_titles(self) -> None:
        layout, theme, px, frozen = self._layout, self._theme, self._layout.px, self._frozen
        y = px(_HEADER) // 2 + px(2)
        title = fitted(game_title(frozen.game), px(_TITLE), px(_GAME[0]), bold=True)
        x = px(_MARGIN)
        x += self._write(title, x, y, _TITLE, ink=theme.ink, bold=True) + px(14)
        words = [trained_by(frozen), frozen.model.replace("_", " ")]
        words.append(f"run {frozen.run}" if frozen.run else "")
        words.append(frozen.tag or (f"generation {frozen.generation}" if frozen.generation is not None else ""))
        words.append(f"after {frozen.snapshot:,} frames" if frozen.snapshot is not None else "")
        self._write("  ·  ".join(filter(None, words)), x, y + px(4), _TEXT)
        self._write("Neurozoo", self.width - px(_MARGIN), y + px(4), _TEXT, align="right")
        texts = [(each.stage.title, each.stage.note if layout.has_notes else "", each.box) for each in layout.stages]
        for name, note, box in [*texts, ("action", layout.meaning, layout.output)]:
            middle, top = box.left + box.width // 2, box.top - px(_LABEL)
            self._write(name, middle, top + px(9), _TEXT, ink=theme.ink, paper=None, bold=True, align="middle")
            self._write(note, middle, top + px(25), _NOTE, paper=None, align="middle")

    def _draw_legend(self) -> None:
        layout, theme, px = self._layout, self._theme, self._layout.px
        scales = {block.scale for each in layout.stages for block in each.blocks}
        x, y, width = layout.legend.left, layout.legend.top + px(9), px(96)
        bar = self._image[y - px(4) : y + px(5)]
        for scale, table, low, high in (
            ("sequential", theme.sequential, "lowest", "highest"),
            ("diverging", theme.diverging, "−", "+"),
        ):
            if scale in scales:
                x += self._write(low, x, y, _NOTE) + px(6)
                bar[:, x : x + width] = colour_table(table)[np.arange(width) * 256 // width]
                x += width + px(6)
                x += self._write(high, x, y, _NOTE) + px(18)
        self._write("each map on its own scale over the whole movie", x, y, _NOTE)

    def _draw_score_card(self) -> None:
        px, card, rollout = self._layout.px, self._layout.score, self._watched.rollout
        left, top = card.left + px(14), card.top + px(58)
        chart = _Box(left, top, card.width - px(14 + 64), card.height - px(58) - px(14))
        self._line = ScoreLine(
            rollout.scores, rollout.starts, theme=self._theme, size=(chart.width, chart.height), unit=self._layout.unit
        )
        self._image[card.slices] = packed(self._theme.card)
        for text, row in self._line.labels:
            self._write(text, chart.left + chart.width + px(10), chart.top + row, _NOTE, paper=self._theme.card)
        self._chart = self._image[chart.slices]

    # ---- for each frame

    def compose(self, step: WatchedStep) -> np.ndarray:
        """Draws one frame: packed pixels, uint32, shape (`height`, `width`); overwritten by the next call."""
        layout = self._layout
        draw_packed(self._image[layout.screen.slices], step.screen)
        for block, view in self._views:
            self._draw_block(block, view, step.pictures[block.array])
        self._unseen.draw(self._image, step.number)
        chosen = step.action if isinstance(step.action, int) else None
        values, limits = shown_values(step.outputs, layout.meaning), self._watched.output_limits
        layout.card.draw(self._image[layout.output.slices], self._theme, values, chosen, limits=limits)
        self._line.draw(self._chart, step.number)
        self._draw_numbers(step)
        return self._image

    def _draw_block(self, block: _Block, view: np.ndarray, array: np.ndarray) -> None:
        if block.scale == "colour":
            picture = np.append(array, np.uint8(0)).take(block.source, mode="wrap")
            view[:] = np.where(block.source[..., 0] < 0, self._paper, packed_picture(picture))
            return
        table = _GREYS if block.scale == "grey" else colour_table(getattr(self._theme, block.scale))
        colours = np.empty(array.size + 1, np.uint32)
        table.take(array.ravel(), out=colours[:-1], mode="clip")
        colours[-1] = self._paper
        view[:] = colours[block.source]

    def _draw_numbers(self, step: WatchedStep) -> None:
        theme, px, card = self._theme, self._layout.px, self._layout.score
        self._image[card._replace(height=px(56)).slices] = packed(theme.card)
        x, y = card.left + px(14), card.top + px(31)
        x += self._write("score", x, y + px(4), _TEXT, paper=theme.card) + px(10)
        number = number_label(step.score).replace("-", "−")
        self._write(number, x, y, 26, ink=theme.chosen, paper=theme.card, bold=True)
        text, right = f"step {step.number + 1:,} of {self._watched.rollout.steps:,}", card.left + card.width - px(14)
        self._write(text, right, y + px(4), _TEXT, paper=theme.card, align="right")


class _UnseenPlanes:
    """Draws frames of the observation that lie before the start of an episode: they are empty, and not black."""

    def __init__(self, frozen: FrozenModel, layout: SceneLayout, theme: Theme, starts: Collection[int]):
        self._starts, self._colour = starts, packed(theme.card)
        self._step = 0  # of the episode
        (block,), shape = layout.stages[0].blocks, frozen.shape
        self._places = []
        if block.scale == "grey" and not shape.repeats_first:
            planes = np.where(block.source < 0, -1, block.source // shape.channels % shape.stack)
            for plane in range(shape.stack - 1):
                rows, columns = (np.flatnonzero((planes == plane).any(axis=axis)) for axis in (1, 0))
                top, left = block.box.top + rows[0], block.box.left + columns[0]
                height, width = rows[-1] + 1 - rows[0], columns[-1] + 1 - columns[0]
                self._places.append(_Box(left, top, width, height).slices)

    def draw(self, image: np.ndarray, step: int) -> None:
        """Empties the frames that the agent has not seen by this step."""
        self._step = 0 if step in self._starts else self._step + 1
        for place in self._places[: max(0, len(self._places) - self._step)]:
            image[place] = self._colour
