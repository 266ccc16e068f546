"""Which class runs under which name."""

from neurozoo.algorithms.dqn.learner import DeepQLearner
from neurozoo.algorithms.evolution_strategies import EvolutionStrategy
from neurozoo.algorithms.genetic import GeneticAlgorithm
from neurozoo.algorithms.genetic_novelty import NoveltyGeneticAlgorithm
from neurozoo.algorithms.novelty_search import AdaptiveNoveltyStrategy, NoveltyRewardStrategy, NoveltyStrategy

ALGORITHMS = {
    "ga": GeneticAlgorithm,
    "rs": GeneticAlgorithm,  # without parents
    "es": EvolutionStrategy,
    "ns_es": NoveltyStrategy,
    "nsr_es": NoveltyRewardStrategy,
    "nsra_es": AdaptiveNoveltyStrategy,
    "ga_ns": NoveltyGeneticAlgorithm,
    "dqn": DeepQLearner,
}
