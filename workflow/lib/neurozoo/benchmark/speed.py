"""Speed of the engines that play whole episodes: the native core's and the batched one.

The episodes of all measurements of a network and a game are always the same few: a `Workload`.
"""

import itertools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import Protocol, protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, Evaluator, make_evaluator
from neurozoo.evaluation.batched import BatchedEvaluator
from neurozoo.evaluation.reference_batch import collect_reference
from neurozoo.genomes.genome import Genome
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.networks.chains import Layout

EPISODES = 4
EPISODE_FRAMES = 2_000
POWER = 0.002  # mutation power, as published


@dataclass(frozen=True)
class Workload:
    """Episodes of children of random networks, as the first generation of a genetic algorithm plays them."""

    network: str
    game: str
    protocol: Protocol  # the evaluation protocol
    layout: Layout  # the network and its number of actions
    # The episodes, played again and again; each has its own network, a child of another parent.
    episodes: tuple[Episode, ...]

    @property
    def parents(self) -> tuple[Genome, ...]:
        """The parents of the networks that play."""
        parents = (episode.genome.parent for episode in self.episodes)
        return tuple(parent for parent in parents if parent is not None)  # every genome here is a child


def make_workload(network: str, game: str, *, noise: str | os.PathLike, frames: int = EPISODE_FRAMES) -> Workload:
    """Draws the episodes, which are cut off after `frames`; they depend on the size of the noise table.

    Raises:
        NeurozooError: A name is unknown, the game is not an Atari game, or the table is missing.
    """
    rules = protocol_of(game)
    if rules.world != "atari":
        raise NeurozooError(f"{game!r} is not an Atari game, but the benchmark plays only these. Change --games.")
    layout = layout_of(game, network, rules)
    random = np.random.default_rng(0)
    highest = len(open_noise_table(noise, verify=False)) - layout.parameter_count
    if highest < 1:
        raise NeurozooError(
            f"The noise table {noise} is too small for the network {network!r}. Choose another network."
        )

    def episode() -> Episode:
        parent, mutation = (int(index) for index in random.integers(highest, size=2))
        return Episode(Genome(parent).mutated(mutation, POWER), rules.draw_noops(random), 0, frames)

    return Workload(network, game, rules, layout, tuple(episode() for _ in range(EPISODES)))


def measure_speed(
    workload: Workload,
    *,
    threads: int,
    seconds: float,
    core: str | os.PathLike,
    noise: str | os.PathLike,
    at_end: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Plays the workload's episodes again and again, as a generation does, and counts the frames.

    The clock starts and stops while episodes run, so no thread is idle during the measurement. It ends with a complete
    round of the workload, after at least `seconds`. `at_end` is called while the engine is still open.
    """
    with make_evaluator(
        game=workload.game, layout=workload.layout, protocol=workload.protocol, core=core, noise=noise, threads=threads
    ) as evaluator:
        submit = _open_queue(evaluator, workload)

        def receive() -> list[EpisodeResult]:
            news = evaluator.receive(timeout=1.0)
            submit(len(news))
            return list(news.values())

        submit(3 * threads)  # for each thread one episode that plays and two that wait
        warm_up = 0
        while warm_up < threads:
            warm_up += len(receive())
        results: list[EpisodeResult] = []
        begin, processor = time.perf_counter(), time.process_time()
        while not results or len(results) % len(workload.episodes) or time.perf_counter() - begin < seconds:
            results += receive()
        wall, processor = time.perf_counter() - begin, time.process_time() - processor
        at_end()
    frames, busy = sum(r.frames for r in results), sum(r.seconds for r in results)
    return {
        "network": workload.network,
        "game": workload.game,
        "engine": "native",
        "threads": threads,  # episodes at once
        "episodes": len(results),  # that were counted
        "frames_per_second": frames / wall,  # emulator frames of all threads
        "frames_per_second_per_core": frames / busy,  # per second of busy thread time, which includes making weights
        "frames_per_processor_second": frames / processor,  # does not depend on other load
        "steps_per_second_per_core": sum(r.steps for r in results) / busy,  # decisions, each one forward pass
    }


def measure_batched(
    network: str,
    game: str,
    *,
    threads: int,
    seconds: float,
    core: str | os.PathLike,
    noise: str | os.PathLike,
    slots: int,
) -> dict[str, Any]:
    """Plays the benchmark's episodes as `measure_speed` does, and counts from when all slots play what is compiled.

    Raises:
        NeurozooError: Something is missing or unknown, or the slots do not fit into memory.
    """
    import keras

    load = make_workload(network, game, noise=noise)
    with BatchedEvaluator(
        core=core, noise=noise, layout=load.layout, game=game, protocol=load.protocol, threads=threads, slots=slots
    ) as evaluator:
        submit = _open_queue(evaluator, load)

        def play_on() -> int:
            """Lets both halves of the slots make a step, and queues a new episode for each that ended."""
            finished = len(evaluator.receive(timeout=0.0))
            submit(finished)
            return finished

        submit(3 * slots)
        while evaluator.usage.decisions < 10 * slots:
            play_on()
        begin, before, episodes = time.perf_counter(), evaluator.usage, 0
        while (wall := time.perf_counter() - begin) < seconds:
            episodes += play_on()
        after, device = evaluator.usage, evaluator.device
    decisions = after.decisions - before.decisions
    fewest, most = load.protocol.least_frame_skip or load.protocol.frame_skip, load.protocol.frame_skip
    return {
        "network": network,
        "game": game,
        "backend": keras.backend.backend(),
        "device": device,  # that computed the networks
        "slots": slots,  # episodes at once
        "threads": threads,  # that step the environments
        "episodes": episodes,  # that ended during the measurement
        "frames_per_second": decisions * (fewest + most) / 2 / wall,  # with the mean of a random frame skip
        "decisions_per_second": decisions / wall,  # of all agents
        # Of the time in which an environment was stepped; else, all waited for networks.
        "emulator_share": (after.world_seconds - before.world_seconds) / wall,
    }


def _open_queue(evaluator: Evaluator, workload: Workload) -> Callable[[int], None]:
    """Prepares an evaluator, and returns what submits so many of the workload's episodes, in turn without an end."""
    if workload.layout.needs_reference:
        evaluator.set_reference(collect_reference(workload.game, workload.protocol, entropy=(0, 1)))
    evaluator.pin(workload.parents)
    numbers = itertools.count()

    def submit(count: int) -> None:
        chosen = itertools.islice(numbers, count)
        evaluator.submit({number: workload.episodes[number % len(workload.episodes)] for number in chosen})

    return submit
