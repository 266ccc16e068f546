"""Landscape movies of modular agents: desires spread over the river crossing task, and the agent climbs.

Whenever the agent desires something else, or a stone has moved, the movie shows the new landscape cycle by cycle, and
then the steps that follow. Heights are drawn by their logarithm, because they fall by half from cell to cell.
"""

import functools
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from PIL import Image, ImageDraw

from neurozoo.agents.frozen import FrozenModel, open_frozen
from neurozoo.environments.game_titles import game_title
from neurozoo.errors import NeurozooError
from neurozoo.movies.activation_movie import Movie, film_rollout
from neurozoo.movies.lettering import write
from neurozoo.movies.screens import draw_packed
from neurozoo.movies.themes import THEMES, Colour, ThemeName, colour_table, packed, packed_picture
from neurozoo.movies.video import Filming
from neurozoo.networks.modular import HIGHEST, landscape_cycles
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.replayed import ReplayedNetwork
from neurozoo.rollouts.rollout_files import RolloutFile
from neurozoo.text import number_label

WIDTH, HEIGHT = 1280, 720
LOWEST = 1e-3  # height that is drawn as flat
FRAMES_PER_STEP = 4
_SCREEN = (slice(64, 464), slice(24, 424))  # rows and columns of the game
_VIEW = (slice(64, 704), slice(440, 1264))  # of the landscape
_TILE = (20, 10.5, 170)  # half the width and height of a cell in pixels, and the rise of the highest one
_DEPTH = 16  # pixels that feared cells sink
KINDS = ("resource", "stone", "water", "trap")
_COLOURS: dict[str, Colour] = {
    "resource": (255, 235, 60), "stone": (150, 150, 158), "water": (30, 120, 235), "trap": (225, 40, 40),
}  # fmt: skip
_AGENT, _CARRYING = (255, 60, 140), (150, 90, 255)


@dataclass(frozen=True)
class _Moment:
    """What a frame shows."""

    screen: np.ndarray
    observation: np.ndarray  # (height, width, 6)
    map: np.ndarray  # of the decision: (height, width, 3)
    heights: np.ndarray  # (height, width)
    cycle: int
    cycles: int  # of the whole landscape
    place: tuple[float, float]  # row and column of the agent, between two steps
    score: float
    step: int


def render_landscape_movie(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    theme: ThemeName = "dark",
    fps: int = 30,
    **filming: Unpack[Filming],
) -> Movie:
    """Draws the landscape of a modular agent, as it spreads and as the agent climbs it, beside the game.

    There is a frame for each cycle of a new landscape, and `FRAMES_PER_STEP` for each step. All else is as in
    `render_activation_movie`; an agent without a landscape is refused.
    """
    frozen = open_frozen(frozen_folder)
    if not any(layer.kind == "landscape" for layer in frozen.layers):
        raise NeurozooError(
            f"{frozen.title} has no landscape. Choose a run of a modular agent (docs/river_crossing.md)."
        )

    def prepare(played: RolloutFile) -> tuple[_Scene, Callable[[Progress], Iterator[_Moment]]]:
        return _Scene(frozen, theme), functools.partial(_moments, frozen, played)

    return film_rollout(frozen, rollout, output, prepare, fps=fps, is_packed=True, **filming)


