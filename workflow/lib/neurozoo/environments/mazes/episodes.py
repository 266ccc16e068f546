"""Whole episodes in copies of mazes, in the native core."""

import os
from dataclasses import dataclass

import numpy as np

from neurozoo.environments.mazes.simulator import MazeAgent
from neurozoo.native import load_core


@dataclass(frozen=True)
class Starts:
    """Copies of several mazes that are played in lock-step.

    A copy that has finished begins its next episode at once. A maze ends when `num_counting` episodes have finished; of
    copies that finish with the same step, the first ones count.
    """

    walls: np.ndarray  # bool, shape (mazes, 16, 16)
    start: np.ndarray  # int64, shape (mazes,): cell as row * 16 + column
    goal: np.ndarray  # the same for the goal
    direction: np.ndarray  # uint8, shape (mazes, copies, episodes): where agents look at first
    # int64, shape (mazes,), of random actions. The seed of an episode is number copy * episodes + episode of those that
    # `SplitMix64` draws from it, so it depends on nothing that was played before.
    seed: np.ndarray
    num_counting: int  # episodes of a maze that count


@dataclass(frozen=True)
class Finished:
    """What came of the episodes that count, in the order in which they finished: int64, shape (mazes, episodes)."""

    lengths: np.ndarray  # steps
    is_solved: np.ndarray  # bool
    repeats: np.ndarray  # steps on cells that the episode had visited before
    left_turns: np.ndarray  # number of turns
    right_turns: np.ndarray  # number of turns
    # Shape (mazes, 256): how often any copy stood on a cell before an action, in episodes that were cut off, too
    visits: np.ndarray


def play_in_core(agent: MazeAgent, starts: Starts, *, core: str | os.PathLike, threads: int = 1) -> Finished:
    """Plays in C++ threads. Results depend neither on their number nor on the other mazes.

    Raises:
        NeurozooError: The library is missing or was built from other sources, or the numbers make no sense.
    """
    fields, visits = load_core(core).play_mazes(
        walls=starts.walls,
        starts=starts.start,
        goals=starts.goal,
        directions=starts.direction,
        seeds=starts.seed,
        parameters=agent.core_parameters,
        num_counting=starts.num_counting,
        num_threads=min(threads, max(len(starts.walls), 1)),
    )
    lengths, solved, repeats, left, right = np.moveaxis(fields.astype(np.int64), 2, 0)
    return Finished(lengths, solved.astype(bool), repeats, left, right, visits.astype(np.int64))
