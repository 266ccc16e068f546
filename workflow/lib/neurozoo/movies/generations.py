"""Movies of a run's progress: the elites of several generations play side by side."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from neurozoo.agents.freeze import freeze_run
from neurozoo.agents.frozen import open_frozen
from neurozoo.agents.generation_reports import generation_folder, read_reports, reports_of
from neurozoo.errors import NeurozooError
from neurozoo.files import write_text
from neurozoo.movies.grid import Entry, film_together
from neurozoo.rollouts.rollout import record_rollout
from neurozoo.text import number_label

COLUMNS = 4  # screens in a row


@dataclass(frozen=True)
class GenerationsMovie:
    """Summary of a movie: the generations from left to right, their scores, and the steps of the longest game."""

    generations: tuple[int, ...]
    scores: tuple[float, ...]
    frames: int


def choose_generations(numbers: Sequence[int], *, count: int = 4, every: int | None = None) -> list[int]:
    """Picks the first and the last generation of all `numbers`, and some between them.

    There are `count`, evenly spread (1 takes only the last), or `every` n-th one.

    Raises:
        NeurozooError: There are no generations.
    """
    if not numbers:
        raise NeurozooError("The run has no finished generation yet. Let it train until one is finished.")
    if every is not None:
        return list(dict.fromkeys([*numbers[::every], numbers[-1]]))
    last = len(numbers) - 1
    places = [last] if count == 1 else [(2 * i * last + count - 1) // (2 * (count - 1)) for i in range(count)]
    return list(dict.fromkeys(numbers[place] for place in places))


def film_generations(
    run_dir: str | os.PathLike,
    output: str | os.PathLike,
    *,
    core: str | os.PathLike,
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

    The run's folder has `checkpoint.npz`, `genome.json` and `log.jsonl`. Frozen models and rollouts stay in it, in
    `generations/N/`. `count` and `every` are those of `choose_generations`. Episodes are cut off after `max_steps`; the
    seed decides their start. `log` gets a line about each generation, and `terminal` is as in `Progress`.

    Raises:
        NeurozooError: The run has no genomes of its generations, or freezing, recording or filming fails.
    """
    chosen = reports_of(run_dir, choose_generations(sorted(read_reports(run_dir)), count=count, every=every))
    lines, entries = [], []
    for place, report in enumerate(chosen):
        folder = generation_folder(run_dir, report.generation)
        check = freeze_run(run_dir, core=core, noise=noise, generation=report.generation)
        frozen, path = folder / "frozen", folder / "rollout.npz"
        rollout = record_rollout(frozen, path, max_steps=max_steps, seed=seed, terminal=terminal)
        lines.append(
            f"generation {report.generation}: same actions in {check['steps']} steps, score {rollout.scores[0]:g} in "
            f"{rollout.steps} steps"
        )
        note = "" if report.score is None else f"mean score {number_label(report.score)}"
        row, column = divmod(place, COLUMNS)
        entries.append(Entry(open_frozen(frozen), f"generation {report.generation}", note, row, column))
    title = entries[-1].frozen.title.partition(",")[0]
    movie = film_together(entries, output, title=title, fps=fps, terminal=terminal)
    if log is not None:
        write_text(log, "\n".join([*lines, f"{output}: {movie.frames} frames"]) + "\n")
    return GenerationsMovie(tuple(report.generation for report in chosen), tuple(movie.scores.values()), movie.frames)
