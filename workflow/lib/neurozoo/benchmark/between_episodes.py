"""The cost of the work between episodes: decoding genomes into weights, and updating evolution strategies."""

import os
import time
from dataclasses import dataclass

import numpy as np

from neurozoo.algorithms.neuroevolution.evolution_strategies import EvolutionStrategy
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.evaluation import EpisodeResult
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.genomes.genome import Genome, Mutation
from neurozoo.genomes.noise_table import open_noise_table

MUTATIONS = 1000  # length of the genome: that of many generations
UPDATES = 2  # the faster one counts: the first may have to load pages of the noise table from disk


@dataclass(frozen=True)
class Decoding:
    """The cost of turning a long genome into weights."""

    network: str
    mutations: int  # length of the genome
    threads: int
    seconds: float  # from scratch, as when a run continues
    child_seconds: float  # for a child of a parent that is in memory, as in every episode of a run


def measure_decoding(
    network: str, game: str, *, threads: int, core: str | os.PathLike, noise: str | os.PathLike
) -> Decoding:
    """Decodes a genome of many generations, and then a child of it. The game decides the number of outputs."""
    rules = protocol_of(game)
    layout = layout_of(game, network, rules)
    random = np.random.default_rng(0)
    highest = os.path.getsize(noise) // 4 - layout.parameter_count
    indices = random.integers(highest, size=MUTATIONS + 2).tolist()
    old = Genome(indices[0], tuple(Mutation(index, 0.002) for index in indices[1:-1]))
    with NativeEvaluator(
        core=core, noise=noise, layout=layout, game=game, protocol=rules, threads=threads
    ) as evaluator:
        begin = time.perf_counter()
        evaluator.pin([old])
        middle = time.perf_counter()
        evaluator.pin([old, old.mutated(indices[-1], 0.002)])
        return Decoding(network, MUTATIONS, threads, middle - begin, time.perf_counter() - middle)


@dataclass(frozen=True)
class Update:
    """The cost of one update of evolution strategies."""

    network: str
    parameters: int  # length of the parameter vector
    population_size: int  # episodes per generation, two for each slice of noise
    threads: int  # that sum up
    seconds: float  # from the scores to the new weights
    noise_gigabytes: float  # read from the noise table: one slice for every two episodes
    floor_seconds: float  # in which the same number of threads reads these gigabytes from memory


def measure_update(network: str, game: str, *, threads: int, bandwidth: float, noise: str | os.PathLike) -> Update:
    """Times an update of evolution strategies, with their published settings and random scores.

    `bandwidth` is how many bytes per second the same number of threads reads from memory.
    """
    rules = protocol_of(game)
    layout = layout_of(game, network, rules)
    settings = resolve_settings("es", preset="uber2018", overrides={"num_test_episodes": 1})
    table = open_noise_table(noise, verify=False)
    algorithm = EvolutionStrategy(settings, entropy=(settings.seed, 1), layout=layout, noise=table, protocol=rules)
    algorithm.threads = threads
    algorithm.ask()
    algorithm.tell([EpisodeResult(0.0, 1, 4)])
    random = np.random.default_rng(0)
    times = []
    for _ in range(UPDATES):
        algorithm.ask()
        results = [EpisodeResult(float(score), 1, 4) for score in random.normal(size=settings.population_size)]
        begin = time.perf_counter()
        algorithm.tell(results)
        times.append(time.perf_counter() - begin)
        algorithm.ask()
        algorithm.tell([EpisodeResult(0.0, 1, 4)])
    noise_bytes = settings.population_size // 2 * layout.parameter_count * table.itemsize
    return Update(
        network=network,
        parameters=layout.parameter_count,
        population_size=settings.population_size,
        threads=threads,
        seconds=min(times),
        noise_gigabytes=1e-9 * noise_bytes,
        floor_seconds=noise_bytes / bandwidth,
    )
