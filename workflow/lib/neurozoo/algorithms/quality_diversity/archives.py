"""Archives of levels: pyribs' grid archive, and the candidates that are drawn from one.

Importing this module imports pyribs.
"""

from typing import Any

import numpy as np
from ribs.archives import GridArchive

from neurozoo.algorithms.quality_diversity.settings import CmaMeSettings, LevelSearchSettings
from neurozoo.environments.level_domains import LevelDomain, places_on_grid
from neurozoo.errors import NeurozooError


class LevelArchive(GridArchive):
    """A grid archive with the published index of cells, whose random draws can be given an address."""

    def index_of(self, measures: Any) -> np.ndarray:
        """Returns the cell of each level in row-major order, as `places_on_grid` has it: int32, shape (levels,).

        pyribs adds its small number to the index instead of the measure, which is too little for a share of 0.39. Its
        32-bit index of a very large prediction is that of the lowest cell.

        Raises:
            ValueError: A measure is not finite, or one is missing.
        """
        measures = np.asarray(measures, self.dtypes["measures"])
        if measures.shape[1:] != (self.measure_dim,) or not np.isfinite(measures).all():
            raise ValueError(f"measures should be finite and of shape (levels, {self.measure_dim})")
        ranges = np.stack([self.lower_bounds, self.upper_bounds], axis=1)
        return self.grid_to_int_index(places_on_grid(measures, dims=self.dims, ranges=ranges))

    def draw_from(self, rng: np.random.Generator) -> None:
        """Lets `sample_elites` draw from a generator from now on."""
        self._rng = rng

    def sample_elites(self, *arguments: Any, **named: Any) -> Any:
        """Draws elites, see pyribs.

        Raises:
            NeurozooError: There is none.
        """
        if self.empty:
            raise NeurozooError(
                "An emitter should start again from an elite, but no level has entered the archive yet. Lower "
                "threshold_min if there is one, or evaluate more levels at first."
            )
        return super().sample_elites(*arguments, **named)


def solution_type(domain: LevelDomain) -> type[np.generic]:
    """Returns the type of a solution's entries: bytes for whole numbers."""
    return np.float32 if domain.num_values is None else np.int8


def make_archive(
    domain: LevelDomain,
    settings: LevelSearchSettings,
    *,
    dtype: type[np.generic] | None = None,
    keeps_best: bool = False,
) -> LevelArchive:
    """Returns an empty archive with the published index of cells.

    An integer measure lies in the cell of its number, and what is outside of a range in the cell at its border. Of two
    equal objectives the first stays.

    Args:
        domain: The domain of the levels.
        settings: They name the measures.
        dtype: Type of the solutions' entries; default: that of the domain.
        keeps_best: Whether only a better level replaces an elite, also with `archive_learning_rate`, which else lets
            worse ones replace it.

    Source: section 3.1 of the description of DSAGE.
    """
    axes = settings.axes(domain).values()
    thresholds: dict[str, Any] = {}
    if isinstance(settings, CmaMeSettings) and settings.archive_learning_rate is not None and not keeps_best:
        assert settings.threshold_min is not None
        thresholds = {"learning_rate": settings.archive_learning_rate, "threshold_min": settings.threshold_min}
    return LevelArchive(
        solution_dim=domain.solution_size,
        dims=settings.dims(domain),
        ranges=[(axis.low, axis.high) for axis in axes],
        qd_score_offset=domain.objective_range[0],
        solution_dtype=dtype or solution_type(domain),
        objective_dtype=np.float32,
        measures_dtype=np.float32,
        extra_fields={"evaluation": ((), np.int64)},
        **thresholds,
    )


def regions_of(cells: np.ndarray, dims: tuple[int, int], coarse_dims: tuple[int, int]) -> np.ndarray:
    """Returns the region in which each cell lies.

    Args:
        cells: int, shape (elites,): index of a cell in row-major order.
        dims: Cells along each measure.
        coarse_dims: Regions along each measure.

    Returns:
        int64, shape (elites,), in row-major order; -1 for a cell beyond the last whole region.
    """
    size = [fine // coarse for fine, coarse in zip(dims, coarse_dims, strict=True)]
    row, column = np.divmod(np.asarray(cells, np.int64), dims[1])
    row, column = row // size[0], column // size[1]
    inside = (row < coarse_dims[0]) & (column < coarse_dims[1])
    return np.where(inside, row * coarse_dims[1] + column, -1)


def one_per_region(
    cells: np.ndarray, dims: tuple[int, int], coarse_dims: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """Draws one elite of each region that has any, all with the same probability.

    Args:
        cells: int, shape (elites,): index of each elite's cell in row-major order.
        dims: Cells along each measure.
        coarse_dims: Regions along each measure.
        rng: Draws.

    Returns:
        Numbers of elites, ordered by region.

    Source: section 1.4 of the description of DSAGE.
    """
    shuffled = rng.permutation(len(cells))
    regions = regions_of(cells[shuffled], dims, coarse_dims)
    found, first = np.unique(regions, return_index=True)
    return shuffled[first[found >= 0]]
