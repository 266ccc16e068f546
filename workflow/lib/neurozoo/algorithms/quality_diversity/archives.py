"""Archives of levels, pyribs' grid archive, and what proposes levels; all emitters but that of MAP-Elites are pyribs'.

Importing this module imports pyribs.
"""

from typing import Any

import numpy as np
from ribs.archives import ArchiveBase, GridArchive
from ribs.emitters import EmitterBase

from neurozoo.algorithms.quality_diversity.settings import (
    CmaMeSettings,
    DsageSettings,
    LevelSearchSettings,
    MapElitesSettings,
)
from neurozoo.environments.level_domains import LevelDomain, places_on_grid
from neurozoo.errors import NeurozooError


class LevelArchive(GridArchive):
    """A grid archive with the published index of cells, whose random draws can be given an address."""

    def index_of(self, measures: Any) -> np.ndarray:
        """Returns the cell of each level in row-major order, as `places_on_grid` has it: int32, shape (levels,).

        pyribs adds its small number to the index instead of the measure, which is too little for a share of 0.39. Its
        32-bit index of a very large prediction is that of the lowest cell.
        """
        measures = np.asarray(measures, self.dtypes["measures"])
        ranges = np.stack([self.lower_bounds, self.upper_bounds], axis=1)
        return self.grid_to_int_index(places_on_grid(measures, dims=self.dims, ranges=ranges))

    def draw_from(self, rng: np.random.Generator) -> None:
        """Lets `sample_elites` draw from a generator from now on."""
        self._rng = rng

    def sample_elites(self, *arguments: Any, **named: Any) -> Any:
        """Draws elites, see pyribs; raises `NeurozooError` if there is none."""
        if self.empty:
            raise NeurozooError(
                "An emitter should start again from an elite, but no level has entered the archive yet. Lower "
                "threshold_min if there is one, or evaluate more levels at first."
            )
        return super().sample_elites(*arguments, **named)


def make_archive(
    domain: LevelDomain,
    settings: LevelSearchSettings,
    *,
    dtype: type[np.generic] | None = None,
    keeps_best: bool = False,
) -> LevelArchive:
    """Returns an empty archive with the published index of cells. Of two equal objectives the first stays.

    The default type of the solutions' entries is float32 for real numbers, bytes for whole ones. With `keeps_best`,
    only a better level replaces an elite, also with `archive_learning_rate`, which else lets worse ones replace it.

    Source: section 3.1 of the description of DSAGE.
    """
    thresholds: dict[str, Any] = {}
    if isinstance(settings, CmaMeSettings) and settings.archive_learning_rate is not None and not keeps_best:
        thresholds = {"learning_rate": settings.archive_learning_rate, "threshold_min": settings.threshold_min}
    return LevelArchive(
        solution_dim=domain.solution_size,
        dims=settings.dims(domain),
        ranges=[(axis.low, axis.high) for axis in settings.axes(domain).values()],
        qd_score_offset=domain.objective_range[0],
        solution_dtype=dtype or (np.float32 if domain.num_values is None else np.int8),
        objective_dtype=np.float32,
        measures_dtype=np.float32,
        extra_fields={"evaluation": ((), np.int64)},
        **thresholds,
    )


def one_per_region(
    cells: np.ndarray, dims: tuple[int, int], coarse_dims: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """Draws one elite of each region that has any, all with the same probability.

    Args:
        cells: int, shape (elites,): index of each elite's cell in row-major order.
        dims: Cells along each measure.
        coarse_dims: Regions along each measure; they divide `dims`.
        rng: Draws.

    Returns:
        Numbers of elites, ordered by region.

    Source: section 1.4 of the description of DSAGE.
    """
    shuffled = rng.permutation(len(cells))
    places = np.stack(np.unravel_index(cells[shuffled], dims)) * np.array(coarse_dims)[:, None]
    regions = places // np.array(dims)[:, None]
    _, first = np.unique(np.ravel_multi_index(tuple(regions), coarse_dims), return_index=True)
    return shuffled[first]


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

    Source: section 3.2 of the description of DSAGE; Mouret and Clune 2015, arXiv:1504.04909.
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
