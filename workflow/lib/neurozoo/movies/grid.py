"""Movies of several rollouts side by side with labels: runs of several algorithms, or generations of one run."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Unpack

import numpy as np

from neurozoo.agents.frozen import FrozenModel, open_frozen
from neurozoo.algorithms.agent_names import agent_name
from neurozoo.environments.game_titles import game_title
from neurozoo.errors import NeurozooError
from neurozoo.movies.classic_frame import LABEL_RISE, LABEL_SIZE, NOTE_SIZE
from neurozoo.movies.lettering import write_centred, write_fitting
from neurozoo.movies.screens import ScreenView, even, zoom_of
from neurozoo.movies.video import Filming, video_written_whole
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.rollout_files import REMEDY, Moment, RolloutFile, open_rollout

GAP = 30  # pixels between screens and around them
HEAD = 55  # pixels above a screen for its two labels
TITLE = 30  # pixels at the top for the title
NO_LABELS: Mapping[str, str] = MappingProxyType({})
WIDEST = 1920  # pixels; small screens are shown twice as large if the movie stays within this width


@dataclass(frozen=True)
class Entry:
    """An agent, in a folder `frozen/` beside `rollout.npz`, its place in the grid, and the two lines above its game."""

    frozen: FrozenModel
    label: str
    note: str
    row: int
    column: int


@dataclass(frozen=True)
class GridMovie:
    """Summary of a grid movie."""

    scores: dict[str, float]  # of each agent at the end of its rollout, by title
    frames: int  # the steps of the longest rollout
    problems: tuple[str, ...]  # why other rollouts are missing or end early


def film_grid(
    run_dirs: Sequence[str | os.PathLike],
    output: str | os.PathLike,
    *,
    labels: Mapping[str, str] = NO_LABELS,
    fps: int = 60,
    overlay: bool = True,
    **filming: Unpack[Filming],
) -> GridMovie:
    """Films rollouts of one game together: a row per algorithm, network and label, a column per run.

    A single run of each fills even rows instead: six make two rows of three.

    A shorter rollout shows its last screen until the others end. A damaged one leaves a gap; the log names it.

    The folders, of runs, or of tags or generations of runs, have `frozen/` and `rollout.npz`. `labels` are what else
    settings are called, by run, such as `impala/pong/small/1`. With an `overlay`, score, step and action stand below
    each screen; all else is as in `Filming`.

    Raises:
        NeurozooError: No rollout can be shown, there are several games, two rollouts are of the same agent, ffmpeg
            failed, or the disk is full.
    """
    agents, problems = [], []
    for folder in run_dirs:
        try:
            agents.append(open_frozen(Path(folder) / "frozen"))
        except NeurozooError as error:
            problems.append(str(error))
    games = {agent.game: agent.title for agent in agents}
    if len(games) > 1:
        raise NeurozooError(
            f"A grid shows one game, but {' and '.join(list(games.values())[:2])} play two. Make one grid for each "
            "game."
        )
    entries, title = _placed(agents, labels), game_title(next(iter(games), ""))
    return film_together(entries, output, title=title, fps=fps, overlay=overlay, problems=problems, **filming)


def _placed(agents: Sequence[FrozenModel], labels: Mapping[str, str] = NO_LABELS) -> list[Entry]:
    """Gives each agent its place: a row per algorithm, network and label, a column per run and its generation or tag.

    If each row has a single run, even rows are filled instead, whatever the numbers of the runs.
    """

    def row_of(agent: FrozenModel) -> tuple[str, str, str]:
        run = f"{agent.algo}/{agent.game}/{agent.model}/{agent.run}"
        return (agent.algo, agent.model, labels.get(run, ""))

    def column_of(agent: FrozenModel) -> tuple[int, int, str]:
        return (agent.run, agent.generation or 0, agent.title.rpartition("/")[2])

    rows, columns = (sorted({key(agent) for agent in agents}) for key in (row_of, column_of))
    entries: dict[tuple[int, int], Entry] = {}
    for agent in agents:
        row, column = rows.index(row_of(agent)), columns.index(column_of(agent))
        label, note = agent_name(*row_of(agent)), f"run {column_of(agent)[2]}"
        if (other := entries.setdefault((row, column), Entry(agent, label, note, row, column)).frozen) is not agent:
            raise NeurozooError(f"{other.folder} and {agent.folder} are both {agent.title}. Name only one of them.")
    if not rows or len(entries) > len(rows):
        return list(entries.values())
    singles = sorted(entries.values(), key=lambda entry: entry.row)
    widest = max(3, math.ceil(math.sqrt(len(rows))))
    lines = np.array_split(range(len(rows)), math.ceil(len(rows) / widest))
    places = [(row, column) for row, line in enumerate(lines) for column in range(len(line))]
    return [replace(entry, row=row, column=column) for entry, (row, column) in zip(singles, places, strict=True)]


def film_together(
    entries: Sequence[Entry],
    output: str | os.PathLike,
    *,
    title: str,
    fps: int,
    max_steps: int = 0,
    overlay: bool = True,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
    problems: Sequence[str] = (),
) -> GridMovie:
    """Films the rollouts of several agents together, each at its place; see `film_grid`.

    The `title` stands above the grid. The `problems` found before go into the log and the summary.
    """
    problems = list(problems)
    with ExitStack() as files:
        rollouts: dict[Entry, RolloutFile] = {}
        shape: tuple[int, int, int] | None = None
        for entry in entries:
            path = entry.frozen.folder.parent / "rollout.npz"
            try:
                rollout = files.enter_context(open_rollout(path, entry.frozen, max_steps=max_steps))
            except NeurozooError as error:
                problems.append(str(error))
                continue
            shape = shape or rollout.screen_shape
            if rollout.screen_shape == shape:
                rollouts[entry] = rollout
            else:
                problems.append(f"{path} has screens of {rollout.screen_shape}, not of {shape}. {REMEDY}")
        if shape is None:
            raise _nothing_to_show(problems)
        sheet = _Sheet(title, entries, shape, overlay=overlay)
        total = max(rollout.steps for rollout in rollouts.values())
        games = {entry: _shown(rollout, problems) for entry, rollout in rollouts.items()}
        frames = 0
        with (
            Progress(f"grid of {title}", total=total, log=log, terminal=terminal) as progress,
            video_written_whole(output, width=sheet.width, height=sheet.height, fps=fps) as show,
        ):
            while True:
                shown = {entry: found for entry, game in games.items() if (found := next(game, None))}
                if all(is_over for _, is_over in shown.values()):
                    break
                for entry, (moment, is_over) in shown.items():
                    sheet.draw(entry, moment, is_over=is_over)
                show(sheet.image)
                frames += 1
                progress.advance()
            for problem in problems:
                progress.say(problem)
            if not frames:
                raise _nothing_to_show(problems)
    scores = {entry.frozen.title: moment["score"] for entry, (moment, _) in shown.items()}
    return GridMovie(scores, frames, tuple(problems))


def _nothing_to_show(problems: Sequence[str]) -> NeurozooError:
    return NeurozooError(" ".join(["No rollout can be shown.", *problems]))


def _shown(rollout: RolloutFile, problems: list[str]) -> Iterator[tuple[Moment, bool]]:
    """Yields moments without end, and whether the rollout is over: after the last readable step, it repeats that."""
    moment = None
    try:
        for moment in rollout.moments():
            yield moment, False
    except NeurozooError as error:
        problems.append(str(error))
    while moment is not None:
        yield moment, True


class _Sheet:
    """A movie's frame, `image`, uint8, shape (height, width, 3): the games in a grid, each below its labels."""

    def __init__(self, title: str, entries: Sequence[Entry], screen_shape: tuple[int, int, int], *, overlay: bool):
        rows, columns = 1 + max(entry.row for entry in entries), 1 + max(entry.column for entry in entries)
        fits = GAP + columns * (zoom_of(screen_shape) * screen_shape[1] + GAP) <= WIDEST
        zoom = None if fits else 1
        self._views = {e: ScreenView(screen_shape, e.frozen.actions, overlay=overlay, zoom=zoom) for e in entries}
        view = self._views[entries[0]]
        self.width = even(GAP + columns * (view.width + GAP))
        self.height = even(TITLE + rows * (HEAD + view.height) + GAP // 2)
        self.image = np.full((self.height, self.width, 3), 255, np.uint8)
        self._corners = {
            entry: (TITLE + entry.row * (HEAD + view.height) + HEAD, GAP + entry.column * (view.width + GAP))
            for entry in entries
        }
        write_centred(self.image, title, self.width // 2, TITLE // 2 + 2, LABEL_SIZE)
        for entry, (top, left) in self._corners.items():
            middle = left + view.width // 2
            write_fitting(self.image, entry.label, middle, top - HEAD + 18, view.width + GAP)
            write_centred(self.image, entry.note, middle, top - LABEL_RISE, NOTE_SIZE)
            write_centred(self.image, "cannot be shown", middle, top + view.screen_height // 2, NOTE_SIZE)

    def draw(self, entry: Entry, moment: Moment, *, is_over: bool) -> None:
        """Draws one step of one game."""
        self._views[entry].draw(self.image, self._corners[entry], **moment, is_over=is_over)
