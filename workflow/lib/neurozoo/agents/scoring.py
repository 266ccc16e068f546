"""Scores agents: plays test episodes of a run or a list of published seeds, and tabulates the results."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from neurozoo.agents.playable_agent import PlayableAgent, read_agent
from neurozoo.environments.episode_seeds import draw_seed
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.games import action_names, check_game
from neurozoo.environments.protocols import Protocol, get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, make_evaluator
from neurozoo.files import read_json, write_json
from neurozoo.files.csv import write_csv_rows
from neurozoo.genomes.cshenton import NETWORK as CSHENTON
from neurozoo.genomes.cshenton import PROTOCOL as CSHENTON_PROTOCOL
from neurozoo.genomes.cshenton import decode_seeds, game_of_id
from neurozoo.genomes.genome import Genome, Weights
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.machine import cores
from neurozoo.randomness import Purpose, generator
from neurozoo.records.comparability import facts_of
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games


@dataclass(frozen=True)
class ScoredEpisode:
    """A played episode: its result, and what is needed to play it again."""

    noops: int
    seed: int
    score: float
    steps: int
    frames: int


def score_agent(
    agent: PlayableAgent,
    *,
    episodes: int,
    core: str | os.PathLike,
    noise: str | os.PathLike,
    noops: int | None = None,
    seed: int = 0,
    max_frames: int | None = None,
    threads: int = 1,
    progress: Callable[[int, float], None] | None = None,
) -> list[ScoredEpisode]:
    """Plays episodes of one agent, `threads` at a time.

    Each begins with so many frames of `noops`, or as many as the protocol draws, and is cut off after `max_frames`, or
    at the protocol's limit. `progress` is called as episodes finish, with their number so far and their mean score.

    Returns:
        One entry per episode, in order. The number of threads does not change them.

    Raises:
        NeurozooError: A number is out of range, a name is unknown, or a file is missing or damaged.
    """
    if episodes < 1 or threads < 1:
        raise NeurozooError(f"episodes and threads should be at least 1, but are {episodes} and {threads}.")
    if (noops is not None and noops < 0) or (max_frames is not None and max_frames < 1) or seed < 0:
        raise NeurozooError(
            f"noops and seed should be at least 0, and max_frames at least 1, but are {noops}, {seed} and {max_frames}."
        )
    game, protocol = agent.game, agent.protocol
    if noops and protocol.world != "atari":
        raise NeurozooError(f"{game!r} has no no-ops, which are for Atari games. Leave them out.")
    open_noise_table(noise)
    layout = layout_of(check_game(game), agent.model, protocol)
    starts: dict[int, Episode] = {}
    for number in range(episodes):
        drawn = evaluation_start(agent, number, seed=seed)
        limit = protocol.max_frames if max_frames is None else max_frames
        starts[number] = replace(drawn, noops=drawn.noops if noops is None else noops, max_frames=limit)
    results: dict[int, EpisodeResult] = {}
    with make_evaluator(
        core=core, noise=noise, layout=layout, game=game, protocol=protocol, threads=threads
    ) as evaluator:
        if agent.reference is not None:
            evaluator.set_reference(agent.reference)
        evaluator.pin([agent.genome])
        evaluator.submit(starts)
        while len(results) < episodes:
            results |= (news := evaluator.receive(timeout=1.0))
            if progress is not None and news:
                progress(len(results), float(np.mean([result.score for result in results.values()])))
    return [
        ScoredEpisode(starts[n].noops, starts[n].seed, results[n].score, results[n].steps, results[n].frames)
        for n in range(episodes)
    ]


def evaluation_start(agent: PlayableAgent, number: int, *, seed: int = 0) -> Episode:
    """Returns the episode of an evaluation that has this number; its start depends on nothing but number and seed."""
    random = generator((seed,), Purpose.EVALUATION, number)
    noops = agent.protocol.draw_noops(random)
    return Episode(
        agent.genome, noops, draw_seed(random, Purpose.EVALUATION, agent.protocol), agent.protocol.max_frames
    )


def is_one_game(
    episodes: Sequence[Mapping[str, Any]], protocol: Mapping[str, Any], *, draws_actions: bool = False
) -> bool:
    """Returns whether several episodes of one agent are the same game over and over, so that they count as one.

    A deterministic agent in a deterministic game plays the same game whenever it starts after the same no-ops. If it
    draws actions, now and then or always, equal games are chance. Episodes and protocol are given as records.
    """
    games = {(episode.get("noops"), episode["score"], episode.get("steps")) for episode in episodes}
    return len(episodes) > 1 and len(games) == 1 and not draws_actions and not Protocol.from_record(protocol).has_chance


def one_game_note(count: int) -> str:
    """Returns the sentence that stands where the interval of `count` equal episodes would stand."""
    return f"All {count} episodes are the same game, so the standard error and the interval of the mean are undefined."


def summary(
    episodes: Sequence[ScoredEpisode], protocol: Protocol, *, draws_actions: bool = False
) -> dict[str, float | str | None]:
    """Returns the mean, standard error, median, lowest and highest score of some episodes.

    The standard error is None for a single episode, and if all are the same game (see `is_one_game`); then a `note`
    says so.
    """
    scores = np.array([episode.score for episode in episodes])
    is_same = is_one_game([asdict(episode) for episode in episodes], asdict(protocol), draws_actions=draws_actions)
    error = float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 and not is_same else None
    return {
        "mean": float(scores.mean()),
        "standard_error": error,
        "median": float(np.median(scores)),
        "lowest": float(scores.min()),
        "highest": float(scores.max()),
        **({"note": one_game_note(len(episodes))} if is_same else {}),
    }


def evaluate_run(
    run_dir: str | os.PathLike,
    output: str | os.PathLike,
    *,
    core: str | os.PathLike,
    noise: str | os.PathLike,
    episodes: int = 30,
    seed: int = 0,
    threads: int = 1,
) -> dict:
    """Scores a run's result, and returns and writes a JSON file with the agent, a summary and every episode.

    Raises:
        NeurozooError: As `read_agent` and `score_agent`.
    """
    agent = read_agent(run_dir)
    played = score_agent(agent, episodes=episodes, core=core, noise=noise, seed=seed, threads=threads)
    record = {
        "game": agent.game,
        "model": agent.model,
        "protocol": asdict(agent.protocol),
        "seed": seed,
        "summary": summary(played, agent.protocol),
        "episodes": [asdict(episode) for episode in played],
    }
    write_json(output, record)
    return record


def evaluate_policy(
    game: str,
    seeds: Sequence[int],
    runs: int = 100,
    *,
    core: str | os.PathLike = "results/native/libneurozoo_core.so",
    noise: str | os.PathLike = "results/noise/table.f32",
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> float:
    """Plays episodes with a published list of seeds and returns the mean score.

    Args:
        game: An id such as `Frostbite-v4`, or our name of the game.
        seeds: The published seeds, which make the policy's weights.
        runs: Number of episodes.
        core: The native core.
        noise: The noise table. The core needs one, although these weights do not come from it.
        seed: Seed of the random number of frames per step.
        threads: Number of episodes played in parallel; None for one per core.
        progress: As in `score_agent`.

    Raises:
        NeurozooError: The game is unknown, there are no seeds, or `runs` is below 1.
    """
    game, protocol = game_of_id(game), get_protocol(CSHENTON_PROTOCOL)
    theta = decode_seeds(seeds, len(action_names(game, protocol.action_set)))
    episodes = score_agent(
        PlayableAgent(Genome(Weights.of(theta)), game, CSHENTON, protocol),
        episodes=runs,
        core=core,
        noise=noise,
        seed=seed,
        threads=threads or cores(),
        progress=progress,
    )
    return float(np.mean([episode.score for episode in episodes]))


def write_evaluation_table(
    files: Iterable[str | os.PathLike],
    output: str | os.PathLike,
    *,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> None:
    """Gathers the evaluations of runs in one CSV file, with a row per file, in order.

    The files are `evaluation.json` in the folders of their runs, which name algorithm, game, network and run.
    `mean_low` and `mean_high` are the ends of a bootstrap interval of the mean over episodes, not over runs. They and
    the standard error are empty if there is a single episode, and if all episodes are the same game; then `note` says
    so. The last columns are the fields of the protocol; all agents play greedily.

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
        is_same = is_one_game(record["episodes"], protocol)
        is_undefined = is_same or len(scores) < 2
        rows.append(
            {
                "algo": algo,
                "game": record["game"],
                "model": record["model"],
                "run": run,
                "protocol": protocol["name"],
                "start_state": protocol["start_state"],
                "episodes": len(record["episodes"]),
                **{name: value for name, value in figures.items() if name != "note"},
                "standard_error": "" if is_undefined else figures["standard_error"],
                "mean_low": "" if is_same or np.isnan(low) else float(low),
                "mean_high": "" if is_same or np.isnan(high) else float(high),
                "note": one_game_note(len(scores)) if is_same else "",
                **facts_of({"protocol_record": protocol}),
            }
        )
    write_csv_rows(output, list(rows[0]), (row.values() for row in rows))
