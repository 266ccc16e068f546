"""A run's progress to look at: the elites of some of its generations play side by side in one movie."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.files import write_text
from neurozoo.inspection.freeze import freeze_run
from neurozoo.inspection.frozen import open_frozen
from neurozoo.inspection.panels import LABEL_RISE, LABEL_SIZE, NOTE_SIZE, write_centred
from neurozoo.inspection.progress import Progress
from neurozoo.inspection.reports import Report, generation_folder, read_reports, report_of
from neurozoo.inspection.rollout import record_rollout
from neurozoo.inspection.streams import NpzReader
from neurozoo.inspection.video import video_written_whole

COLUMNS = 4  # screens in a row
GAP = 30  # pixels between screens and around them
HEAD, FOOT = 55, 30  # pixels above a screen for its two labels, and below it for its score
TITLE = 30  # pixels above everything
SMALL_SCREEN = 250  # pixels of width up to which a screen is shown twice as large
CHUNK = 16  # steps of each screen that are in memory at once
OVER = 2  # divisor of the brightness of a game that is over
REMEDY = "Make the movie again: python -m neurozoo generations, or the rule generations."


@dataclass(frozen=True)
class GenerationsMovie:
    """What was filmed.

    Attributes:
        generations: Their numbers, from left to right.
        scores: What each of them scored in the movie.
        frames: Number of frames: the steps of the longest game.
    """

    generations: tuple[int, ...]
    scores: tuple[float, ...]
    frames: int


def choose_generations(numbers: Sequence[int], *, count: int = 4, every: int | None = None) -> list[int]:
    """Picks the first and the last generation, and some between them.

    Args:
        numbers: All generations, in order.
        count: How many, evenly spread; 1 is the last alone. Not used if `every` is given.
        every: Takes every so many-th from the first on, and the last.

    Raises:
        NeurozooError: There are none, or a number is below 1.
    """
    if not numbers:
        raise NeurozooError("The run has no finished generation yet; let it go on for a while.")
    if count < 1 or (every is not None and every < 1):
        raise NeurozooError(f"There should be count >= 1 and every >= 1, but {count} and {every} came.")
    if every is not None:
        return list(dict.fromkeys([*numbers[::every], numbers[-1]]))
    last = len(numbers) - 1
    places = [last] if count == 1 else [(2 * i * last + count - 1) // (2 * (count - 1)) for i in range(count)]
    return list(dict.fromkeys(numbers[place] for place in places))


def film_generations(
    run_dir: str | os.PathLike,
    output: str | os.PathLike,
    *,
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    count: int = 4,
    every: int | None = None,
    max_steps: int = 2500,
    seed: int = 0,
    fps: int = 60,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> GenerationsMovie:
    """Freezes some generations of a run, lets each play one episode from the same start, and films them together.

    Frozen models and rollouts stay in `generations/N/` beside the run's other files.

    Args:
        run_dir: The run's folder, with `checkpoint.npz`, `genome.json` and `log.jsonl`.
        output: The `.mp4` to write.
        ops: The op library.
        noise: The noise table.
        count: How many generations, see `choose_generations`.
        every: Or the distance from one to the next.
        max_steps: Longest episode that is shown.
        seed: Decides the start, which is the same for all.
        fps: Frames per second.
        log: Optional file for a line about each generation.
        terminal: `bar` for a progress bar where standard error is a terminal, `lines` for lines.

    Returns:
        Which generations were filmed, and their scores.

    Raises:
        NeurozooError: The run has no genomes of its generations, a number is out of range, or anything that freezing,
            recording and filming refuse.
    """
    if fps < 1 or max_steps < 1:
        raise NeurozooError(f"A movie has fps >= 1 and max_steps >= 1, but {fps} and {max_steps} came.")
    reports = read_reports(run_dir)
    chosen = [
        report_of(run_dir, generation, reports=reports)
        for generation in choose_generations(sorted(reports), count=count, every=every)
    ]
    said = []
    for report in chosen:
        folder = generation_folder(run_dir, report.generation)
        check = freeze_run(run_dir, ops=ops, noise=noise, generation=report.generation)
        rollout = record_rollout(
            folder / "frozen", folder / "rollout.npz", max_steps=max_steps, seed=seed, terminal=terminal
        )
        said.append(
            f"generation {report.generation}: same actions in {check['steps']} steps, score {rollout.scores[0]:g} in "
            f"{rollout.steps} steps"
        )
    movie = _film(Path(run_dir), chosen, output, fps=fps, terminal=terminal)
    if log is not None:
        write_text(log, "\n".join([*said, f"{output}: {movie.frames} frames"]) + "\n")
    return movie


def _film(
    run_dir: Path, reports: Sequence[Report], output: str | os.PathLike, *, fps: int, terminal: str
) -> GenerationsMovie:
    folders = [generation_folder(run_dir, report.generation) for report in reports]
    title = open_frozen(folders[-1] / "frozen").title.partition(",")[0]
    with ExitStack() as files:
        readers = [
            files.enter_context(
                NpzReader(folder / "rollout.npz", keys=("frames", "score", "ep_rewards"), remedy=REMEDY)
            )
            for folder in folders
        ]
        finals = [float(next(reader.blocks("ep_rewards", 1))[0]) for reader in readers]
        lengths = [reader.shape("frames")[0] for reader in readers]
        sheet = _Sheet(title, reports, readers[0].shape("frames")[1:])
        games = [_shown(reader, final) for reader, final in zip(readers, finals, strict=True)]
        with (
            Progress(f"generations of {title}", total=max(lengths), terminal=terminal) as progress,
            video_written_whole(output, width=sheet.width, height=sheet.height, fps=fps) as show,
        ):
            for _ in range(max(lengths)):
                for place, game in enumerate(games):
                    sheet.place(place, *next(game))
                show(sheet.image)
                progress.advance()
    return GenerationsMovie(tuple(report.generation for report in reports), tuple(finals), max(lengths))


def _shown(reader: NpzReader, final: float) -> Iterator[tuple[np.ndarray, float, bool]]:
    """Yields screen, score and whether the game is over, without end: what is over stands still and is darker."""
    screen = None
    for screens, scores in zip(reader.blocks("frames", CHUNK), reader.blocks("score", CHUNK), strict=True):
        for screen, score in zip(screens, scores, strict=True):
            yield screen, float(score), False
    while True:
        yield screen // OVER, final, True


class _Sheet:
    """A movie's frame: the games side by side, each with its generation above and its score below.

    Attributes:
        image: uint8, shape (`height`, `width`, 3).
        height: Pixels, even.
        width: Pixels, even.
    """

    def __init__(self, title: str, reports: Sequence[Report], screen_shape: tuple[int, int, int]):
        self._scale = 2 if screen_shape[1] <= SMALL_SCREEN else 1
        self._height, self._width = (self._scale * side for side in screen_shape[:2])
        columns = min(COLUMNS, len(reports))
        rows = -(-len(reports) // columns)
        self.width = -(-(GAP + columns * (self._width + GAP)) // 2) * 2
        self.height = -(-(TITLE + rows * (HEAD + self._height + FOOT) + GAP // 2) // 2) * 2
        self.image = np.full((self.height, self.width, 3), 255, np.uint8)
        self._corners = [
            (
                TITLE + row * (HEAD + self._height + FOOT) + HEAD,
                GAP + column * (self._width + GAP),
            )
            for row, column in (divmod(place, columns) for place in range(len(reports)))
        ]
        write_centred(self.image, title, self.width // 2, TITLE // 2 + 2, LABEL_SIZE)
        for report, (top, left) in zip(reports, self._corners, strict=True):
            middle = left + self._width // 2
            write_centred(self.image, f"generation {report.generation}", middle, top - HEAD + 18, LABEL_SIZE)
            if report.score is not None:
                write_centred(self.image, f"mean score {report.score:,.0f}", middle, top - LABEL_RISE, NOTE_SIZE)

    def place(self, place: int, screen: np.ndarray, score: float, is_over: bool) -> None:
        """Draws one game's screen and score."""
        top, left = self._corners[place]
        bottom, right = top + self._height, left + self._width
        self.image[top:bottom, left:right] = screen.repeat(self._scale, axis=0).repeat(self._scale, axis=1)
        self.image[bottom : bottom + FOOT, left:right] = 255
        words = f"score {score:,.0f}{', over' if is_over else ''}"
        write_centred(self.image, words, left + self._width // 2, bottom + LABEL_RISE, LABEL_SIZE)
