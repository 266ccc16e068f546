"""The emitters of MAP-Elites; all other emitters are those of pyribs.

Source: section 3.2 of the description of DSAGE; Mouret and Clune 2015, arXiv:1504.04909.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
from ribs.archives import ArchiveBase
from ribs.emitters import EmitterBase


class ChildrenEmitter(EmitterBase):
    """Proposes random solutions first, and then children of random elites. Subclasses say what both are.

    Args:
        archive: Gives the elites.
        batch_size: Solutions per ask.
        initial_population: Random solutions before the first children; whole batches are.
        rng: Where random numbers come from; `draw_from` sets another one.
        lower_bounds: Of solutions, shape (dimensions,); None for none.
        upper_bounds: The same.
    """

    def __init__(
        self,
        archive: ArchiveBase,
        *,
        batch_size: int,
        initial_population: int,
        rng: np.random.Generator,
        lower_bounds: np.ndarray | None = None,
        upper_bounds: np.ndarray | None = None,
    ) -> None:
        self._size: int = np.asarray(archive.solution_dim).item()
        super().__init__(
            archive, solution_dim=self._size, bounds=None, lower_bounds=lower_bounds, upper_bounds=upper_bounds
        )
        self.batch_size = batch_size
        self._random_batches = -(-initial_population // batch_size)
        self._rng = rng
        self._asked = 0

    def draw_from(self, rng: np.random.Generator) -> None:
        """Lets the emitter draw from another generator from now on."""
        self._rng = rng

    def skip(self) -> None:
        """Counts an `ask` whose solutions are known."""
        self._asked += 1

    def ask(self) -> np.ndarray:
        """Returns solutions, shape (batch, dimensions)."""
        self._asked += 1
        if self._asked <= self._random_batches or self.archive.empty:
            return self._random_solutions()
        return self._children_of(self.archive.sample_elites(self.batch_size)["solution"])

    def tell(self, solution: Any, objective: Any, measures: Any, add_info: Any, **fields: Any) -> None:
        """Does nothing: what was told is in the archive."""

    @abstractmethod
    def _random_solutions(self) -> np.ndarray:
        """Draws solutions, shape (batch, dimensions)."""

    @abstractmethod
    def _children_of(self, elites: np.ndarray) -> np.ndarray:
        """Draws a child of each elite; the elites are a copy."""


class MapElitesEmitter(ChildrenEmitter):
    """For solutions of whole numbers: a few entries of a child are drawn anew.

    Args:
        archive: Gives the elites.
        num_values: An entry is below this.
        num_mutations: Different entries of a child that are drawn anew. Each keeps its value with a probability of one
            in `num_values`.
        others: See `ChildrenEmitter`.
    """

    def __init__(self, archive: ArchiveBase, *, num_values: int, num_mutations: int, **others: Any) -> None:
        self._kind = archive.dtypes["solution"]
        size: int = np.asarray(archive.solution_dim).item()
        highest = np.full(size, num_values - 1, self._kind)
        super().__init__(archive, lower_bounds=np.zeros(size, self._kind), upper_bounds=highest, **others)
        self._num_values = num_values
        self._num_mutations = min(num_mutations, size)

    def _random_solutions(self) -> np.ndarray:
        return self._rng.integers(self._num_values, size=(self.batch_size, self._size)).astype(self._kind)

    def _children_of(self, elites: np.ndarray) -> np.ndarray:
        order = self._rng.random(elites.shape)
        places = np.argpartition(order, self._num_mutations - 1, axis=1)[:, : self._num_mutations]
        values = self._rng.integers(self._num_values, size=places.shape).astype(self._kind)
        np.put_along_axis(elites, places, values, axis=1)
        return elites


class GaussianMapElitesEmitter(ChildrenEmitter):
    """For solutions of real numbers: a child is its parent with noise.

    Args:
        archive: Gives the elites.
        initial_sigma: Standard deviation of random solutions, around 0.
        mutation_sigma: Standard deviation of what is added to a child's entries.
        others: See `ChildrenEmitter`.
    """

    def __init__(self, archive: ArchiveBase, *, initial_sigma: float, mutation_sigma: float, **others: Any) -> None:
        super().__init__(archive, **others)
        self._initial_sigma, self._mutation_sigma = initial_sigma, mutation_sigma

    def _random_solutions(self) -> np.ndarray:
        return (self._initial_sigma * self._noise()).astype(np.float32)

    def _children_of(self, elites: np.ndarray) -> np.ndarray:
        return (elites + self._mutation_sigma * self._noise()).astype(np.float32)

    def _noise(self) -> np.ndarray:
        return self._rng.standard_normal((self.batch_size, self._size))
