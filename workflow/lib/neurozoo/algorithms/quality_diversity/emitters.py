"""The emitter of MAP-Elites, and how solutions begin and change; all other emitters are those of pyribs.

Source: section 3.2 of the description of DSAGE; Mouret and Clune 2015, arXiv:1504.04909.
"""

from typing import Any

import numpy as np
from ribs.archives import ArchiveBase
from ribs.emitters import EmitterBase

from neurozoo.algorithms.quality_diversity.settings import DsageSettings, MapElitesSettings
from neurozoo.environments.level_domains import LevelDomain

RANDOM_SIGMA = 0.2  # standard deviation of random solutions of real numbers


def random_solutions(domain: LevelDomain, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draws solutions: whole numbers uniformly, real ones around 0; shape (count, dimensions)."""
    if domain.num_values is None:
        return (RANDOM_SIGMA * rng.standard_normal((count, domain.solution_size))).astype(np.float32)
    return rng.integers(domain.num_values, size=(count, domain.solution_size)).astype(np.int8)


class MapElitesEmitter(EmitterBase):
    """Proposes random solutions first, and then children of random elites.

    Of whole numbers, a few entries of a child are drawn anew, and each keeps its value with a probability of one in
    `domain.num_values`; real numbers get noise. The random solutions are `initial_population`, in whole batches.

    Attributes:
        rng: Where random numbers come from; the session sets it before each search or ask.
        asked: How many batches were proposed; all that an emitter remembers.
    """

    def __init__(self, archive: ArchiveBase, settings: MapElitesSettings | DsageSettings, domain: LevelDomain) -> None:
        super().__init__(archive, solution_dim=domain.solution_size, bounds=None, lower_bounds=None, upper_bounds=None)
        self._settings, self._domain = settings, domain
        self.rng = np.random.default_rng(0)
        self.asked = 0

    def ask(self) -> np.ndarray:
        """Returns solutions, shape (batch, dimensions)."""
        size = self._settings.batch_size
        self.asked += 1
        if (self.asked - 1) * size < self._settings.initial_population or self.archive.empty:
            return random_solutions(self._domain, size, self.rng)
        return self._children_of(self.archive.sample_elites(size)["solution"])

    def tell(self, solution: Any, objective: Any, measures: Any, add_info: Any, **fields: Any) -> None:
        """Does nothing: what was told is in the archive."""

    def _children_of(self, elites: np.ndarray) -> np.ndarray:
        if self._domain.num_values is None:
            assert isinstance(self._settings, MapElitesSettings)  # DSAGE has evolution strategies for real numbers
            return (elites + self._settings.mutation_sigma * self.rng.standard_normal(elites.shape)).astype(np.float32)
        count = min(self._settings.num_mutations, self._domain.solution_size)
        places = np.argpartition(self.rng.random(elites.shape), count - 1, axis=1)[:, :count]
        values = self.rng.integers(self._domain.num_values, size=places.shape).astype(elites.dtype)
        np.put_along_axis(elites, places, values, axis=1)
        return elites