def _moments(frozen: FrozenModel, file: RolloutFile, progress: Progress) -> Iterator[_Moment]:
    """Yields what the frames show."""
    (landscape,) = (layer for layer in frozen.layers if layer.kind == "landscape")
    network = ReplayedNetwork(frozen, ["decision"])
    kernel = _kernel(frozen)
    desires, cycles, before, number = np.zeros(0), [np.zeros(0)], (-9, -9), 0
    for observations, screens in file.blocks("observations", "frames"):
        (maps,) = network(observations)
        for observation, screen, decided in zip(observations, screens, maps, strict=True):
            row, column = np.unravel_index(decided[..., 2].argmax(), decided.shape[:2])
            facts = (screen, observation, decided)
            score = file.scores[number]
            if not np.array_equal(decided[..., 0], desires):
                desires = decided[..., 0]
                cycles = landscape_cycles(desires, kernel, cycles=landscape.cycles)
                for cycle, heights in enumerate(cycles, 1):
                    yield _Moment(*facts, heights, cycle, len(cycles), (row, column), score, number)
                before = (row, column)
            is_near = max(abs(row - before[0]), abs(column - before[1])) <= 1
            for part in range(1, FRAMES_PER_STEP + 1):
                share = part / FRAMES_PER_STEP if is_near else 1.0
                place = tuple(old + share * (new - old) for old, new in zip(before, (row, column), strict=True))
                yield _Moment(*facts, cycles[-1], len(cycles), len(cycles), place, score, number)
            before, number = (row, column), number + 1
            progress.advance()


def _kernel(frozen: FrozenModel) -> np.ndarray | None:
    """Returns the evolved kernel of an agent's landscape, or None."""
    for layer in frozen.load_keras().layers:
        if layer.name == "landscape_kernel1":
            return layer.get_weights()[0][:, :, 0, 0]
    return None


