"""A genetic algorithm that selects novel behaviour: GA-NS of Such et al. 2017 (arXiv:1712.06567)."""

from collections.abc import Mapping, Sequence

import numpy as np

from neurozoo.algorithms.neuroevolution.elites import Birth, Contest, Individual
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.novelty import Archive, behaviours_of, choose_behaviour, novelty
from neurozoo.algorithms.neuroevolution.settings import GaNoveltySettings
from neurozoo.environments.protocols import Protocol
from neurozoo.evaluation import EpisodeResult
from neurozoo.randomness import Purpose, generator


class NoveltyGeneticAlgorithm(GeneticAlgorithm):
    """Truncation selection by novelty, the distance to the rest of the population and to the archive.

    The parents are the most novel individuals of a generation. The elite, which is the result, is chosen by score as in
    the genetic algorithm, and becomes a parent only if it is novel enough. Each offspring enters the archive with a
    fixed probability.

    Source: Such et al. 2017, arXiv:1712.06567; Lehman & Stanley 2011, "Abandoning objectives".
    """

    settings: GaNoveltySettings

    def _begin(self, protocol: Protocol) -> None:
        self.behaviour = choose_behaviour(self.settings.behaviour, protocol=protocol)
        self._archive = Archive()

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a report that the text log prints, in order."""
        return (*super().fields, "NoveltyMax", "NoveltyMean", "ArchiveSize")

    def _tell_population(self, results: Sequence[EpisodeResult]) -> Contest:
        behaviours = behaviours_of(results)
        found = novelty(
            behaviours, self._archive.behaviours, nearest=self.settings.num_neighbours, among_themselves=True
        )
        contest = super()._tell_population(results)
        self._novelty: dict[Birth, float] = {
            (self.iteration + 1, place): float(value) for place, value in enumerate(found)
        }
        draws = generator(self._entropy, Purpose.ARCHIVE_CHOICE, self.iteration).random(len(behaviours))
        chosen = np.flatnonzero(draws < self.settings.archive_probability)
        self._archive.add([behaviours[place] for place in chosen])
        self._fields |= {
            "NoveltyMax": float(found.max()),
            "NoveltyMean": float(found.mean()),
            "ArchiveSize": len(self._archive),
        }
        return contest

    def _select_parents(self, contest: Contest) -> list[Individual]:
        offspring = [individual for individual in contest.ranked if individual.birth in self._novelty]
        by_novelty = sorted(offspring, key=lambda individual: -self._novelty[individual.birth])  # stable: then by score
        return by_novelty[: self.settings.selection_threshold]

    def get_state(self) -> dict:
        """Returns what the next generation depends on, as plain JSON; only between generations."""
        return {**super().get_state(), "archive": self._archive.get_state()}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the genomes' blocks and the archive: behaviours that were added together, as `archive-00007`."""
        return {**super().get_arrays(), **self._archive.get_arrays()}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned, as if there had been no interruption.

        Raises:
            LookupError, TypeError, ValueError: `state` is something else.
        """
        self._archive.set_state(state["archive"], arrays)
        super().set_state(state, arrays)
