"""The genetic algorithm in tournaments: the worst of three makes way for a child of the other two."""

from typing import ClassVar

from typing_extensions import override

from neurozoo.algorithms.neuroevolution.elites import Birth, Contest, Individual
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.session import EvolutionSession
from neurozoo.algorithms.neuroevolution.settings import TOURNAMENT
from neurozoo.genomes.genome import Genome
from neurozoo.randomness import Purpose, generator


class TournamentAlgorithm(GeneticAlgorithm):
    """Selection in tournaments, in which most of the population survives.

    In a generation, the population meets in threes, in random order. The members of a tournament play the same episode,
    and the worst (of equals, the last) makes way for a child of the other two. Individuals left over play, too, and
    stay. The elite is chosen as in the genetic algorithm, and gets no place of its own in the population.

    Deviation: the published algorithm is a steady-state one, in which each tournament draws its members from all, so
    that an individual may play often or never. Here, as in the replication, all play once before anybody plays again.
    So no tournament of a generation depends on another, and threads play them side by side. There, three members that
    all succeed leave no child.

    Source: Robinson, Ellis and Channon 2007 (ECAL, pp. 345-354), as github.com/SolusHub/RiverCrossingTask reports it.
    """

    same_episode = TOURNAMENT

    @override
    def _new_population(self) -> tuple[tuple[Genome, Birth | None], ...]:
        parents = self._parents  # those of each tournament, in turn, then who was left over
        if not parents:
            return super()._new_population()
        size = self.settings.population_size
        children = []
        for place in range(0, 2 * (size // TOURNAMENT), 2):
            random = generator(self._entropy, Purpose.OFFSPRING, self.iteration, place)
            (first, birth), (second, _) = parents[place : place + 2]
            children.append((self._child_of(first, second, random), birth))
        everyone = (*parents, *children)
        order = generator(self._entropy, Purpose.OFFSPRING, self.iteration).permutation(size)
        return tuple(everyone[place] for place in order)

    @override
    def _select_parents(self, contest: Contest) -> list[Individual]:
        # Under `carried`, an elite of an earlier generation is ranked, too.
        players = [individual for individual in contest.ranked if individual.birth[0] == self.iteration + 1]
        players.sort(key=lambda individual: individual.birth[1])
        survivors = []
        for place in range(0, len(players), TOURNAMENT):
            met = sorted(players[place : place + TOURNAMENT], key=lambda individual: -individual.fitness)  # stable
            survivors += met[: TOURNAMENT - 1]
        return survivors


class TournamentSession(EvolutionSession):
    """A session of the genetic algorithm in tournaments. See `EvolutionSession`."""

    ALGORITHMS: ClassVar = {"ga": TournamentAlgorithm}
