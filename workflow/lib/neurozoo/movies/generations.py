"""A run's progress to look at: the elites of some of its generations play side by side in one movie."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from neurozoo.errors import NeurozooError
from neurozoo.files import write_text
from neurozoo.inspection.freeze import freeze_run
from neurozoo.inspection.frozen import open_frozen
from neurozoo.inspection.grid import Entry, film_together
from neurozoo.inspection.reports import generation_folder, read_reports, report_of
from neurozoo.inspection.rollout import record_rollout
from neurozoo.inspection.video import check_fps

COLUMNS = 4  # screens in a row


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
    check_fps(fps)
    if max_steps < 1:
        raise NeurozooError(f"A movie of generations has max_steps >= 1, but {max_steps} came.")
    reports = read_reports(run_dir)
    chosen = [
        report_of(run_dir, generation, reports=reports)
        for generation in choose_generations(sorted(reports), count=count, every=every)
    ]
    said, entries = [], []
    for place, report in enumerate(chosen):
        folder = generation_folder(run_dir, report.generation)
        check = freeze_run(run_dir, ops=ops, noise=noise, generation=report.generation)
        rollout = record_rollout(
            folder / "frozen", folder / "rollout.npz", max_steps=max_steps, seed=seed, terminal=terminal
        )
        said.append(
            f"generation {report.generation}: same actions in {check['steps']} steps, score {rollout.scores[0]:g} in "
            f"{rollout.steps} steps"
        )
        note = "" if report.score is None else f"mean score {report.score:,.0f}"
        row, column = divmod(place, COLUMNS)
        entries.append(Entry(open_frozen(folder / "frozen"), f"generation {report.generation}", note, row, column))
    title = entries[-1].frozen.title.partition(",")[0]
    movie = film_together(entries, output, title=title, fps=fps, terminal=terminal)
    if log is not None:
        write_text(log, "\n".join([*said, f"{output}: {movie.frames} frames"]) + "\n")
    return GenerationsMovie(tuple(report.generation for report in chosen), tuple(movie.scores.values()), movie.frames)