class _Scene:
    """Draws the frames: packed pixels."""

    width, height = WIDTH, HEIGHT

    def __init__(self, frozen: FrozenModel, theme: ThemeName):
        self._theme = THEMES[theme]
        self._image = np.full((HEIGHT, WIDTH), packed(self._theme.paper), np.uint32)
        table = colour_table(self._theme.sequential)
        self._ramp: list[Colour] = [(c & 255, c >> 8 & 255, c >> 16 & 255) for c in table.tolist()]
        paper, quiet = self._theme.paper, self._theme.quiet
        x = 24 + write(self._image, game_title(frozen.game), 24, 32, 25, ink=self._theme.ink, paper=paper, bold=True)
        text = f"{frozen.model.replace('_', ' ')}  ·  run {frozen.run}"
        write(self._image, text, x + 14, 36, 13, ink=quiet, paper=paper)
        write(self._image, "Neurozoo", WIDTH - 24, 36, 13, ink=quiet, paper=paper, align="right")

    def compose(self, moment: _Moment) -> np.ndarray:
        """Draws one frame; overwritten by the next call."""
        draw_packed(self._image[_SCREEN], moment.screen)
        self._image[_VIEW] = packed_picture(self._landscape(moment))
        self._draw_card(moment)
        return self._image

    def _landscape(self, moment: _Moment) -> np.ndarray:
        rows, columns = moment.heights.shape
        picture = Image.new("RGB", (_VIEW[1].stop - _VIEW[1].start, _VIEW[0].stop - _VIEW[0].start), self._theme.paper)
        draw = ImageDraw.Draw(picture)
        half, quarter, rise = _TILE
        left, top = picture.width / 2 - (columns - rows) * half / 2, 190
        share, is_feared = _shares(moment.heights), (moment.heights < 0).tolist()
        kinds = moment.observation[..., :4].argmax(-1)
        is_object = moment.observation[..., :4].max(-1) > 0
        agent = (round(moment.place[0]), round(moment.place[1]))
        for row, column in sorted(np.ndindex(rows, columns), key=sum):
            x = left + (column - row) * half
            y = top + (column + row) * quarter
            lift = -_DEPTH if is_feared[row][column] else rise * float(share[row, column])
            colour = self._ramp[round(255 * (0.06 + 0.94 * float(share[row, column])))]
            kind = KINDS[kinds[row, column]] if is_object[row, column] else ""
            if kind in ("water", "trap"):
                colour = _mixed(colour, _COLOURS[kind], 0.65)
            _draw_column(draw, x, y, lift=lift, base=_DEPTH, colour=colour)
            if kind in ("stone", "resource"):
                _draw_column(draw, x, y - lift, lift=12, base=0, colour=_COLOURS[kind], scale=0.55)
            if (row, column) == agent:
                across, down = moment.place[1] - column, moment.place[0] - row
                carries = bool(moment.observation[..., 4].any())
                _draw_agent(draw, x + (across - down) * half, y + (across + down) * quarter - lift, carries=carries)
        return np.asarray(picture)

    def _draw_card(self, moment: _Moment) -> None:
        theme, (left, right), top = self._theme, (24, 424), 482
        self._image[top : HEIGHT - 16, left:right] = packed(theme.card)
        looks: dict[str, Any] = {"ink": theme.quiet, "paper": theme.card}
        write(self._image, f"cycle {moment.cycle} of {moment.cycles}", left + 14, top + 22, 13, **looks)
        bar = self._image[top + 38 : top + 44, left + 14 : right - 14]
        bar[:] = packed(theme.line)
        bar[:, : bar.shape[1] * moment.cycle // moment.cycles] = packed(theme.chosen)
        carries = bool(moment.observation[..., 4].any())
        words = f"step {moment.step + 1}   solved {number_label(moment.score)}"
        write(self._image, words, right - 14, top + 22, 13, **looks, align="right")
        y = top + 70
        said = "carries a stone and desires" if carries else "has free hands and desires"
        write(self._image, said, left + 14, y, 13, ink=_CARRYING if carries else _AGENT, paper=theme.card, bold=True)
        for number, kind in enumerate(KINDS):
            is_there = moment.observation[..., number] > 0
            y, middle = y + 29, left + 240
            write(self._image, kind, left + 14, y, 13, ink=theme.ink, paper=theme.card)
            self._image[y - 5 : y + 6, middle - 90 : middle + 91] = packed(theme.line)
            if not is_there.any():
                continue
            value = float(moment.map[..., 0][is_there][0])
            ends = sorted((middle, middle + round(90 * value)))
            self._image[y - 5 : y + 6, ends[0] : ends[1] + 1] = packed(_COLOURS[kind])
            write(self._image, f"{value:+.2g}".replace("-", "−"), right - 14, y, 13, **looks, align="right")


def _shares(heights: np.ndarray) -> np.ndarray:
    """Returns heights as shares of the rise: from 0 (`LOWEST` and below) to 1 (the cap), by their logarithm."""
    return np.log(np.maximum(heights, LOWEST) / LOWEST) / math.log(float(HIGHEST) / LOWEST)


def _mixed(below: Colour, above: Colour, share: float) -> Colour:
    red, green, blue = (round(low + share * (high - low)) for low, high in zip(below, above, strict=True))
    return red, green, blue


def _draw_column(
    draw: ImageDraw.ImageDraw, x: float, y: float, *, lift: float, base: float, colour: Colour, scale: float = 1.0
) -> None:
    """Draws a block on a cell whose middle is at (x, y): its top is lifted, its sides reach down to `base`."""
    wide, high, top, bottom = scale * _TILE[0], scale * _TILE[1], y - lift, y + base
    left, front, right = (x - wide, top), (x, top + high), (x + wide, top)
    draw.polygon([left, front, (x, bottom + high), (x - wide, bottom)], fill=_mixed((0, 0, 0), colour, 0.45))
    draw.polygon([front, right, (x + wide, bottom), (x, bottom + high)], fill=_mixed((0, 0, 0), colour, 0.65))
    draw.polygon([left, (x, top - high), right, front], fill=colour)


def _draw_agent(draw: ImageDraw.ImageDraw, x: float, y: float, *, carries: bool) -> None:
    colour = _CARRYING if carries else _AGENT
    draw.polygon([(x, y), (x - 7, y - 16), (x + 7, y - 16)], fill=colour)
    draw.ellipse([x - 9, y - 30, x + 9, y - 12], fill=colour, outline=(255, 255, 255))
    if carries:
        draw.rectangle([x - 6, y - 43, x + 6, y - 32], fill=_COLOURS["stone"], outline=(255, 255, 255))
