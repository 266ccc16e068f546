"""How fast episodes are played here."""

import os
import platform
import resource
import time
from dataclasses import dataclass

import numpy as np

from neurozoo.algorithms.evolution_strategies import EvolutionStrategy
from neurozoo.algorithms.settings import EsSettings
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.evaluation.reference import collect_reference
from neurozoo.games import layout_of, protocol_of
from neurozoo.genomes import Genome, Mutation
from neurozoo.noise import open_noise_table

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


@dataclass(frozen=True)
class Update:
    """What a step of evolution strategies costs between its episodes.

    Attributes:
        network: Network name.
        parameters: Length of the parameter vector.
        population_size: Episodes per generation, two for each slice of noise.
        threads: Threads that sum.
        seconds: From the scores to the new weights.
        peak_megabytes: Most memory that this process has had so far, pages of the noise table among it.
    """

    network: str
    parameters: int
    population_size: int
    threads: int
    seconds: float
    peak_megabytes: float


def measure_update(network: str, game: str, *, threads: int, noise: str | os.PathLike) -> Update:
    """Lets evolution strategies with their published settings make a step out of random scores.

    Args:
        network: Network name.
        game: Game id, which decides the number of outputs.
        threads: Threads that sum.
        noise: The noise table.

    Raises:
        NeurozooError: Something is missing or unknown.
    """
    rules = protocol_of(game)
    layout = layout_of(game, network, rules)
    settings = EsSettings(num_test_episodes=1)
    table = open_noise_table(noise, verify=False)
    algorithm = EvolutionStrategy(settings, run=1, layout=layout, noise=table, protocol=rules)
    algorithm.threads = threads
    algorithm.ask()
    algorithm.tell([EpisodeResult(0.0, 1, 4)])
    algorithm.ask()
    random = np.random.default_rng(0)
    results = [EpisodeResult(float(score), 1, 4) for score in random.normal(size=settings.population_size)]
    begin = time.monotonic()
    algorithm.tell(results)
    return Update(
        network=network,
        parameters=layout.parameter_count,
        population_size=settings.population_size,
        threads=threads,
        seconds=time.monotonic() - begin,
        peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def machine() -> dict[str, object]:
    """Returns what a measurement depends on: processor, cores and system."""
    with open("/proc/cpuinfo") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
    }
