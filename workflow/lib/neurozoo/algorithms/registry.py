"""Which class runs under which name."""

from neurozoo.algorithms.evolution_strategies import EvolutionStrategy
from neurozoo.algorithms.genetic import GeneticAlgorithm

ALGORITHMS = {
    "ga": GeneticAlgorithm,
    "rs": GeneticAlgorithm,  # without parents
    "es": EvolutionStrategy,
}
