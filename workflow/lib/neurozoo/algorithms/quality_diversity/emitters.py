"""The emitters of MAP-Elites; all other emitters are those of pyribs."""

from typing import Any

import numpy as np
from ribs.archives import ArchiveBase
from ribs.emitters import EmitterBase


class MapElitesEmitter(EmitterBase):
    """Proposes random solutions first, and then copies of random elites in which a few entries are drawn anew.

    Args:
        archive: Gives the elites; its entries are whole numbers.
        num_values: An entry is below this.
        batch_size: Solutions per ask.
        initial_population: Random solutions before the first children; whole batches are.
        num_mutations: Different entries of a child that are drawn anew. Each keeps its value with a probability of one
            in `num_values`.
        rng: Where random numbers come from; `draw_from` sets another one.

    Source: section 3.2 of the description of DSAGE.
    """

    def __init__(
        self,
        archive: ArchiveBase,
        *,
        num_values: int,
        batch_size: int,
        initial_population: int,
        num_mutations: int,
        rng: np.random.Generator,
    ) -> None:
        kind = archive.dtypes["solution"]
        size: int = np.asarray(archive.solution_dim).item()
        super().__init__(
            archive,
            solution_dim=size,
            bounds=None,
            lower_bounds=np.zeros(size, kind),
            upper_bounds=np.full(size, num_values - 1, kind),
        )
        self.batch_size = batch_size
        self._num_values = num_values
        self._size = size
        self._random_batches = -(-initial_population // batch_size)
        self._num_mutations = min(num_mutations, size)
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
        size, kind = self._size, self.archive.dtypes["solution"]
        self._asked += 1
        if self._asked <= self._random_batches or self.archive.empty:
            return self._rng.integers(self._num_values, size=(self.batch_size, size)).astype(kind)
        children = self.archive.sample_elites(self.batch_size)["solution"]
        order = self._rng.random((self.batch_size, size))
        places = np.argpartition(order, self._num_mutations - 1, axis=1)[:, : self._num_mutations]
        values = self._rng.integers(self._num_values, size=places.shape).astype(kind)
        np.put_along_axis(children, places, values, axis=1)
        return children

    def tell(self, solution: Any, objective: Any, measures: Any, add_info: Any, **fields: Any) -> None:
        """Does nothing: what was told is in the archive."""


class GaussianMapElitesEmitter(EmitterBase):
    """Proposes random solutions first, and then copies of random elites with noise; for solutions of real numbers.

    Args:
        archive: Gives the elites.
        batch_size: Solutions per ask.
        initial_population: Random solutions before the first children; whole batches are.
        initial_sigma: Standard deviation of random solutions, around 0.
        mutation_sigma: Standard deviation of what is added to a child's entries.
        rng: Where random numbers come from; `draw_from` sets another one.
    """

    def __init__(
        self,
        archive: ArchiveBase,
        *,
        batch_size: int,
        initial_population: int,
        initial_sigma: float,
        mutation_sigma: float,
        rng: np.random.Generator,
    ) -> None:
        self._size: int = np.asarray(archive.solution_dim).item()
        super().__init__(archive, solution_dim=self._size, bounds=None, lower_bounds=None, upper_bounds=None)
        self.batch_size = batch_size
        self._random_batches = -(-initial_population // batch_size)
        self._initial_sigma, self._mutation_sigma = initial_sigma, mutation_sigma
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
        noise = self._rng.standard_normal((self.batch_size, self._size))
        if self._asked <= self._random_batches or self.archive.empty:
            return (self._initial_sigma * noise).astype(np.float32)
        parents = self.archive.sample_elites(self.batch_size)["solution"]
        return (parents + self._mutation_sigma * noise).astype(np.float32)

    def tell(self, solution: Any, objective: Any, measures: Any, add_info: Any, **fields: Any) -> None:
        """Does nothing: what was told is in the archive."""
