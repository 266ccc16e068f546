"""A run's archive as figures, movies and pages need it: which cell holds which elite, and when it came."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurozoo.environments.level_domains import LevelDomain, places_on_grid
from neurozoo.errors import NeurozooError
from neurozoo.files import parse_json, sha256_of
from neurozoo.files.npz import DAMAGE, read_npz
from neurozoo.records.format import check_format
from neurozoo.records.run_config import read_run_settings


@dataclass(frozen=True)
class StoredArchive:
    """The elites of an archive of two measures.

    Attributes:
        facts: What the archive says of itself: names, `measures`, `qd_score`, `coverage` ...
        dims: Cells along each measure.
        ranges: float, shape (2, 2): lower and upper bound of each measure.
        cells: int64, shape (elites,): index of each elite's cell in row-major order.
        objectives: float, shape (elites,).
        iterations: int64, shape (elites,): when each elite was found, from 0.
    """

    facts: dict
    dims: tuple[int, int]
    ranges: np.ndarray
    cells: np.ndarray
    objectives: np.ndarray
    iterations: np.ndarray

    @property
    def measures(self) -> tuple[str, str]:
        """Names of the two measures."""
        first, second = self.facts["measures"]
        return str(first), str(second)

    def places(self, measures: np.ndarray) -> np.ndarray:
        """Returns where levels with these measures lie on the grid: int64, shape (levels, 2)."""
        return places_on_grid(measures, dims=self.dims, ranges=self.ranges)

    def grid(self, values: np.ndarray, chosen: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Returns values of elites, or of those chosen, on the grid.

        float64, shape (first measure, second measure), NaN where is none.
        """
        grid = np.full(self.dims, np.nan)
        grid.flat[self.cells[chosen]] = values[chosen]
        return grid


def read_stored_archive(path: str | os.PathLike) -> StoredArchive:
    """Reads an `archive.npz` of two measures. A file from a stranger is safe to read."""
    remedy = "Train the run again."
    try:
        arrays = read_npz(path)
        facts = parse_json(str(arrays["facts"]))
        check_format(facts, path, remedy)
        measures, dims, ranges = facts["measures"], arrays["metadata_dims"].astype(int).tolist(), arrays["ranges"]
        if len(dims) != 2 or ranges.shape != (2, 2) or not (isinstance(measures, list) and len(measures) == 2):
            raise ValueError(f"{len(dims)} measures")
        cells, objectives, iterations = (arrays[name] for name in ("metadata_cell", "objectives", "metadata_iteration"))
        if not cells.shape == objectives.shape == iterations.shape == (len(cells),):
            raise ValueError("arrays of different lengths")
        if len(cells) and not (cells.min() >= 0 and cells.max() < dims[0] * dims[1]):
            raise ValueError("a cell outside of the archive")
    except FileNotFoundError as error:
        raise NeurozooError(f"The archive {path} is missing. Train the run, or copy all its files.") from error
    except (*DAMAGE, OSError, TypeError, AttributeError) as error:
        raise NeurozooError(f"{path} is no archive of two measures ({error}). {remedy}") from error
    return StoredArchive(
        facts, (dims[0], dims[1]), ranges.astype(float), cells.astype(np.int64), objectives.astype(float),
        iterations.astype(np.int64),
    )  # fmt: skip


def agent_of_run(run_dir: str | os.PathLike, domain: LevelDomain) -> tuple[str, bool]:
    """Returns the agent that a run sent into its levels, and whether its file, if any, is there and unchanged."""
    settings = read_run_settings(Path(run_dir) / "config.yaml")
    agent = str(settings.get("agent", domain.agents[0]))
    if agent in domain.agents:
        return agent, True
    try:
        return agent, domain.read_agent is not None and sha256_of(agent) == settings.get("agent_sha256")
    except OSError:
        return agent, False
