"""Movies of a what-if: an episode as it was, and beside it as it goes on after a change."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from neurozoo.agents.frozen import FrozenModel, open_frozen
from neurozoo.environments.game_titles import game_title
from neurozoo.errors import NeurozooError
from neurozoo.files import folder_written_whole, read_json, write_json
from neurozoo.folders import delete, move
from neurozoo.interventions.change import Change
from neurozoo.movies.lettering import fitted, write
from neurozoo.movies.screens import OVER, action_words, draw_packed, fitted_size
from neurozoo.movies.themes import THEMES, Colour, Theme, ThemeName, colour_table, packed, packed_picture
from neurozoo.movies.video import poster_of, video_written_whole
from neurozoo.movies.wide_frame import trained_by
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.rollout_files import RolloutFile, open_rollout
from neurozoo.rollouts.what_if import COUNTERFACTUAL, FACTUAL, MOST_STEPS, WhatIf, play_what_if
from neurozoo.text import number_label

WIDTH, HEIGHT = 1280, 720
BEFORE = 60  # steps shown before the change
_PAUSE = 1.0  # seconds that the movie stops at the change, and at its end
_MARGIN, _SCREEN_TOP, _SCREEN = 32, 96, (544, 408)
_LEFTS = (_MARGIN, WIDTH - _MARGIN - _SCREEN[0])  # of the two screens
_GAP = 112  # side of the picture of the difference, between the screens
_CHART = (_MARGIN, 580, WIDTH - 2 * _MARGIN - 70, 116)  # left, top, width and height
_TITLE, _LABEL, _TEXT, _NOTE = 25, 17, 14, 11  # points
_FINE = 3  # lines are drawn this many times as large, and then reduced
_POSTER_AT = 0.8  # of the movie, where both games differ
_NAMES = ("as it was", "what if")


class _Shown(NamedTuple):
    """A step of one branch."""

    screen: np.ndarray
    plane: np.ndarray  # the newest of the observation
    score: float
    action: str
    is_over: bool


def film_what_if(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    change: Mapping[str, Any],
    *,
    interventions: Mapping[str, Mapping[str, Any]] | None = None,
    title: str = "",
    steps: int = MOST_STEPS,
    before: int = BEFORE,
    fps: int = 30,
    theme: ThemeName = "dark",
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> WhatIf:
    """Plays a what-if, and films both branches side by side, from some steps before the change.

    For `what_if/NAME.mp4`, the outcome is written to `what_if/NAME.json`, and both recordings to the folder
    `what_if/NAME`; an earlier what-if of this name stays whole until then. The change is an entry under `what_if` of
    the configuration, see `Change.from_config`; it may name one of the interventions. A `title` says for people what it
    means; without one, the change itself stands above the games. All else is as in `play_what_if` and
    `render_activation_movie`.

    Raises:
        NeurozooError: As `play_what_if`; or other files of these names would be lost, ffmpeg failed, or the disk is
            full.
    """
    output, read = Path(output), Change.from_config(change, interventions)
    folder, outcome, movies = output.with_suffix(""), output.with_suffix(".json"), (output, poster_of(output))
    remedy = "Give the what-if another name."
    if outcome.exists() and read_json(outcome, remedy).keys() != {field.name for field in fields(WhatIf)}:
        raise NeurozooError(f"{outcome} is not of a what-if, and would be lost. {remedy}")
    parts = [str(Path(name).with_suffix(end)) for name in (FACTUAL, COUNTERFACTUAL) for end in (".npz", ".parquet")]
    with folder_written_whole(folder, parts=[*parts, *(movie.name for movie in movies)]) as new:
        found = play_what_if(frozen_folder, rollout, new, read, steps=steps, log=log, terminal=terminal)
        frozen = open_frozen(frozen_folder)
        with open_rollout(new / FACTUAL, frozen) as one, open_rollout(new / COUNTERFACTUAL, frozen) as other:
            first, last = max(0, found.change.step - before), max(one.steps, other.steps)
            branches = [_shown(frozen, each, first) for each in (one, other)]
            scene = _Scene(frozen, found, (one, other), title=title, first=first, theme=THEMES[theme])
            pauses = {found.change.step: round(_PAUSE * fps), last - 1: round(_PAUSE * fps)}
            with (
                Progress(f"what-if of {frozen.title}", total=last - first, log=log, terminal=terminal) as progress,
                video_written_whole(
                    new / output.name, width=WIDTH, height=HEIGHT, fps=fps, is_packed=True, poster_at=_POSTER_AT
                ) as show,
            ):
                for step in range(first, last):
                    picture = scene.compose(step, next(branches[0]), next(branches[1]))
                    for _ in range(1 + pauses.get(step, 0)):
                        show(picture)
                    progress.advance()
        for path in (outcome, *movies):  # nothing of an earlier what-if stays beside the new one
            delete(path)
    for movie in movies:
        with contextlib.suppress(FileNotFoundError):  # the poster
            move(folder / movie.name, movie)
    write_json(outcome, asdict(found))
    return found


def _shown(frozen: FrozenModel, rollout: RolloutFile, first: int) -> Iterator[_Shown]:
    """Yields the steps from the first one on without end: after the last one, it repeats that."""
    channels = frozen.shape.plane[-1]
    rows = islice(rollout.rows("frames", "observations"), first, None)
    shown = None
    for step, (screen, observation) in enumerate(rows, first):
        words = action_words(frozen.actions, rollout.actions[step])
        shown = _Shown(screen, observation[..., -channels:], float(rollout.scores[step]), words, False)
        yield shown
    while shown is not None:
        shown = shown._replace(is_over=True)
        yield shown


class _Scene:
    """Draws the frames: the two games, the difference of what they show between them, and both scores below."""

    def __init__(
        self,
        frozen: FrozenModel,
        found: WhatIf,
        rollouts: tuple[RolloutFile, RolloutFile],
        *,
        title: str,
        first: int,
        theme: Theme,
    ):
        self._theme, self._change, self._found = theme, found.change, found
        self._image = np.full((HEIGHT, WIDTH), packed(theme.paper), np.uint32)
        self._colours: tuple[Colour, Colour] = (theme.ink, theme.chosen)
        width, height = fitted_size(rollouts[0].screen_shape, *_SCREEN)
        top, lefts = _SCREEN_TOP + (_SCREEN[1] - height) // 2, [x + (_SCREEN[0] - width) // 2 for x in _LEFTS]
        self._screens = [(slice(top, top + height), slice(left, left + width)) for left in lefts]
        self._largest = 1e-6  # difference so far
        title = f"What if: {title or found.change.label}, from step {found.change.step:,}"
        x = self._write(fitted(title, _TITLE, 760, bold=True), _MARGIN, 30, _TITLE, ink=theme.chosen, bold=True)
        words = [game_title(frozen.game), trained_by(frozen), frozen.model.replace("_", " "), f"run {frozen.run}"]
        about = "  ·  ".join(words if frozen.run else words[:-1])
        self._write(fitted(about, _TEXT, WIDTH - 3 * _MARGIN - x), WIDTH - _MARGIN, 32, _TEXT, align="right")
        self._chart = _Chart([rollout.scores for rollout in rollouts], first, found.change.step, self._colours, theme)
        for value, row in self._chart.labels:
            self._write(value, _CHART[0] + _CHART[2] + 10, _CHART[1] + row, _NOTE)

    def _write(self, text: str, x: int, y: int, size: int, **looks: Any) -> int:
        return write(self._image, text, x, y, size, **{"ink": self._theme.quiet, "paper": self._theme.paper, **looks})

    def compose(self, step: int, *branches: _Shown) -> np.ndarray:
        """Draws one frame: packed pixels, uint32, shape (`HEIGHT`, `WIDTH`); overwritten by the next call."""
        theme, paper = self._theme, packed(self._theme.paper)
        is_parted, is_changed = step >= self._change.step, self._change.is_at(step)
        self._image[56:_SCREEN_TOP] = paper
        self._image[_SCREEN_TOP + _SCREEN[1] : _CHART[1]] = paper
        middle = self._image[_SCREEN_TOP - 8 : _CHART[1], _LEFTS[0] + _SCREEN[0] + 4 : _LEFTS[1] - 4]
        middle[:] = paper
        for place, (shown, x) in enumerate(zip(branches, _LEFTS, strict=True)):
            ink = self._colours[place] if is_parted else theme.ink
            rows, columns = self._screens[place]
            frame = packed(ink if is_parted and place else theme.line)
            self._image[rows.start - 4 : rows.stop + 4, columns.start - 4 : columns.stop + 4] = frame
            draw_packed(self._image[rows, columns], shown.screen // OVER if shown.is_over else shown.screen)
            name = _NAMES[place]
            if place and is_changed and not shown.is_over:
                name += f": {self._change.label}"
            self._write(fitted(name, _LABEL, _SCREEN[0] - 110, bold=True), x, 76, _LABEL, ink=ink, bold=True)
            told = "end" if shown.is_over else f"step {step:,}"
            self._write(told, x + _SCREEN[0], 76, _TEXT, align="right")
            y = _SCREEN_TOP + _SCREEN[1] + 30
            self._write(f"score {number_label(shown.score)}", x, y, 22, ink=ink, bold=True)
            action = "" if shown.is_over else shown.action
            differs = is_parted and branches[0].action != branches[1].action
            looks = {"ink": ink, "bold": True} if differs else {}
            self._write(fitted(action, _LABEL, 300), x + _SCREEN[0], y, _LABEL, align="right", **looks)
        self._draw_difference(step, branches[0].plane, branches[1].plane)
        left, top, width, height = _CHART
        self._chart.draw(self._image[top : top + height, left : left + width], step)
        return self._image

    def _draw_difference(self, step: int, one: np.ndarray, other: np.ndarray) -> None:
        """Draws where what both agents see differs; vectors become a column."""
        difference = np.abs(one - other).max(axis=-1) if one.shape[0] > 1 else np.abs(one - other).reshape(-1, 1)
        self._largest = max(self._largest, float(difference.max()))
        middle, top = WIDTH // 2, _SCREEN_TOP + _SCREEN[1] // 2 - _GAP // 2
        rows, columns = (np.arange(_GAP) * side // _GAP for side in difference.shape)
        shades = np.rint(255 * difference / self._largest).astype(np.uint8)[rows][:, columns]
        left = middle - _GAP // 2
        self._image[top - 1 : top + _GAP + 1, left - 1 : left + _GAP + 1] = packed(self._theme.line)
        self._image[top : top + _GAP, left : left + _GAP] = colour_table(self._theme.sequential)[shades]
        self._write("difference of", middle, top - 32, _NOTE, align="middle")
        self._write("observations", middle, top - 16, _NOTE, align="middle")
        first = self._found.first_other_screen
        since = "none so far" if first is None or step < first else f"first at step {first:,}"
        self._write(since, middle, top + _GAP + 18, _NOTE, align="middle")


class _Chart:
    """Both scores over the steps from `first` on, and a mark where they part; `labels` are values with their rows."""

    def __init__(
        self, scores: list[np.ndarray], first: int, parting: int, colours: tuple[Colour, Colour], theme: Theme
    ):
        _, _, width, height = _CHART
        values = np.concatenate([each[first:] for each in scores])
        low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
        longest, self._first = max(map(len, scores)) - first, first
        self._x = np.rint(np.linspace(8, width - 9, max(2, longest))).astype(int)
        self._empty = np.full((height, width), packed(theme.card), np.uint32)

        def row_of(score: float) -> int:
            return round(height - 10 - (score - low) / ((high - low) or 1.0) * (height - 20))

        self.labels = [(number_label(value).replace("-", "−"), row_of(value)) for value in dict.fromkeys((low, high))]
        for _, row in self.labels:
            self._empty[row] = packed(theme.line)
        mark = self._x[parting - first]
        self._empty[::2, mark : mark + 2] = packed(theme.chosen)
        drawn = self._empty.view(np.uint8).reshape(height, width, 4)[..., :3].astype(float)
        for each, colour, begin in zip(scores, colours, (first, parting), strict=True):
            points = [(int(self._x[step - first]), row_of(each[step])) for step in range(begin, len(each))]
            steps = [(x, y) for (_, before), (x, now) in pairwise(points) for y in (before, now)]
            canvas = Image.new("L", (_FINE * width, _FINE * height), 0)
            line = [(_FINE * x + 1, _FINE * y + 1) for x, y in [points[0], *steps]]
            ImageDraw.Draw(canvas).line(line, fill=255, width=2 * _FINE, joint="curve")
            share = np.asarray(canvas.resize((width, height), Image.Resampling.BOX))[..., None] / 255.0
            drawn = drawn * (1 - share) + np.array(colour) * share
        self._full = packed_picture(np.rint(drawn).astype(np.uint8))

    def draw(self, image: np.ndarray, step: int) -> None:
        """Draws the lines up to a step into packed pixels."""
        now = self._x[step - self._first] + 1
        image[:, :now], image[:, now:] = self._full[:, :now], self._empty[:, now:]
