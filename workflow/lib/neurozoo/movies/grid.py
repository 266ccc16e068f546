"""Rollouts side by side in one movie, each under its label: runs of several algorithms, or generations of one run."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.inspection.frozen import FrozenModel, open_frozen
from neurozoo.inspection.panels import LABEL_RISE, LABEL_SIZE, NOTE_SIZE, write_centred, write_fitting
from neurozoo.inspection.progress import Progress
from neurozoo.inspection.rollout_files import REMEDY, RolloutFile, open_rollout
from neurozoo.inspection.screens import ScreenView, even, zoom_of
from neurozoo.inspection.video import check_fps, video_written_whole

GAP = 30  # pixels between screens and around them
HEAD = 55  # pixels above a screen for its two labels
TITLE = 30  # pixels above everything
WIDEST = 1920  # pixels of a movie up to which small screens are shown twice as large


@dataclass(frozen=True)
class Entry:
    """One of several agents whose games are shown together.

    Attributes:
        frozen: The agent, in a folder `frozen/` beside `rollout.npz`.
        label: What stands above its game.
        note: A smaller line below the label.
        row: Which row of the grid, from 0.
        column: Which column.
    """

    frozen: FrozenModel
    label: str
    note: str
    row: int
    column: int

    @property
    def rollout(self) -> Path:
        """The agent's rollout."""
        return self.frozen.folder.parent / "rollout.npz"


@dataclass(frozen=True)
class GridMovie:
    """What was filmed.

    Attributes:
        scores: What each agent has scored when its rollout ends, by title.
        frames: Number of frames: the steps of the longest rollout.
        problems: Why others cannot be seen, or not to their end.
    """

    scores: dict[str, float]
    frames: int
    problems: tuple[str, ...]


def film_grid(
    run_dirs: Sequence[str | os.PathLike],
    output: str | os.PathLike,
    *,
    fps: int = 60,
    max_steps: int = 0,
    overlay: bool = True,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> GridMovie:
    """Films rollouts of one game together: a row per algorithm and network, a column per run.

    Shorter ones stand still at their end. What is damaged leaves a gap, and is named in the log.

    Args:
        run_dirs: Folders with `frozen/` and `rollout.npz`, of runs, or of moments or generations of runs.
        output: The `.mp4` to write.
        fps: Steps per second.
        max_steps: Shows the first steps only; 0 for all.
        overlay: Whether score, step and action stand beneath each screen.
        log: Optional file for progress lines.
        terminal: `bar` for a progress bar where standard error is a terminal, `lines` for lines.

    Returns:
        Who was filmed, and what is missing.

    Raises:
        NeurozooError: None of the rollouts can be shown, they are of several games, two are of the same agent, a number
            is out of range, ffmpeg failed, or the disk is full.
    """
    agents, problems = [], []
    for folder in run_dirs:
        try:
            agents.append(open_frozen(Path(folder) / "frozen"))
        except NeurozooError as error:
            problems.append(str(error))
    games = {agent.game: agent for agent in agents}
    if len(games) > 1:
        raise NeurozooError(
            f"A grid shows one game, but {' and '.join(agent.title for agent in list(games.values())[:2])} came. Make "
            "one for each game."
        )
    return film_together(
        _placed(agents),
        output,
        title=next(iter(games), "").replace("_", " "),
        fps=fps,
        max_steps=max_steps,
        overlay=overlay,
        log=log,
        terminal=terminal,
        problems=problems,
    )


def _placed(agents: Sequence[FrozenModel]) -> list[Entry]:
    """Gives each agent its place: rows by algorithm and network, columns by run and what it is of the run."""

    def row_of(agent: FrozenModel) -> tuple[str, str]:
        return (agent.algo, agent.model)

    def column_of(agent: FrozenModel) -> tuple[int, int, str]:
        return (agent.run, agent.generation or 0, agent.title.rpartition("/")[2])

    rows, columns = (sorted({key(agent) for agent in agents}) for key in (row_of, column_of))
    entries = {}
    for agent in agents:
        row, column = rows.index(row_of(agent)), columns.index(column_of(agent))
        label, note = " ".join(row_of(agent)), f"run {column_of(agent)[2]}"
        if (other := entries.setdefault((row, column), Entry(agent, label, note, row, column)).frozen) is not agent:
            raise NeurozooError(f"{other.folder} and {agent.folder} are both {agent.title}. Name one of them.")
    return list(entries.values())


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

    Args:
        entries: The agents.
        output: The `.mp4` to write.
        title: What stands above all.
        fps: Steps per second.
        max_steps: Shows the first steps only; 0 for all.
        overlay: Whether score, step and action stand beneath each screen.
        log: Optional file for progress lines.
        terminal: `bar` for a progress bar where standard error is a terminal, `lines` for lines.
        problems: What is known to be missing.

    Raises:
        NeurozooError: What `film_grid` refuses.
    """
    check_fps(fps)
    problems = list(problems)
    with ExitStack() as files:
        rollouts: dict[Entry, RolloutFile] = {}
        shape = ()
        for entry in entries:
            try:
                opened = open_rollout(entry.rollout, entry.frozen, keys=("score",), max_steps=max_steps)
                rollout = files.enter_context(opened)
            except NeurozooError as error:
                problems.append(str(error))
                continue
            shape = shape or rollout.screen_shape
            if rollout.screen_shape == shape:
                rollouts[entry] = rollout
            else:
                problems.append(f"{rollout.path} has screens of {rollout.screen_shape}, not of {shape}. {REMEDY}")
        if not rollouts:
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
                moments = {entry: moment for entry, game in games.items() if (moment := next(game, None))}
                if all(moment["is_over"] for moment in moments.values()):
                    break
                for entry, moment in moments.items():
                    sheet.draw(entry, moment)
                show(sheet.image)
                frames += 1
                progress.advance()
            for problem in problems:
                progress.say(problem)
            if not frames:
                raise _nothing_to_show(problems)
    scores = {entry.frozen.title: moment["score"] for entry, moment in moments.items()}
    return GridMovie(scores, frames, tuple(problems))


def _nothing_to_show(problems: Sequence[str]) -> NeurozooError:
    return NeurozooError(" ".join(["No rollout can be shown.", *problems]))


def _shown(rollout: RolloutFile, problems: list[str]) -> Iterator[dict]:
    """Yields what `ScreenView.draw` takes, without end: the last screen stays, and so does that before a damage."""
    moment = None
    try:
        for moment in rollout.moments():
            yield {**moment, "is_over": False}
        if rollout.final_score is not None:
            moment["score"] = rollout.final_score
    except NeurozooError as error:
        problems.append(str(error))
    while moment is not None:
        yield {**moment, "is_over": True}


class _Sheet:
    """A movie's frame: the games at their places, each with its labels above.

    Attributes:
        image: uint8, shape (`height`, `width`, 3).
        height: Pixels, even.
        width: Pixels, even.
    """

    def __init__(self, title: str, entries: Sequence[Entry], screen_shape: tuple[int, int, int], *, overlay: bool):
        rows, columns = 1 + max(entry.row for entry in entries), 1 + max(entry.column for entry in entries)
        fits = GAP + columns * (zoom_of(screen_shape) * screen_shape[1] + GAP) <= WIDEST
        self._views = {
            entry: ScreenView(screen_shape, entry.frozen.actions, overlay=overlay, zoom=None if fits else 1)
            for entry in entries
        }
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

    def draw(self, entry: Entry, moment: dict) -> None:
        """Draws one game at one moment."""
        self._views[entry].draw(self.image, self._corners[entry], **moment)
