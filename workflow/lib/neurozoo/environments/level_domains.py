"""Domains of levels: what a quality-diversity search varies, who is sent into a level, and what is measured there."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol as Interface

import numpy as np

from neurozoo.errors import NeurozooError, unknown_name


@dataclass(frozen=True)
class Measure:
    """One axis of an archive.

    Attributes:
        title: What is measured, for axes of figures, with its unit.
        low: Lower end of the archive's range.
        high: Upper end.
        cells: Published number of cells of the archive.
        coarse_cells: Published number of cells of the downsampled archive, a divisor of `cells`.
    """

    title: str
    low: float
    high: float
    cells: int
    coarse_cells: int


@dataclass(frozen=True)
class Evaluations:
    """What happened in several levels.

    Attributes:
        levels: uint8, shape (levels, height, width): tiles, with start and goal.
        objectives: float32, shape (levels,).
        values: float32, shape (levels,), by name: the measures of the domain, and what is recorded besides.
        occupancy: float32, shape (levels, height, width): how often an episode's agent stood on each tile, on average.
    """

    levels: np.ndarray
    objectives: np.ndarray
    values: Mapping[str, np.ndarray]
    occupancy: np.ndarray


class LevelDomain(Interface):
    """Decodes solutions to levels and sends agents into them. It owns nothing and may be shared by threads.

    Attributes:
        name: The `{game}` of paths, such as `maze`.
        solution_size: Length of a solution.
        num_values: A solution's entries are whole numbers below this; None if they are real numbers.
        num_tiles: Kinds of tiles of a level, with start and goal; 0 is empty.
        spare_channels: Channels of a surrogate's input that no tile uses.
        shape: Height and width of a level.
        measures: All measures by name.
        recorded: Names of `Evaluations.values`.
        default_measures: The pair of the published results.
        agents: Names of the agents that can be sent in.
        reads_generators: Whether a trained generator (.npz) can decode solutions.
        read_agent: Reads the agent of a file (.npz), and raises a NeurozooError if it holds none; None if all agents
            have names.
        trained_play_once: Whether agents of files play one episode in each level, since all would be the same.
        objective_range: Smallest and largest possible objective.
        needs_op: Whether the native op plays.
        tile_colours: Colours of tiles on pages, as `#rrggbb`; empty for walls and free cells of mazes.
    """

    name: str
    solution_size: int
    num_values: int | None
    num_tiles: int
    spare_channels: int
    shape: tuple[int, int]
    measures: Mapping[str, Measure]
    recorded: tuple[str, ...]
    default_measures: tuple[str, str]
    agents: tuple[str, ...]
    reads_generators: bool
    read_agent: Callable[[str], object] | None
    trained_play_once: bool
    objective_range: tuple[float, float]
    needs_op: bool
    tile_colours: tuple[str, ...]

    def decode(self, solutions: np.ndarray) -> np.ndarray:
        """Returns levels without start and goal: uint8, shape (levels, height, width)."""

    def with_endpoints(self, levels: np.ndarray) -> np.ndarray:
        """Returns the same levels with start and goal."""

    def evaluate(self, levels: np.ndarray, play: "Play", rngs: "list[np.random.Generator]") -> Evaluations:
        """Sends an agent into levels.

        Args:
            levels: As `decode` returns them.
            play: Who plays, and how often.
            rngs: One generator per level, so that its result does not depend on the other levels.
        """

    def ways(
        self, levels: np.ndarray, agent: str, *, direction: int = 0, ops: str | os.PathLike | None = None
    ) -> list[np.ndarray]:
        """Returns the cells of one episode in each level, row * width + column, for pages and movies."""


@dataclass(frozen=True, kw_only=True)
class Play:
    """How a level is evaluated.

    Attributes:
        agent: Name of the agent.
        num_episodes: Episodes that count.
        num_envs: Copies of the level that are played side by side, for `first_finished`.
        sampling: `first_finished`: a copy that has finished begins again until `num_episodes` have finished, which
            favours short episodes; what was begun adds to the occupancy. `fixed`: each episode counts.
        shares_first_direction: Whether the first episodes of all copies begin in the same direction.
        unsolvable_occupancy: The occupancy of an unsolvable level: its `walls`, or `zeros`.
        ops: The op library, which plays fast; None to play in NumPy. Scripted agents do the same in both.
        threads: Threads of the op; results do not depend on it.
    """

    agent: str
    num_episodes: int = 50
    num_envs: int = 10
    sampling: str = "first_finished"
    shares_first_direction: bool = True
    unsolvable_occupancy: str = "walls"
    ops: Path | None = None
    threads: int = 1


_LIFT = 1e-6  # added to measures before they are put into cells
GRAMMAR = "grammar"  # the decoder that has not learned anything


def _maze(decoder: str) -> LevelDomain:
    from neurozoo.environments.mazes.domain import MazeDomain

    return MazeDomain()


def _mario(decoder: str) -> LevelDomain:
    from neurozoo.environments.platformer.domain import PlatformerDomain
    from neurozoo.environments.platformer.generator import Generator
    from neurozoo.environments.platformer.grammar import decode

    return PlatformerDomain("mario", decode if decoder == GRAMMAR else Generator.read(decoder).decode)


LEVEL_DOMAINS: Mapping[str, Callable[[str], LevelDomain]] = {"maze": _maze, "mario": _mario}


def get_level_domain(name: str, *, decoder: str = GRAMMAR) -> LevelDomain:
    """Finds a domain.

    Args:
        name: Its name.
        decoder: What decodes solutions: `grammar`, or the path of a trained generator (.npz). Domains that have none
            ignore it; `check_decoder` says so to the user.

    Raises:
        NeurozooError: The domain is unknown, and the message suggests the most similar name; or the generator is
            missing, damaged or of other levels.
    """
    if name not in LEVEL_DOMAINS:
        raise unknown_name("domain of levels", name, LEVEL_DOMAINS)
    return LEVEL_DOMAINS[name](decoder)


def check_level_domain(name: str) -> str:
    """Returns the name of a domain.

    Raises:
        NeurozooError: It is unknown; the message suggests the most similar name.
    """
    return get_level_domain(name).name


def check_decoder(domain: LevelDomain, decoder: str) -> None:
    """Checks that a domain has decoders, if one is chosen.

    Raises:
        NeurozooError: It has none.
    """
    if decoder != GRAMMAR and not domain.reads_generators:
        raise NeurozooError(
            f"Solutions of {domain.name!r} are levels, which no generator decodes. Leave decoder: {decoder} out."
        )


def check_agent(domain: LevelDomain, agent: str) -> None:
    """Checks that an agent can be sent into the levels of a domain.

    Raises:
        NeurozooError: It cannot.
    """
    is_file = domain.read_agent is not None and agent.endswith(".npz")
    if agent not in domain.agents and not is_file:
        files = ", or the file of an agent, such as RUN_DIR/checkpoint.npz" if domain.read_agent else ""
        raise NeurozooError(
            f"The agent {agent!r} cannot be sent into levels of {domain.name!r}. Set agent to "
            f"{' or '.join(domain.agents)}{files}, or choose a preset for {domain.name!r}."
        )


def places_on_grid(measures: np.ndarray, *, dims: np.ndarray | Sequence[int], ranges: np.ndarray) -> np.ndarray:
    """Returns in which cell of an archive's grid each level lies: int64, shape (levels, measures).

    What is outside of a range lies in the cell at its border. The published small number lifts rounded measures, such
    as a share of 0.39, over the border of their cell.

    Args:
        measures: Shape (levels, measures), finite.
        dims: Cells along each measure.
        ranges: Shape (measures, 2): lower and upper bound of each measure.

    Source: section 3.1 of the description of DSAGE.
    """
    low, high = np.asarray(ranges, float).T
    shares = (np.asarray(measures, float) + _LIFT - low) / (high - low)
    return np.clip(np.floor(shares * dims), 0, np.asarray(dims) - 1).astype(np.int64)


def measure_title(game: str, measure: str) -> str:
    """Returns the title of a measure for an axis; an unknown one keeps its name."""
    if game in LEVEL_DOMAINS and measure in (measures := get_level_domain(game).measures):
        return measures[measure].title
    return measure.replace("_", " ").capitalize()
