"""The domain of mazes: 16 x 16 tiles, endpoints as far from each other as possible, and an agent that looks for one.

Source: section 4 of the description of DSAGE.
"""

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from neurozoo.environments.levels import Evaluations, LevelDomain, Measure, Play
from neurozoo.environments.mazes.agents import AGENTS, make_agent, read_maze_agent
from neurozoo.environments.mazes.endpoints import CELLS, GOAL, SIDE, START, WALL, Endpoints, find_endpoints
from neurozoo.environments.mazes.episodes import Starts, play_in_core
from neurozoo.environments.mazes.simulator import TIME_LIMIT, TURN_LEFT, TURN_RIGHT, MazeAgent, Walks, play
from neurozoo.native import CORE

_MOST_EPISODES = 4096  # that are played at once: 8 MB of ways
_Outcome = tuple[int, dict[str, float], np.ndarray]  # number of a maze, values by name, visits per cell and episode


class MazeDomain(LevelDomain):
    """Mazes of walls and free cells; see `LevelDomain`.

    A solution has 256 entries: 1 is a wall, 0 is free. There is no repair: start and goal are put where they are
    farthest apart, so a maze is solvable as soon as two free cells touch.

    The measures are those of the published archives: `walls`, `path_length` (mean steps of an episode; a failure counts
    as 648), `repeated_visits` (mean steps on a cell that the episode has visited before) and `explored` (share of the
    reachable cells that any episode visited).
    """

    name = "maze"
    solution_size = CELLS
    num_values = 2
    num_tiles = 4
    spare_channels = 1  # for the drawn path, which the original never draws
    shape = (SIDE, SIDE)
    measures: Mapping[str, Measure] = MappingProxyType(
        {
            "walls": Measure("Walls", 0, CELLS, 256, 32),
            "path_length": Measure("Mean path length of the agent (steps)", 0, TIME_LIMIT, 162, 27),
            "repeated_visits": Measure("Mean repeated visits (steps)", 0, TIME_LIMIT, 162, 27),
            "explored": Measure("Explored share of the reachable cells", 0, 1, 100, 25),
        }
    )
    recorded = (
        "walls", "path_length", "repeated_visits", "explored", "left_turns", "right_turns", "solved",
        "optimal_path_length",
    )  # fmt: skip
    default_measures = ("walls", "path_length")
    agents = tuple(AGENTS)
    read_agent = staticmethod(read_maze_agent)

    def decode(self, solutions: np.ndarray) -> np.ndarray:
        """Returns mazes without start and goal; real numbers above 0.5 are walls."""
        return (np.asarray(solutions) > 0.5).astype(np.uint8).reshape(-1, SIDE, SIDE)

    def with_endpoints(self, levels: np.ndarray) -> np.ndarray:
        """Returns the mazes with start (2) and goal (3); unsolvable ones stay as they are."""
        return _marked(levels, find_endpoints(levels == WALL))

    def evaluate(self, levels: np.ndarray, play: Play, rngs: list[np.random.Generator]) -> Evaluations:
        """Sends an agent into mazes; see `LevelDomain.evaluate`."""
        walls = levels == WALL
        endpoints = find_endpoints(walls, core=play.core)
        count = len(levels)
        values = {name: np.zeros(count) for name in self.recorded}
        occupancy = np.zeros((count, CELLS))
        if play.unsolvable_occupancy == "walls":
            occupancy[~endpoints.is_solvable] = walls.reshape(count, CELLS)[~endpoints.is_solvable]
        agent = make_agent(play.agent)
        is_deterministic = agent.is_deterministic and (play.core is None or agent.core_parameters is None)
        outcomes = _from_each_direction if is_deterministic else _in_op
        for number, found, visits in outcomes(agent, walls, endpoints, play, rngs):
            occupancy[number] = visits
            for name, value in found.items():
                values[name][number] = value
        values["walls"] = walls.sum(axis=(1, 2))
        values["optimal_path_length"] = endpoints.distance
        return Evaluations(
            levels=_marked(levels, endpoints),
            objectives=endpoints.is_solvable.astype(np.float32),
            values={name: np.asarray(array, np.float32) for name, array in values.items()},
            occupancy=occupancy.reshape(count, SIDE, SIDE).astype(np.float32),
        )

    def ways(
        self, levels: np.ndarray, agent: str, *, direction: int = 0, core: str | os.PathLike | None = None
    ) -> list[np.ndarray]:
        """Returns the cells of one episode in each maze; see `LevelDomain.ways`. Unsolvable mazes have empty ways.

        An agent that chooses at random walks as its first random numbers have it. The core is not needed.
        """
        walls = np.asarray(levels) == WALL
        ways = [np.zeros(0, np.int16)] * len(walls)
        for chosen, walks in _walks(make_agent(agent), walls, find_endpoints(walls), np.array([direction])):
            for place, number in enumerate(chosen):
                ways[number] = walks.cells[place, : walks.lengths[place]]
        return ways


def _marked(levels: np.ndarray, endpoints: Endpoints) -> np.ndarray:
    marked = np.array(levels, np.uint8).reshape(-1, CELLS)
    solvable = np.flatnonzero(endpoints.is_solvable)
    marked[solvable, endpoints.start[solvable]] = START
    marked[solvable, endpoints.goal[solvable]] = GOAL
    return marked.reshape(-1, SIDE, SIDE)


