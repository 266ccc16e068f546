"""The frame of a wide activation movie: the game on the left, and the way from its screen to the action on the right.

What never changes (titles, ribbons, tracks) is drawn once. A frame then costs an indexed copy per layer, some numbers
and some bars. Lengths are those of a movie with 720 rows; larger movies multiply them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from neurozoo.agents.agent import IMPORTED
from neurozoo.agents.frozen import FrozenModel
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.environments.game_titles import game_title
from neurozoo.movies.activations import WatchedRollout, WatchedStep
from neurozoo.movies.enlarging import Enlarger, fitted_size
from neurozoo.movies.lettering import fitted, width_of, write
from neurozoo.movies.outputs import OutputCard, action_titles, meaning_of, shown_values
from neurozoo.movies.panels import Place
from neurozoo.movies.score_line import ScoreLine
from neurozoo.movies.stages import Block, Form, Stage, choose_forms, stages_of
from neurozoo.movies.themes import THEMES, Theme, ThemeName, colour_table, packed, packed_picture
from neurozoo.number_text import number_label

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


@dataclass(frozen=True)
class _Box:
    """A rectangle in pixels."""

    left: int
    top: int
    width: int
    height: int

    @property
    def slices(self) -> tuple[slice, slice]:
        """Rows and columns of an image."""
        return slice(self.top, self.top + self.height), slice(self.left, self.left + self.width)

    @property
    def corners(self) -> tuple[int, int, int, int]:
        """Left, top, width and height."""
        return self.left, self.top, self.width, self.height


@dataclass(frozen=True)
class _Placed:
    """A stage with its position and blocks, each block with its position on the frame."""

    stage: Stage
    box: _Box
    blocks: tuple[tuple[Block, _Box], ...]

    @property
    def rows(self) -> int:
        """Rows of maps or units."""
        is_gap = (self.blocks[0][0].source < 0).reshape(self.box.height, -1).all(axis=1)
        return 1 + int((np.diff(is_gap.astype(int)) > 0).sum())


class SceneLayout:
    """Positions of everything on a frame; they depend on the network and on the size of screen and movie.

    Attributes:
        width: Pixels.
        height: Pixels.
        places: Positions of the screen, the observation and the layers, for pages that show them alone.
        has_notes: Whether sizes stand below the names of the layers; those of many layers have no room side by side.
    """

    def __init__(self, frozen: FrozenModel, *, screen_shape: tuple[int, int, int], rows: int = ROWS[0]):
        """Lays out the frame.

        Args:
            frozen: Names the layers, the actions and the game.
            screen_shape: (height, width, 3) of the game's screen.
            rows: Height of the movie: 720 or 1080.
        """
        self.unit = unit = rows / ROWS[0]
        self.height, self.width = rows, round(rows * ASPECT)
        self.meaning = meaning_of(frozen)
        margin, header = self.px(_MARGIN), self.px(_HEADER)
        room = self.px(_GAME[0]), self.px(_GAME[1])
        width, height = fitted_size(screen_shape, *room)
        self.frame = _Box(margin, header, *room)
        self.screen = _Box(margin + (room[0] - width) // 2, header + (room[1] - height) // 2, width, height)
        self.score = _Box(margin, header + room[1] + self.px(16), room[0], self.px(_SCORE))
        top, bottom = header + self.px(_LABEL), self.height - margin - self.px(_LEGEND)
        left, right = self.px(_FLOW), self.width - margin
        self.card = OutputCard(
            action_titles(frozen), self.meaning, (0, 1), width=self.px(_CARD), height=bottom - top, unit=unit
        )  # only for its size
        self.middle = (top + bottom) // 2
        self.output = self._centred(right - self.card.width, self.card.width, self.card.height)
        stages = stages_of(frozen, height=bottom - top, unit=unit)
        room_for_stages = self.output.left - left - self.px(_LEAST_GAP) * len(stages)
        titles = [width_of(stage.title, self.px(13), bold=True) for stage in stages]
        least = list(map(max, titles, (width_of(stage.note, self.px(10.5)) for stage in stages)))
        forms = choose_forms(stages, least, width=room_for_stages)
        self.has_notes = sum(map(max, least, (form.width for form in forms))) <= room_for_stages
        if not self.has_notes:
            least, forms = titles, choose_forms(stages, titles, width=room_for_stages)
        self.stages = self._placed(stages, forms, least, left=left)
        self.legend = _Box(left, bottom + self.px(10), right - left, self.px(_LEGEND))
        self.places = self._places(frozen)

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
            blocks, at = [], box.left
            drawn = form.draw()
            for block in drawn:
                height, across = block.source.shape[:2]
                blocks.append((block, _Box(at, box.top, across, height)))
                at += across + (form.width - len(drawn) * across) // max(1, len(drawn) - 1)
            placed.append(_Placed(stage, box, tuple(blocks)))
            x += width + gap
        return tuple(placed)

    def _places(self, frozen: FrozenModel) -> tuple[Place, ...]:
        last = frozen.layers[-1]
        boxes = [
            ("screen", "the game's screen", self.screen, 1),
            *((each.stage.name, f"{each.stage.title}: {each.stage.note}", each.box, each.rows) for each in self.stages),
            (last.name, f"action: {self.meaning}", self.output, 1),
        ]
        # Pages write the labels themselves, so the views are without text.
        return tuple(Place(name, text, box.corners, box.corners, rows) for name, text, box, rows in boxes)


class Scene:
    """Draws the frames of a wide activation movie.

    Attributes:
        height: Pixels.
        width: Pixels.
    """

    def __init__(self, frozen: FrozenModel, watched: WatchedRollout, *, theme: ThemeName = "dark", rows: int = ROWS[0]):
        """Draws what does not change.

        Args:
            frozen: Names the layers, the actions and the game.
            watched: The rollout.
            theme: `dark` or `light`.
            rows: Height of the movie: 720 or 1080.
        """
        self._layout = layout = SceneLayout(frozen, screen_shape=watched.screen_shape, rows=rows)
        self._theme = theme_ = THEMES[theme]
        self.height, self.width = layout.height, layout.width
        self._steps, self._frozen = watched.steps, frozen
        self._paper = packed(theme_.paper)
        self._unseen = _UnseenPlanes(frozen, layout, theme_, watched.starts)
        self._image = np.full((self.height, self.width), packed(theme_.paper), np.uint32)
        self._enlarger = Enlarger(watched.screen_shape, width=layout.screen.width, height=layout.screen.height)
        self._draw_ribbons()
        self._draw_titles()
        self._draw_legend()
        chart = self._chart_box()
        self._line = ScoreLine(
            watched.scores, list(watched.starts), theme=theme_, width=chart.width, height=chart.height, unit=layout.unit
        )
        self._draw_score_card(chart)
        self._chart = self._image[chart.slices]
        self._screen = self._image[layout.screen.slices]
        self._output = self._image[layout.output.slices]
        self._views = [(block, self._image[box.slices]) for each in layout.stages for block, box in each.blocks]
        self._card: OutputCard | None = None
        self._watched = watched

    # ---- once

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
        layout, theme, px = self._layout, self._theme, self._layout.px
        frozen = self._frozen
        y = px(_HEADER) // 2 + px(2)
        title = fitted(game_title(frozen.game), px(25), px(_GAME[0]), bold=True)
        x = px(_MARGIN)
        x += write(self._image, title, x, y, px(25), ink=theme.ink, paper=theme.paper, bold=True) + px(14)
        spec = ALGORITHMS.get(frozen.algo)
        algo = "published weights" if frozen.algo == IMPORTED else spec.title if spec else frozen.algo.replace("_", " ")
        words = [algo, frozen.model.replace("_", " ")]
        words.append(f"run {frozen.run}" if frozen.run else "")
        words.append(frozen.tag or (f"generation {frozen.generation}" if frozen.generation is not None else ""))
        words.append(f"after {frozen.snapshot:,} frames" if frozen.snapshot is not None else "")
        note = "  ·  ".join(filter(None, words))
        right = self.width - px(_MARGIN)
        write(self._image, note, x, y + px(4), px(13), ink=theme.quiet, paper=theme.paper)
        write(self._image, "Neurozoo", right, y + px(4), px(13), ink=theme.quiet, paper=theme.paper, align="right")
        texts = [(each.stage.title, each.stage.note if layout.has_notes else "", each.box) for each in layout.stages]
        for name, note, box in [*texts, ("action", layout.meaning, layout.output)]:
            middle, top = box.left + box.width // 2, box.top - px(_LABEL)
            self._label(name, middle, top + px(9), px(13), bold=True)
            self._label(note, middle, top + px(25), px(10.5), bold=False)

    def _label(self, text: str, x: int, y: int, size: int, *, bold: bool) -> None:
        ink = self._theme.ink if bold else self._theme.quiet
        write(self._image, text, x, y, size, ink=ink, paper=None, bold=bold, align="middle")

    def _draw_legend(self) -> None:
        layout, theme, px = self._layout, self._theme, self._layout.px
        scales = {block.scale for each in layout.stages for block, _ in each.blocks}
        x, y, size = layout.legend.left, layout.legend.top + px(9), px(10.5)
        notes = [
            ("sequential", theme.sequential, ("lowest", "highest")),
            ("diverging", theme.diverging, ("−", "0", "+")),
        ]
        for scale, table, marks in notes:
            if scale not in scales:
                continue
            width = px(96)
            bar = self._image[y - px(4) : y + px(5)]
            x += write(self._image, marks[0], x, y, size, ink=theme.quiet, paper=theme.paper) + px(6)
            bar[:, x : x + width] = colour_table(table)[np.arange(width) * 256 // width]
            x += width + px(6)
            x += write(self._image, marks[-1], x, y, size, ink=theme.quiet, paper=theme.paper) + px(18)
        text = "each map on its own scale over the whole movie"
        write(self._image, text, x, y, size, ink=theme.quiet, paper=theme.paper)

    def _chart_box(self) -> _Box:
        score, px = self._layout.score, self._layout.px
        top = px(58)
        return _Box(score.left + px(14), score.top + top, score.width - px(14 + 64), score.height - top - px(14))

    def _draw_score_card(self, chart: _Box) -> None:
        theme, px, score = self._theme, self._layout.px, self._layout.score
        self._image[score.slices] = packed(theme.card)
        x = chart.left + chart.width + px(10)
        for text, row in self._line.labels:
            write(self._image, text, x, chart.top + row, px(10.5), ink=theme.quiet, paper=theme.card)
        self._numbers = self._image[score.top : score.top + px(56), score.left : score.left + score.width]

    # ---- for each frame

    def compose(self, step: WatchedStep) -> np.ndarray:
        """Draws one frame.

        Returns:
            Packed pixels, uint32, shape (`height`, `width`); overwritten by the next call.
        """
        self._enlarger.draw(self._screen, step.screen)
        for block, view in self._views:
            self._draw_block(block, view, step.pictures[block.array])
        self._unseen.draw(self._image, step.number)
        if self._card is None:
            layout = self._layout
            self._card = OutputCard(
                action_titles(self._frozen), layout.meaning, self._watched.output_limits,
                width=layout.output.width, height=layout.output.height, unit=layout.unit,
            )  # fmt: skip
        chosen = step.action if isinstance(step.action, int) else None
        self._card.draw(self._output, self._theme, shown_values(step.outputs, self._layout.meaning), chosen)
        self._line.draw(self._chart, step.number)
        self._draw_numbers(step)
        return self._image

    def _draw_block(self, block: Block, view: np.ndarray, array: np.ndarray) -> None:
        if block.scale == "colour":
            source = block.source
            picture = np.append(array, np.uint8(0)).take(source, mode="wrap")
            view[:] = np.where(source[..., 0] < 0, self._paper, packed_picture(picture))
            return
        table = _GREYS if block.scale == "grey" else colour_table(getattr(self._theme, block.scale))
        colours = np.empty(array.size + 1, np.uint32)
        table.take(array.ravel(), out=colours[:-1], mode="clip")
        colours[-1] = self._paper
        view[:] = colours[block.source]

    def _draw_numbers(self, step: WatchedStep) -> None:
        theme, px, image = self._theme, self._layout.px, self._numbers
        image[:] = packed(theme.card)
        y = px(31)
        x = px(14)
        x += write(image, "score", x, y + px(4), px(13), ink=theme.quiet, paper=theme.card) + px(10)
        number = number_label(step.score).replace("-", "−")
        write(image, number, x, y, px(26), ink=theme.chosen, paper=theme.card, bold=True)
        text = f"step {step.number + 1:,} of {self._steps:,}"
        write(image, text, image.shape[1] - px(14), y + px(4), px(13), ink=theme.quiet, paper=theme.card, align="right")


class _UnseenPlanes:
    """Draws frames of the observation that lie before the start of an episode: they are empty, and not black."""

    def __init__(self, frozen: FrozenModel, layout: SceneLayout, theme: Theme, starts: Sequence[int]):
        self._starts, self._colour = set(starts), packed(theme.card)
        self._step = 0  # of the episode
        block, box = layout.stages[0].blocks[0]
        self._places = []
        if block.scale == "grey" and not frozen.shape.repeats_first:
            planes = np.where(block.source < 0, -1, block.source // frozen.shape.channels % frozen.shape.stack)
            for plane in range(frozen.shape.stack - 1):
                rows, columns = (np.flatnonzero((planes == plane).any(axis=axis)) for axis in (1, 0))
                slices = (slice(each[0], each[-1] + 1) for each in (rows, columns))
                corner = (box.top, box.left)
                self._places.append(
                    tuple(slice(part.start + at, part.stop + at) for part, at in zip(slices, corner, strict=True))
                )

    def draw(self, image: np.ndarray, step: int) -> None:
        """Empties the frames that the agent has not seen by this step."""
        self._step = 0 if step in self._starts else self._step + 1
        for place in self._places[: max(0, len(self._places) - self._step)]:
            image[place] = self._colour


_GREYS = packed_picture(np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1))
