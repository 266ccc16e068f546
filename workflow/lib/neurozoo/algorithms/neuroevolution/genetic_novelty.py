"""A genetic algorithm that selects novel behaviour: GA-NS of Such et al. 2017 (arXiv:1712.06567)."""

from collections.abc import Mapping, Sequence

import numpy as np
from typing_extensions import override

from neurozoo.algorithms.neuroevolution.elites import Birth, Contest, Individual
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.novelty import Archive, behaviours_of, choose_behaviour, novelty
from neurozoo.algorithms.neuroevolution.settings import GaNoveltySettings
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome
from neurozoo.randomness import Purpose, generator


class NoveltyGeneticAlgorithm(GeneticAlgorithm):
    """Truncation selection by novelty, the distance to the rest of the population and to the archive.

    The parents are the most novel individuals of a generation. The elite, which is the result, is chosen by score as in
    the genetic algorithm, and becomes a parent only if it is novel enough. Each offspring enters the archive with a
    fixed probability.

    Source: Such et al. 2017, arXiv:1712.06567; Lehman & Stanley 2011, "Abandoning objectives".
    """

    settings: GaNoveltySettings

    @override
    def _begin(self, start: Sequence[Genome]) -> None:
        super()._begin(start)
        self.behaviour = choose_behaviour(self.settings.behaviour, protocol=self._protocol)
        self.fields += ("NoveltyMax", "NoveltyMean", "ArchiveSize")
        self._archive = Archive()

    @override
    def _tell_population(self, results: Sequence[EpisodeResult]) -> Contest:
        behaviours = behaviours_of(results)
        neighbours, nearest = self._archive.behaviours, self.settings.num_neighbours
        found = novelty(behaviours, neighbours, nearest=nearest, among_themselves=True)
        contest = super()._tell_population(results)
        generation = self.iteration + 1
        self._novelty: dict[Birth, float] = {(generation, place): float(value) for place, value in enumerate(found)}
        draws = generator(self._entropy, Purpose.ARCHIVE_CHOICE, self.iteration).random(len(behaviours))
        chosen = np.flatnonzero(draws < self.settings.archive_probability)
        self._archive.add([behaviours[place] for place in chosen])
        self._fields |= {
            "NoveltyMax": float(found.max()),
            "NoveltyMean": float(found.mean()),
            "ArchiveSize": len(self._archive),
        }
        return contest

    @override
    def _select_parents(self, contest: Contest) -> list[Individual]:
        offspring = [individual for individual in contest.ranked if individual.birth in self._novelty]
        by_novelty = sorted(offspring, key=lambda individual: -self._novelty[individual.birth])  # stable: then by score
        return by_novelty[: self.settings.selection_threshold]

    @override
    def get_state(self) -> dict:
        return {**super().get_state(), "archive": self._archive.get_state()}

    @override
    def get_arrays(self) -> dict[str, np.ndarray]:
        return {**super().get_arrays(), **self._archive.get_arrays()}

    @override
    def _restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> Genome | None:
        self._archive.set_state(state["archive"], arrays)
        return super()._restore(state, arrays)
