"""How fast episodes are played here."""

import os
import platform
import time
from dataclasses import dataclass

import numpy as np

from neurozoo.evaluation import Episode
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.evaluation.reference import collect_reference
from neurozoo.games import layout_of, protocol_of
from neurozoo.genomes import Genome, Mutation

EPISODE_FRAMES = 4_000  # short enough that the last episodes do not outlast the measurement by much
PARENTS = 2


@dataclass(frozen=True)
class Speed:
    """What was measured for one network, game and number of threads.

    Attributes:
        network: Network name.
        game: Game id.
        threads: Episodes at once.
        episodes: Finished episodes.
        frames_per_second: Emulator frames of all threads per second of wall time.
        frames_per_second_per_core: Frames per second that a thread was busy, weights included.
        steps_per_second_per_core: Decisions, each one forward pass, likewise.
    """

    network: str
    game: str
    threads: int
    episodes: int
    frames_per_second: float
    frames_per_second_per_core: float
    steps_per_second_per_core: float


def measure_speed(
    network: str,
    game: str,
    *,
    threads: int,
    seconds: float,
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    protocol: str | None = None,
) -> Speed:
    """Plays episodes of mutated random networks for a while, as a generation does, and counts the frames.

    Args:
        network: Network name.
        game: Game id.
        threads: Episodes at once.
        seconds: How long new episodes start; the ones that run then are finished and counted.
        ops: The op library.
        noise: The noise table.
        protocol: How episodes are played; None for the game's own.

    Raises:
        NeurozooError: Something is missing or unknown.
    """
    rules = protocol_of(game, protocol)
    layout = layout_of(game, network, rules)
    random = np.random.default_rng(0)
    highest = os.path.getsize(noise) // 4 - layout.parameter_count
    parents = [Genome(int(random.integers(highest))) for _ in range(PARENTS)]

    def episode() -> Episode:
        child = parents[random.integers(PARENTS)].mutated(int(random.integers(highest)), 0.002)
        return Episode(child, int(random.integers(1, 31)) if rules.max_noops else 0, 0, EPISODE_FRAMES)

    with NativeEvaluator(ops=ops, noise=noise, layout=layout, game=game, protocol=rules, threads=threads) as evaluator:
        if layout.needs_reference:
            evaluator.set_reference(collect_reference(game, rules, seed=0, run=1))
        evaluator.hold(parents)
        evaluator.submit({number: episode() for number in range(threads)})  # warms up caches and page tables
        open_episodes = threads
        while open_episodes:
            open_episodes -= len(evaluator.receive(timeout=1.0))
        results = []
        begin = time.monotonic()
        evaluator.submit({number: episode() for number in range(2 * threads)})
        open_episodes = 2 * threads
        while open_episodes:
            news = list(evaluator.receive(timeout=1.0).values())
            results += news
            open_episodes -= len(news)
            if news and time.monotonic() - begin < seconds:
                evaluator.submit({number: episode() for number in range(len(news))})
                open_episodes += len(news)
        wall = time.monotonic() - begin
    frames, busy = sum(r.frames for r in results), sum(r.seconds for r in results)
    return Speed(
        network=network,
        game=game,
        threads=threads,
        episodes=len(results),
        frames_per_second=frames / wall,
        frames_per_second_per_core=frames / busy,
        steps_per_second_per_core=sum(r.steps for r in results) / busy,
    )


@dataclass(frozen=True)
class Decoding:
    """What it costs to turn an old genome into weights.

    Attributes:
        network: Network name.
        mutations: Length of the genome.
        threads: Threads that decode.
        seconds: From scratch, as when a run continues.
        child_seconds: For a child of a genome that is held, as in every episode of a run.
    """

    network: str
    mutations: int
    threads: int
    seconds: float
    child_seconds: float


def measure_decoding(
    network: str,
    game: str,
    *,
    threads: int,
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    mutations: int = 1000,
) -> Decoding:
    """Decodes a genome of many generations, and a child of it.

    Args:
        network: Network name.
        game: Game id, which decides the number of outputs.
        threads: Threads that decode.
        ops: The op library.
        noise: The noise table.
        mutations: Length of the genome.

    Raises:
        NeurozooError: Something is missing or unknown.
    """
    rules = protocol_of(game)
    layout = layout_of(game, network, rules)
    random = np.random.default_rng(0)
    highest = os.path.getsize(noise) // 4 - layout.parameter_count
    indices = random.integers(highest, size=mutations + 2).tolist()
    old = Genome(indices[0], tuple(Mutation(index, 0.002) for index in indices[1:-1]))
    with NativeEvaluator(ops=ops, noise=noise, layout=layout, game=game, protocol=rules, threads=threads) as evaluator:
        begin = time.monotonic()
        evaluator.hold([old])
        middle = time.monotonic()
        evaluator.hold([old, old.mutated(indices[-1], 0.002)])
        return Decoding(network, mutations, threads, middle - begin, time.monotonic() - middle)


def machine() -> dict[str, object]:
    """Returns what a measurement depends on: processor, cores and system."""
    with open("/proc/cpuinfo") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
    }
