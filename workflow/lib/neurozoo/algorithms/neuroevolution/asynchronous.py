"""The genetic algorithm without generations: a worker that has finished an episode never waits for the others."""

from bisect import insort
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from neurozoo.algorithms.neuroevolution.base import draw_episode
from neurozoo.algorithms.neuroevolution.elites import Birth, Contest, Individual
from neurozoo.algorithms.neuroevolution.genetic_search import GeneticSearch, with_elite
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.genomes.genome import Genome
from neurozoo.randomness import Purpose


@dataclass(frozen=True)
class Flight:
    """An episode in flight: it is played, or waits for a worker."""

    episode: Episode
    parent: Birth | None = None  # of a child: the birth of its parent
    place: int | None = None  # of validation or test: its place among the episodes of its round
    limit: int | None = None  # of a child: the cutoff when it was drawn, in steps


class AsynchronousGeneticAlgorithm(GeneticSearch):
    """Truncation selection in which a result replaces the oldest one, and children are of whoever is best now.

    The population are the last `population_size` children that have arrived. There are always equally many episodes
    in flight, so episode `i` is drawn when `i` minus their number have arrived. It is a child of one of the best
    `selection_threshold` of that moment, the elite included. Until the population is full, children are those of the
    first generation.

    Whenever `population_size` new children have arrived, the elite rule begins a contest among the population. Its
    episodes, and then the tests of the elite, take the next free places in flight, while the other workers go on with
    children. The report comes after the tests. It counts all children since the report before, so their number varies.

    Everything is a function of the settings and of the order in which results arrive. With one thread, this order is
    fixed.

    Deviations from the published code: it had a current and a next list of elites, and exchanged them after every 5000
    results. A lucky score stays here as long as the individual is among the last `population_size`; there, that of the
    best stayed forever.

    Source: cshenton/neuroevolution (workers that never wait); Real et al. 2019, arXiv:1802.01548 (the oldest dies).
    """

    @override
    def _begin(self, start: Sequence[Genome]) -> None:
        super()._begin(start)
        self._population: deque[Individual] = deque()  # the oldest first
        self._ranked: list[Individual] = []  # the best first; of equals, the older one
        self._flights: dict[int, Flight] = {}
        self._drawn = 0
        self._since_contest = 0  # children that have arrived since the last one began

    @override
    def _start_generation(self) -> None:
        super()._start_generation()
        self._told: list[EpisodeResult] = []  # of children, since the last report
        self._limited: list[EpisodeResult] = []  # those that were drawn with the present limit of steps
        self._selected: dict[Birth, Individual] = {}  # all who have been parents since then
        self._arrivals: list[int] = []
        self._waiting: deque[Flight] = deque()  # episodes of the contest and tests that have no place yet
        self._results: dict[int, EpisodeResult] = {}  # of the current round
        self._round_size = 0

    @property
    def arrived(self) -> int:
        """Episodes that have arrived since the run began."""
        return self._drawn - len(self._flights)

    @property
    def children(self) -> int:
        """Children that have arrived since the last report."""
        return len(self._told)

    def draw(self) -> Mapping[int, Episode]:
        """Fills free places, and returns all episodes in flight by number."""
        while len(self._flights) < self.settings.num_in_flight:
            self._flights[self._drawn] = self._waiting.popleft() if self._waiting else self._new_child(self._drawn)
            self._drawn += 1
        return {number: flight.episode for number, flight in self._flights.items()}

    def _new_child(self, number: int) -> Flight:
        if len(self._population) < self.settings.population_size:
            parents = self._founders
        else:
            chosen = self._chosen()
            self._selected |= {parent.birth: parent for parent in chosen}
            parents = tuple((parent.genome, parent.birth) for parent in chosen)
        genome, parent = self._child(parents, 0, number)
        return self._flight(number, genome, parent, self._cutoff.limit)

    def _flight(self, number: int, genome: Genome, parent: Birth | None, limit: int | None) -> Flight:
        address = Purpose.POPULATION_EPISODE, 0, number, 0
        episode = draw_episode(genome, *address, entropy=self._entropy, protocol=self._protocol, cutoff=limit)
        return Flight(episode, parent, limit=limit)

    def _chosen(self) -> list[Individual]:
        elite = self._elite.individual if self._elite else None
        return with_elite(self._ranked, elite, self.settings.selection_threshold)

    def genomes_in_use(self) -> list[Genome]:
        """Returns the genomes to pin: the parents and the elite, and what is needed to play the episodes in flight."""
        elite = [self._elite.individual.genome] if self._elite else []
        used = dict.fromkeys([*elite, *(parent.genome for parent in self._chosen())])
        for flight in self._flights.values():
            genome = flight.episode.genome
            if genome not in used and (parent := genome.parent) is not None:
                used[parent] = None
        return list(used)

    def arrive(self, number: int, result: EpisodeResult) -> dict[str, object] | None:
        """Takes the result of the episode in flight with this number; the order of these calls decides the search.

        Returns:
            After the last test episode of an elite, a report as that of `tell`, and `Arrivals`: the
            numbers of the episodes that have arrived since the last report, in their order. Otherwise None.

        Raises:
            KeyError: No such episode is in flight.
        """
        self.draw()
        flight = self._flights.pop(number)
        self._arrivals.append(number)
        if flight.place is None:
            self._see_child(flight, result)
        else:
            self._results[flight.place] = result
        if self._contest is None:
            if self._since_contest >= self.settings.population_size:
                self._since_contest = 0
                self._contest = self._new_contest(list(self._ranked))
                self._begin_round(self._contest)
        elif len(self._results) == self._round_size:
            return self._end_round(self._contest)
        return None

    def _see_child(self, flight: Flight, result: EpisodeResult) -> None:
        birth = (self.iteration + 1, len(self._told))
        child = Individual(flight.episode.genome, birth, flight.parent, result.score)
        self._told.append(result)
        if flight.limit == self._cutoff.limit:
            self._limited.append(result)
        self._count([result])
        self._since_contest += 1
        self._population.append(child)
        insort(self._ranked, child, key=lambda individual: -individual.fitness)  # behind equals
        if len(self._population) > self.settings.population_size:
            oldest = self._population.popleft()
            del self._ranked[next(place for place, other in enumerate(self._ranked) if other is oldest)]

    def _begin_round(self, contest: Contest) -> None:
        self._round = contest.ask()
        if self._round:
            episodes = self._round_episodes(self._round)
        else:
            self._elite = contest.elite
            episodes = self._test_episodes(contest)
        self._results, self._round_size = {}, len(episodes)
        self._waiting.extend(Flight(episode, place=place) for place, episode in enumerate(episodes))

    def _end_round(self, contest: Contest) -> dict[str, object] | None:
        results = [self._results[place] for place in range(self._round_size)]
        if self._round:
            self._tell_contest(contest, results)
            self._begin_round(contest)
            return None
        self._describe_population(self._told, limited=self._limited)
        report = {**self._report(contest, results, list(self._selected.values())), "Arrivals": self._arrivals}
        self._parents = tuple((parent.genome, parent.birth) for parent in self._chosen())
        self._start_generation()
        return report

    @override
    def get_state(self) -> dict:
        return {
            **super().get_state(),
            "population": [individual.to_json() for individual in self._population],
            "drawn": self._drawn,
            "since_contest": self._since_contest,
            "in_flight": [
                [number, flight.parent and list(flight.parent), flight.limit]
                for number, flight in self._flights.items()
            ],
        }

    @override
    def _genomes(self) -> list[Genome]:
        population = [individual.genome for individual in self._population]
        return [*super()._genomes(), *population, *(flight.episode.genome for flight in self._flights.values())]

    @override
    def _take_genomes(self, state: Mapping, genomes: list[Genome]) -> Genome | None:
        best = super()._take_genomes(state, genomes)
        self._drawn, self._since_contest = state["drawn"], state["since_contest"]
        self._population = deque(Individual.from_json(v, genome=genomes.pop(0)) for v in state["population"])
        self._ranked = sorted(self._population, key=lambda individual: -individual.fitness)  # stable
        self._flights = {
            number: self._flight(number, genomes.pop(0), parent and tuple(parent), limit)
            for number, parent, limit in state["in_flight"]
        }
        return best
