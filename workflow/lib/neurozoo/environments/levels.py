"""What a domain of levels is: what a search varies, who is sent into a level, and what is measured there."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

Agents = Literal["all", "trained", "none"]  # `trained` are those of files


@dataclass(frozen=True)
class Measure:
    """One axis of an archive."""

    title: str  # what is measured, for axes of figures, with its unit
    low: float  # lower end of the archive's range
    high: float  # upper end
    cells: int  # published number of cells of the archive
    coarse_cells: int  # published number of cells of the downsampled archive, a divisor of `cells`


@dataclass(frozen=True, kw_only=True)
class Play:
    """How a level is evaluated."""

    agent: str  # name of the agent, or its file
    num_episodes: int = 50  # episodes that count
    num_envs: int = 10  # copies of the level that are played side by side, for `first_finished`
    # `first_finished`: a copy that has finished begins again until `num_episodes` have finished, which favours short
    # episodes; what was begun adds to the occupancy. `fixed`: each episode counts.
    sampling: str = "first_finished"
    shares_first_direction: bool = True  # whether the first episodes of all copies begin in the same direction
    unsolvable_occupancy: str = "walls"  # the occupancy of an unsolvable level: its `walls`, or `zeros`
    # The native core, which plays fast; None to play scripted agents in NumPy, which gives the same
    core: Path | None = None
    threads: int = 1  # threads of the core; results do not depend on it


@dataclass(frozen=True)
class Evaluations:
    """What happened in several levels."""

    levels: np.ndarray  # uint8, shape (levels, height, width): tiles, with start and goal
    objectives: np.ndarray  # float32, shape (levels,)
    # float32, shape (levels,), by name: the measures of the domain, and what is recorded besides
    values: Mapping[str, np.ndarray]
    # float32, shape (levels, height, width): how often an episode's agent stood on each tile, on average
    occupancy: np.ndarray


class LevelDomain(ABC):
    """Decodes solutions to levels and sends agents into them. It owns nothing and may be shared by threads."""

    name: str  # the `{game}` of paths, such as `maze`
    solution_size: int  # length of a solution
    num_values: int | None = None  # a solution's entries are whole numbers below this; None if they are real numbers
    num_tiles: int  # kinds of tiles of a level, with start and goal; 0 is empty
    spare_channels: int = 0  # channels of a surrogate's input that no tile uses
    shape: tuple[int, int]  # height and width of a level
    measures: Mapping[str, Measure]  # all measures by name
    recorded: tuple[str, ...]  # names of `Evaluations.values`
    default_measures: tuple[str, str]  # the pair of the published results
    agents: tuple[str, ...]  # names of the agents that can be sent in
    reads_generators: bool = False  # whether a trained generator (.npz) can decode solutions
    # Reads the agent of a file (.npz), and raises a NeurozooError if it holds none; None if all agents have names
    read_agent: Callable[[str], object] | None = None
    play_once: Agents = "none"  # who plays one episode in each level, since all would be the same
    objective_range: tuple[float, float] = (0.0, 1.0)  # smallest and largest possible objective
    need_core: Agents = "trained"  # for whom the native core plays
    # Colours of tiles on pages, as `#rrggbb`; empty for walls and free cells of mazes
    tile_colours: tuple[str, ...] = ()

    @abstractmethod
    def decode(self, solutions: np.ndarray) -> np.ndarray:
        """Returns levels without start and goal: uint8, shape (levels, height, width)."""

    @abstractmethod
    def with_endpoints(self, levels: np.ndarray) -> np.ndarray:
        """Returns the same levels with start and goal."""

    @abstractmethod
    def evaluate(self, levels: np.ndarray, play: Play, rngs: list[np.random.Generator]) -> Evaluations:
        """Sends an agent into levels.

        Args:
            levels: As `decode` returns them.
            play: Who plays, and how often.
            rngs: One generator per level, so that its result does not depend on the other levels.
        """

    @abstractmethod
    def ways(
        self, levels: np.ndarray, agent: str, *, direction: int = 0, core: str | os.PathLike | None = None
    ) -> list[np.ndarray]:
        """Returns the way of one episode in each level, for pages and movies.

        Args:
            levels: uint8, shape (levels, height, width), with or without endpoints.
            agent: Name of the agent, or its file.
            direction: Where it looks at first, in mazes.
            core: The native core; None for where the workflow builds it.

        Returns:
            Arrays of int16, shape (steps,): cells row * width + column.
        """
