"""The genetic algorithm of Such et al. 2017 (arXiv:1712.06567); without parents it is random search."""

from collections.abc import Sequence

from typing_extensions import override

from neurozoo.algorithms.neuroevolution.base import Batch
from neurozoo.algorithms.neuroevolution.elites import Birth, Contest, Individual
from neurozoo.algorithms.neuroevolution.genetic_search import STAGE_FIELDS, GeneticSearch, with_elite
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome
from neurozoo.randomness import Purpose


class GeneticAlgorithm(GeneticSearch):
    """Truncation selection with mutations and an elite.

    One generation has at least two phases of `ask` and `tell`. First, the population plays one episode each. Then come
    the rounds of the elite rule (published: the best of the population and the previous elite, several episodes each).
    At the end the elite plays test episodes, which select nothing and which no budget counts.

    Deviations from the published code: the logged mutation power is the one that was used (not the next one); the
    best solution so far is the elite with the best validation mean (not the elite of the generation whose validated
    candidates had the best mean together); random numbers depend only on seeds and counters, so runs can be repeated.

    Source: Such et al. 2017, arXiv:1712.06567, and the published code.
    """

    same_episode = 1  # neighbours in the population that play the same episode

    @override
    def _start_generation(self) -> None:
        super()._start_generation()
        self._offspring = self._new_population()

    def _new_population(self) -> tuple[tuple[Genome, Birth | None], ...]:
        """Returns genomes, and the birth of the parent of each."""
        size = self.settings.population_size
        return tuple(self._child(self._parents, self.iteration, place) for place in range(size))

    @override
    def ask(self) -> Batch:
        parents = [genome for genome, _ in (self._offspring if self._crosses else self._parents)]
        if self._elite:
            parents.append(self._elite.individual.genome)
        if self._contest is None:
            phase, address = "population", (Purpose.POPULATION_EPISODE, self.iteration)
            genomes = enumerate(genome for genome, _ in self._offspring)
            episodes = [self._episode(genome, *address, place // self.same_episode, 0) for place, genome in genomes]
        elif self._round:
            phase, episodes = self._round.phase, self._round_episodes(self._round)
        else:
            phase, episodes = "test", self._test_episodes(self._contest)
        return Batch(phase, tuple(dict.fromkeys(parents)), tuple(episodes), is_counted=phase != "test")

    @override
    def tell(self, results: Sequence[EpisodeResult]) -> dict[str, object] | None:
        if self._stages and (self._contest is None or self._round):  # tests count all levels
            results = self._stages.scored(results)
        if self._contest is None:
            self._contest = self._tell_population(results)
        elif self._round:
            self._tell_contest(self._contest, results)
        else:
            report = self._tell_test(self._contest, results)
            self._start_generation()
            return report
        self._round = self._contest.ask()
        return None

    def _tell_population(self, results: Sequence[EpisodeResult]) -> Contest:
        population = [
            Individual(genome, (self.iteration + 1, place), parent, result.score)
            for place, ((genome, parent), result) in enumerate(zip(self._offspring, results, strict=True))
        ]
        self._count(results)
        if self._stages:
            self._stages.look_at(results)
            self._fields |= dict(zip(STAGE_FIELDS, (self._stages.stage, self._stages.share), strict=True))
        self._describe_population(results, limited=results)
        return self._new_contest(sorted(population, key=lambda individual: -individual.fitness))  # stable

    def _tell_test(self, contest: Contest, results: Sequence[EpisodeResult]) -> dict[str, object]:
        parents = self._select_parents(contest)
        report = self._report(contest, results, parents)
        self._parents = tuple((parent.genome, parent.birth) for parent in parents) or self._founders
        if self._stages and self._stages.advance():
            self._forget_evidence()
        return report

    def _select_parents(self, contest: Contest) -> list[Individual]:
        return with_elite(contest.ranked, contest.elite.individual, self.settings.selection_threshold)
