"""Children of two parents, for networks of few weights: they have weights of their own instead of mutations.

Source: github.com/WatchJolley/rivercrossing, the code of Jolley and Channon 2018, doi:10.1162/isal_a_00099.
"""

from collections.abc import Sequence

import numpy as np

from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.genomes.genome import Genome, Weights
from neurozoo.networks.chains import Layout


def crossed(first: np.ndarray, second: np.ndarray, *, is_reversed: bool, random: np.random.Generator) -> np.ndarray:
    """Cuts two parents, float32, (parameters,), at the same random place: start of the first, end of the second.

    With `is_reversed`, the child's weights come back to front, as the published code has it. Its populations evolve to
    read the same in both directions.
    """
    place = int(random.integers(len(first))) + 1  # at least one weight is that of the first
    child = np.concatenate([first[:place], second[place:]])
    return child[::-1].copy() if is_reversed else child


def child_of(
    parents: Sequence[Genome], settings: GaSettings, *, power: float, random: np.random.Generator
) -> tuple[Genome, int]:
    """Returns a child of two random parents, one of its weights mutated, and the place of the first parent."""
    places = random.integers(len(parents), size=2).tolist()
    first, second = (_theta(parents[place]) for place in places)
    theta = crossed(first, second, is_reversed=settings.crossover == "reversed_one_point", random=random)
    mutated = int(random.integers(len(theta)))
    theta[mutated] += np.float32(random.normal(0.0, power))
    return limited(theta, settings), places[0]


def limited(theta: np.ndarray, settings: GaSettings) -> Genome:
    """Returns weights as a genome, none beyond `weight_limit`."""
    limit = settings.weight_limit
    return Genome(Weights.of(theta if limit is None else np.clip(theta, -limit, limit)))


def fresh(noise: np.ndarray, layout: Layout, settings: GaSettings, *, index: int) -> Genome:
    """Returns initial weights as a genome, from a place of the noise table."""
    return limited(layout.initialise(noise[index : index + layout.parameter_count]), settings)


def _theta(genome: Genome) -> np.ndarray:
    assert isinstance(genome.initial, Weights)  # all genomes of a run with crossover
    return genome.initial.theta
