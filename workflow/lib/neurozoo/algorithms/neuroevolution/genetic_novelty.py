"""A genetic algorithm that selects what has not been seen: GA-NS of Such et al. 2017 (arXiv:1712.06567)."""

from collections.abc import Mapping, Sequence

import numpy as np

from neurozoo.algorithms.elites import Birth, Contest, Individual
from neurozoo.algorithms.genetic import GeneticAlgorithm
from neurozoo.algorithms.novelty import Archive, behaviours_of, choose_behaviour, novelty
from neurozoo.algorithms.randomness import Purpose, generator
from neurozoo.algorithms.settings import GaNoveltySettings
from neurozoo.evaluation import EpisodeResult
from neurozoo.games import Protocol
from neurozoo.networks import Layout


class NoveltyGeneticAlgorithm(GeneticAlgorithm):
    """Truncation selection of those that are unlike the rest of the population and the archive.

    Parents are the most novel of a generation. The elite, which is the result, is chosen by scores as in the genetic
    algorithm, and is a parent only if it is novel enough. Each offspring goes into the archive by chance.

    Args:
        settings: What can be set.
        run: Number of the run, part of the seed.
        layout: The network.
        noise: The noise table, of which only the length matters.
        protocol: How episodes are played.

    Source: Such et al. 2017, arXiv:1712.06567; Lehman & Stanley 2011, "Abandoning objectives".
    """

    settings: GaNoveltySettings

    def __init__(
        self, settings: GaNoveltySettings, *, run: int, layout: Layout, noise: np.ndarray, protocol: Protocol
    ) -> None:
        self.behaviour = choose_behaviour(settings.behaviour, protocol=protocol)
        self._archive = Archive()
        super().__init__(settings, run=run, layout=layout, noise=noise, protocol=protocol)

    @property
    def fields(self) -> tuple[str, ...]:
        """What the text log prints of a report, in order."""
        return (*super().fields, "NoveltyMax", "NoveltyMean", "ArchiveSize")

    def _tell_population(self, results: Sequence[EpisodeResult]) -> None:
        behaviours = behaviours_of(results)
        found = novelty(behaviours, self._archive.behaviours, nearest=self.settings.nearest, among_themselves=True)
        super()._tell_population(results)
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

    def _select_parents(self, contest: Contest) -> list[Individual]:
        offspring = [individual for individual in contest.ranked if individual.birth in self._novelty]
        by_novelty = sorted(offspring, key=lambda individual: -self._novelty[individual.birth])  # stable: then by score
        return by_novelty[: self.settings.selection_threshold]

    def get_state(self) -> dict:
        """Returns what the next generation depends on, as plain JSON; only between generations."""
        return {**super().get_state(), "archive": self._archive.get_state()}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the archive: rows of the behaviours of each generation, such as `archive-00007`."""
        return self._archive.get_arrays()

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned, as if nothing had happened.

        Raises:
            LookupError, TypeError, ValueError: `state` is something else.
        """
        self._archive.set_state(state["archive"], arrays)
        super().set_state(state, arrays)
