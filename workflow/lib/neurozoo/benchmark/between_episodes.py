"""The cost of the work between episodes: decoding genomes into weights, and updating evolution strategies."""

import os
import time
from typing import Any

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


def measure_decoding(
    network: str, game: str, *, threads: int, core: str | os.PathLike, noise: str | os.PathLike
) -> dict[str, Any]:
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
        end = time.perf_counter()
    return {
        "network": network,
        "mutations": MUTATIONS,
        "threads": threads,
        "seconds": middle - begin,  # from scratch, as when a run continues
        "child_seconds": end - middle,  # for a child of a parent that is in memory, as in every episode of a run
    }


def measure_update(
    network: str, game: str, *, threads: int, bandwidth: float, noise: str | os.PathLike
) -> dict[str, Any]:
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
    return {
        "network": network,
        "parameters": layout.parameter_count,
        "population_size": settings.population_size,  # episodes per generation, two for each slice of noise
        "threads": threads,  # that sum up
        "seconds": min(times),  # from the scores to the new weights
        "noise_gigabytes": 1e-9 * noise_bytes,  # read from the noise table
        "floor_seconds": noise_bytes / bandwidth,  # in which the same number of threads reads these from memory
    }
