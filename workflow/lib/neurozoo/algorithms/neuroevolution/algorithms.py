"""The classes of the family by the names of their algorithms."""

from neurozoo.algorithms.neuroevolution.evolution_strategies import EvolutionStrategy
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.genetic_novelty import NoveltyGeneticAlgorithm
from neurozoo.algorithms.neuroevolution.novelty_search import (
    AdaptiveNoveltyStrategy,
    NoveltyRewardStrategy,
    NoveltyStrategy,
)

ALGORITHMS = {
    "ga": GeneticAlgorithm,
    "rs": GeneticAlgorithm,  # without parents
    "es": EvolutionStrategy,
    "ns_es": NoveltyStrategy,
    "nsr_es": NoveltyRewardStrategy,
    "nsra_es": AdaptiveNoveltyStrategy,
    "ga_ns": NoveltyGeneticAlgorithm,
}
