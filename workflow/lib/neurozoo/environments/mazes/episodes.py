"""Whole episodes in copies of mazes: in the native op, and step by step in NumPy, which is its twin."""

import os
from dataclasses import dataclass

import numpy as np

from neurozoo.environments.mazes.endpoints import CELLS, Endpoints
from neurozoo.environments.mazes.recurrent_agent import RecurrentAgent, choose
from neurozoo.environments.mazes.simulator import TIME_LIMIT, TURN_LEFT, TURN_RIGHT, MazeAgent, MazeEpisodes
from neurozoo.environments.splitmix64 import SplitMix64
from neurozoo.native import call_op, load_ops


@dataclass(frozen=True)
class Starts:
    """Copies of several mazes that are played in lock-step.

    A copy that has finished begins its next episode at once. A maze ends when `num_counting` episodes have finished; of
    copies that finish with the same step, the first ones count.

    Attributes:
        walls: bool, shape (mazes, 16, 16).
        start: int64, shape (mazes,): cell as row * 16 + column.
        goal: The same for the goal.
        direction: uint8, shape (mazes, copies, episodes): where agents look at first.
        seed: int64, shape (mazes,), of random actions. The seed of an episode is number copy * episodes + episode of
            those that `SplitMix64` draws from it, so it depends on nothing that was played before.
        num_counting: Episodes of a maze that count.
    """

    walls: np.ndarray
    start: np.ndarray
    goal: np.ndarray
    direction: np.ndarray
    seed: np.ndarray
    num_counting: int


@dataclass(frozen=True)
class Finished:
    """What came of the episodes that count, in the order in which they finished.

    Attributes:
        lengths: int64, shape (mazes, episodes): steps.
        is_solved: bool, shape (mazes, episodes).
        repeats: int64, shape (mazes, episodes): steps on cells that the episode had visited before.
        left_turns: int64, shape (mazes, episodes).
        right_turns: int64, shape (mazes, episodes).
        visits: int64, shape (mazes, 256): how often any copy stood on a cell before an action, in episodes that were
            cut off, too.
    """

    lengths: np.ndarray
    is_solved: np.ndarray
    repeats: np.ndarray
    left_turns: np.ndarray
    right_turns: np.ndarray
    visits: np.ndarray

    @classmethod
    def of(cls, fields: np.ndarray, visits: np.ndarray) -> "Finished":
        """Makes them from integers, shapes (mazes, episodes, 5) and (mazes, 256)."""
        lengths, solved, repeats, left, right = np.moveaxis(fields.astype(np.int64), 2, 0)
        return cls(lengths, solved.astype(bool), repeats, left, right, visits.astype(np.int64))


def find_endpoints_in_op(walls: np.ndarray, *, ops: str | os.PathLike) -> Endpoints:
    """Finds what `find_endpoints` finds, twenty times faster."""
    found = call_op(load_ops(ops).neurozoo_maze_endpoints, walls=walls.astype(np.uint8)).numpy()
    return Endpoints(*found)


def play_in_op(agent: MazeAgent, starts: Starts, *, ops: str | os.PathLike, threads: int = 1) -> Finished:
    """Plays in C++ threads. Results depend neither on their number nor on the other mazes.

    Args:
        agent: One that the op plays.
        starts: What is played.
        ops: The op library.
        threads: Number of threads; no more are started than there are mazes.

    Raises:
        NeurozooError: The library is missing or was built from other sources, or the numbers make no sense.
    """
    fields, visits = call_op(
        load_ops(ops).neurozoo_maze_episodes,
        walls=starts.walls.astype(np.uint8),
        starts=starts.start.astype(np.int64),
        goals=starts.goal.astype(np.int64),
        directions=starts.direction.astype(np.uint8),
        seeds=starts.seed.astype(np.int64),
        parameters=agent.op_parameters,
        num_counting=starts.num_counting,
        num_threads=min(threads, max(len(starts.walls), 1)),
    )
    return Finished.of(fields.numpy(), visits.numpy())


def play_step_by_step(agent: MazeAgent, starts: Starts) -> Finished:
    """Plays the same in NumPy, about a thousand times slower.

    Sums have other roundings than in the op. So a recurrent agent may choose another action where a random number lies
    within 1e-6 of the border between two, and go another way from there.
    """
    found = [_play_maze(agent, starts, maze) for maze in range(len(starts.walls))]
    fields = np.array([each for each, _ in found], np.int64).reshape(len(found), starts.num_counting, 5)
    return Finished.of(fields, np.array([each for _, each in found], np.int64).reshape(len(found), CELLS))


def _play_maze(agent: MazeAgent, starts: Starts, maze: int) -> tuple[list[tuple[int, ...]], np.ndarray]:
    copies, most = starts.direction.shape[1:]
    walls = np.repeat(starts.walls[maze : maze + 1], copies, axis=0)
    start = np.full(copies, starts.start[maze])
    episodes = MazeEpisodes(walls, start, np.full(copies, starts.goal[maze]), starts.direction[maze, :, 0])
    memory = agent.first_memory(copies)
    finished: list[tuple[int, ...]] = []
    visits: np.ndarray = np.zeros(CELLS, np.int64)
    seed = int(starts.seed[maze])
    randoms = [_random(seed, copy * most) for copy in range(copies)]
    number = np.zeros(copies, np.int64)
    steps, left, right = np.zeros((3, copies), np.int64)
    seen: list[set[int]] = [set() for _ in range(copies)]
    while len(finished) < starts.num_counting:
        playing = number < most
        cells = episodes.cell
        if isinstance(agent, RecurrentAgent):
            preferences, memory = agent.preferences(episodes.image, episodes.direction, memory)
            uniform = [random.uniform() if plays else 0.0 for random, plays in zip(randoms, playing, strict=True)]
            actions = choose(preferences, np.array(uniform))
        else:
            actions, memory = agent.act(episodes.image, episodes.direction, memory, np.random.default_rng(0))
        solved = episodes.step(actions)
        np.add.at(visits, cells[playing], 1)
        steps, left, right = steps + 1, left + (actions == TURN_LEFT), right + (actions == TURN_RIGHT)
        for copy in np.flatnonzero(playing).tolist():
            seen[copy].add(int(cells[copy]))
            if not solved[copy] and steps[copy] < TIME_LIMIT:
                continue
            if len(finished) < starts.num_counting:
                length = int(steps[copy])
                turns = int(left[copy]), int(right[copy])
                finished.append((length, int(solved[copy]), length - len(seen[copy]), *turns))
            number[copy] += 1
            if number[copy] < most:
                episodes.begin(np.array([copy]), start[:1], starts.direction[maze, copy, number[copy]])
                memory[copy] = agent.first_memory(1)[0]
                randoms[copy] = _random(seed, copy * most + int(number[copy]))
                steps[copy] = left[copy] = right[copy] = 0
                seen[copy] = set()
    return finished, visits


def _random(seed: int, episode: int) -> SplitMix64:
    return SplitMix64(SplitMix64.after(seed, episode).next())
