"""Plays a genome again, to see how good it is."""

import csv
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from neurozoo.algorithms.randomness import MAX_SEED, Purpose, generator
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, make_evaluator
from neurozoo.files import read_json, write_json, written_whole
from neurozoo.games import Protocol, check_game, layout_of
from neurozoo.genomes import Genome
from neurozoo.noise import open_noise_table
from neurozoo.statistics import bootstrap_intervals, mean_over_games


@dataclass(frozen=True)
class ScoredEpisode:
    """An episode and what came of it; everything that is needed to play it again."""

    noops: int
    seed: int
    score: float
    steps: int
    frames: int


def score_genome(
    genome: Genome,
    *,
    game: str,
    model: str,
    protocol: Protocol,
    episodes: int,
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    noops: int | None = None,
    seed: int = 0,
    max_frames: int | None = None,
    threads: int = 1,
    reference: np.ndarray | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> list[ScoredEpisode]:
    """Plays episodes of one genome.

    Args:
        genome: Who plays.
        game: Game id.
        model: Network name.
        protocol: How episodes are played.
        episodes: How many.
        ops: The op library.
        noise: The noise table.
        noops: Frames without action at the start of each episode; None draws them as the protocol says.
        seed: Decides what is drawn.
        max_frames: Longest episode; None for the protocol's own limit.
        threads: Episodes at once.
        reference: Observations for the statistics of virtual batch norm, see `Checkpoint`.
        progress: Called as episodes finish, with their number so far and the mean of their scores.

    Returns:
        One entry per episode, in order; the same whatever the number of threads.

    Raises:
        NeurozooError: Bad input.
    """
    if episodes < 1 or threads < 1:
        raise NeurozooError(f"There should be at least 1 episode and 1 thread, but {episodes} and {threads} came.")
    if (noops is not None and noops < 0) or (max_frames is not None and max_frames < 1) or seed < 0:
        raise NeurozooError("No-ops and seed should be 0 or more, and the most frames 1 or more.")
    open_noise_table(noise)
    layout = layout_of(check_game(game), model, protocol)
    starts: dict[int, Episode] = {}
    for number in range(episodes):
        random = generator((seed,), Purpose.EVALUATION, number)
        drawn = int(random.integers(1, protocol.max_noops + 1)) if protocol.max_noops else 0
        limit = protocol.max_frames if max_frames is None else max_frames
        starts[number] = Episode(genome, drawn if noops is None else noops, int(random.integers(MAX_SEED)), limit)
    results: dict[int, EpisodeResult] = {}
    with make_evaluator(
        ops=ops, noise=noise, layout=layout, game=game, protocol=protocol, threads=threads
    ) as evaluator:
        if reference is not None:
            evaluator.set_reference(reference)
        evaluator.hold([genome])
        evaluator.submit(starts)
        while len(results) < episodes:
            results |= (news := evaluator.receive(timeout=1.0))
            if progress is not None and news:
                progress(len(results), float(np.mean([result.score for result in results.values()])))
    return [
        ScoredEpisode(starts[n].noops, starts[n].seed, results[n].score, results[n].steps, results[n].frames)
        for n in range(episodes)
    ]


def summary(episodes: list[ScoredEpisode]) -> dict[str, float]:
    """Returns mean, standard error, median, lowest and highest score of some episodes."""
    scores = np.array([episode.score for episode in episodes])
    error = float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0
    return {
        "mean": float(scores.mean()),
        "standard_error": error,
        "median": float(np.median(scores)),
        "lowest": float(scores.min()),
        "highest": float(scores.max()),
    }


def evaluate_run(
    run_dir: str | os.PathLike,
    output: str | os.PathLike,
    *,
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    episodes: int = 30,
    seed: int = 0,
    threads: int = 1,
) -> dict:
    """Writes how good a run's result is: what it is, a summary, and every episode.

    Args:
        run_dir: The run's folder, or a `genome.json`.
        output: The JSON file to write.
        ops: The op library.
        noise: The noise table.
        episodes: How many.
        seed: Decides what is drawn.
        threads: Episodes at once; the file does not depend on them.

    Returns:
        What was written.

    Raises:
        NeurozooError: Bad input.
    """
    from neurozoo.imports import read_agent

    agent = read_agent(run_dir)
    played = score_genome(
        agent.genome,
        game=agent.game,
        model=agent.model,
        protocol=agent.protocol,
        episodes=episodes,
        ops=ops,
        noise=noise,
        seed=seed,
        threads=threads,
        reference=agent.reference,
    )
    record = {
        "game": agent.game,
        "model": agent.model,
        "protocol": asdict(agent.protocol),
        "seed": seed,
        "summary": summary(played),
        "episodes": [asdict(episode) for episode in played],
    }
    write_json(output, record)
    return record


def write_evaluation_table(
    files: Iterable[str | os.PathLike],
    output: str | os.PathLike,
    *,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> None:
    """Gathers evaluations of runs in one table: a row per file, in order.

    Args:
        files: `evaluation.json` files in their runs' folders, which name algorithm, game, network and run.
        output: The CSV file to write. `mean_low` and `mean_high` are the ends of a bootstrap interval of the mean over
            episodes, not over runs; they are empty where there is a single episode.
        replications: Bootstrap resamples.
        confidence: Of the intervals.
        seed: Of the bootstrap.

    Raises:
        NeurozooError: A file is missing or damaged.
    """
    rows = []
    for path in map(Path, files):
        record = read_json(path, "Make it again: the rule evaluate.")
        algo, _, _, run = path.parent.parts[-4:]
        protocol, figures = record["protocol"], record["summary"]
        scores = np.array([episode["score"] for episode in record["episodes"]], float)
        low, high = bootstrap_intervals(
            [scores], {"": mean_over_games}, replications=replications, confidence=confidence, seed=seed
        )[""]
        rows.append(
            {
                "algo": algo,
                "game": record["game"],
                "model": record["model"],
                "run": run,
                "protocol": protocol["name"],
                "start_state": protocol["start_state"],
                "episodes": len(record["episodes"]),
                **figures,
                "mean_low": "" if np.isnan(low) else float(low),
                "mean_high": "" if np.isnan(high) else float(high),
            }
        )
    with written_whole(output) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