def _walks(
    agent: MazeAgent, walls: np.ndarray, endpoints: Endpoints, directions: np.ndarray
) -> Iterator[tuple[np.ndarray, Walks]]:
    """Plays an episode from each direction in each solvable maze.

    Yields:
        Numbers of mazes, and their walks: those from all directions in one maze come one after the other.
    """
    solvable = np.flatnonzero(endpoints.is_solvable)
    size = _MOST_EPISODES // len(directions)
    for first in range(0, len(solvable), size):
        chosen = solvable[first : first + size]
        number, direction = np.repeat(chosen, len(directions)), np.tile(directions, len(chosen))
        start, goal = endpoints.start[number], endpoints.goal[number]
        yield chosen, play(agent, walls[number], start, goal, direction, np.random.default_rng(0))


def _from_each_direction(
    agent: MazeAgent, walls: np.ndarray, endpoints: Endpoints, play: Play, rngs: list[np.random.Generator]
) -> Iterator[_Outcome]:
    """Plays an episode from each of the four directions; a deterministic agent has no others."""
    for chosen, walks in _walks(agent, walls, endpoints, np.arange(4)):
        for place, number in enumerate(chosen.tolist()):
            own = slice(4 * place, 4 * place + 4)
            of_maze = Walks(walks.cells[own], walks.actions[own], walks.lengths[own], walks.is_solved[own])
            yield number, *_summary(of_maze, play, rngs[number], int(endpoints.reachable[number]))


def _in_op(
    agent: MazeAgent, walls: np.ndarray, endpoints: Endpoints, play: Play, rngs: list[np.random.Generator]
) -> Iterator[_Outcome]:
    """Plays all episodes in the core."""
    solvable, copies = np.flatnonzero(endpoints.is_solvable), _copies(play)
    # As in NumPy, directions are drawn first; then the seed of the actions.
    directions = [_draw_directions(play, rngs[number]) for number in solvable]
    starts = Starts(
        walls=walls[solvable],
        start=endpoints.start[solvable],
        goal=endpoints.goal[solvable],
        direction=np.array(directions, np.uint8).reshape(len(solvable), *copies),
        seed=np.array([rngs[number].integers(2**63) for number in solvable], np.int64),
        num_counting=play.num_episodes,
    )
    finished, episodes = play_in_core(agent, starts, core=play.core or CORE, threads=play.threads), play.num_episodes
    for maze, number in enumerate(solvable.tolist()):
        values = {
            "path_length": finished.lengths[maze].sum() / episodes,
            "repeated_visits": finished.repeats[maze].sum() / episodes,
            "explored": np.count_nonzero(finished.visits[maze]) / endpoints.reachable[number],
            "left_turns": float(np.median(finished.left_turns[maze])),
            "right_turns": float(np.median(finished.right_turns[maze])),
            "solved": finished.is_solved[maze].sum() / episodes,
        }
        yield number, values, finished.visits[maze] / episodes


def _summary(walks: Walks, play: Play, rng: np.random.Generator, reachable: int) -> tuple[dict[str, float], np.ndarray]:
    """Draws first directions and averages the episodes that follow from them.

    `walks` are the episodes from each of the four directions in one maze, of which `reachable` cells can be reached.

    Returns:
        The values by name, and visits per cell and episode: float64, shape (256,).
    """
    counts, cut = _drawn(walks.lengths, play, rng)
    visits = walks.visits()
    repeats = walks.lengths - (visits > 0).sum(axis=1)
    left, right = (np.sum(walks.actions == turn, axis=1) for turn in (TURN_LEFT, TURN_RIGHT))
    total = counts @ visits
    for direction, steps in cut:  # episodes that had begun when the last one that counts ended
        np.add.at(total, walks.cells[direction, :steps], 1)
    episodes = play.num_episodes
    return {
        "path_length": counts @ walks.lengths / episodes,
        "repeated_visits": counts @ repeats / episodes,
        "explored": np.count_nonzero(total) / reachable,
        "left_turns": float(np.median(np.repeat(left, counts))),
        "right_turns": float(np.median(np.repeat(right, counts))),
        "solved": counts @ walks.is_solved / episodes,
    }, total / episodes


def _copies(play: Play) -> tuple[int, int]:
    """Returns the copies of a maze, and the most episodes that each plays."""
    return (play.num_episodes, 1) if play.sampling == "fixed" else (play.num_envs, play.num_episodes)


def _draw_directions(play: Play, rng: np.random.Generator) -> np.ndarray:
    """Draws where agents look at first: int64, shape (copies, episodes)."""
    drawn = rng.integers(4, size=_copies(play))
    if play.shares_first_direction:
        drawn[: play.num_envs, 0] = 0  # the first episode of each environment
    return drawn


def _drawn(lengths: np.ndarray, play: Play, rng: np.random.Generator) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Draws the first directions of episodes, whose lengths they decide.

    Returns:
        How many of the episodes that count begin in each direction, shape (4,); and direction and steps of those that
        were cut off, because enough had finished. Of copies that finish at the same step the first ones count; a copy
        that finishes then, too, but does not count, is cut off there.
    """
    drawn = _draw_directions(play, rng)
    if play.sampling == "fixed":
        return np.bincount(drawn[:, 0], minlength=4), []
    ends = np.cumsum(lengths[drawn], axis=1)  # a copy can finish all episodes that count
    copies = np.repeat(np.arange(play.num_envs), play.num_episodes)
    order = np.lexsort((copies, ends.reshape(-1)))[: play.num_episodes]  # by step, then by copy
    copy, episode = np.divmod(order, play.num_episodes)
    last = ends[copy[-1], episode[-1]]
    finished = np.bincount(copy, minlength=play.num_envs)
    cut = []
    for number in np.flatnonzero(finished < play.num_episodes):
        begun = ends[number, finished[number] - 1] if finished[number] else 0
        if steps := int(last - begun):
            cut.append((int(drawn[number, finished[number]]), steps))
    return np.bincount(drawn[copy, episode], minlength=4), cut
