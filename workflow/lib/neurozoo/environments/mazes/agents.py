"""Agents that walk through mazes: a scripted one, evolved networks, and those that are read from files."""

import os
from collections.abc import Callable

import numpy as np

from neurozoo.environments.evolved_agents import dense_outputs, reading_agent, trained_weights
from neurozoo.environments.mazes.recurrent_agent import FEWEST_ACTIONS, MOST_ACTIONS, NETWORK, RecurrentAgent, layout
from neurozoo.environments.mazes.simulator import FORWARD, SEEN_GOAL, SEEN_WALL, TURN_LEFT, TURN_RIGHT, MazeAgent
from neurozoo.networks.maze_network import MAZE_OBSERVATION

_AHEAD, _LEFT, _RIGHT = (2, 3), (1, 4), (3, 4)  # cells of the view


class WallFollower:
    """Keeps a wall at its left hand, and turns to the goal when it is beside it.

    It is as good in random mazes as the network of the original. Where walls form islands, it may go round one of them
    forever.

    Source: section 13.1 of the description of DSAGE (left-hand wall follower).
    """

    is_deterministic = True
    core_parameters = np.zeros(0, np.float32)  # the core knows its rule

    def first_memory(self, episodes: int) -> np.ndarray:
        """Returns whether the agents have just turned left, to follow the wall round a corner: not yet."""
        return np.zeros(episodes, bool)

    def act(
        self, image: np.ndarray, direction: np.ndarray, memory: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Chooses actions; see `MazeAgent.act`. Neither compass nor random numbers are used."""
        ahead, left, right = (image[:, x, y, 0] for x, y in (_AHEAD, _LEFT, _RIGHT))
        turns_left = (left != SEEN_WALL) & ~memory
        actions = np.select(
            [ahead == SEEN_GOAL, left == SEEN_GOAL, right == SEEN_GOAL, turns_left, ahead != SEEN_WALL],
            [FORWARD, TURN_LEFT, TURN_RIGHT, TURN_LEFT, FORWARD],
            TURN_RIGHT,
        )
        return actions, actions == TURN_LEFT


class DenseAgent:
    """A network that remembers nothing. It plays the largest output; of equal ones the first, as in training."""

    is_deterministic = True
    core_parameters = None  # the core plays it nowhere: four episodes tell everything about a maze

    def __init__(self, outputs: Callable[[np.ndarray], np.ndarray]) -> None:
        self._outputs = outputs

    def first_memory(self, episodes: int) -> np.ndarray:
        """Returns nothing to remember: shape (episodes, 0)."""
        return np.zeros((episodes, 0))

    def act(
        self, image: np.ndarray, direction: np.ndarray, memory: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Chooses actions; see `MazeAgent.act`. Random numbers are not used."""
        compass = np.broadcast_to(direction[:, None, None, None], (*image.shape[:3], 1))
        seen = np.concatenate([image, compass], axis=3).astype(np.float32)
        return self._outputs(seen.reshape(len(image), -1)).argmax(axis=1), memory


AGENTS: dict[str, type[MazeAgent]] = {"wall_follower": WallFollower}


def make_agent(name: str) -> MazeAgent:
    """Returns an agent, by its name or from its file (.npz); see `read_maze_agent`."""
    return AGENTS[name]() if name in AGENTS else read_maze_agent(name)


def read_maze_agent(path: str | os.PathLike) -> MazeAgent:
    """Reads an agent that was trained or evolved in mazes.

    The file is the `checkpoint.npz` of a run in mazes, or has the arrays of a `RecurrentAgent`, as
    `python -m neurozoo export` writes them.

    Raises:
        NeurozooError: The file is missing, damaged, or of another game or network.
    """
    with reading_agent(path, levels="mazes") as arrays:
        if "theta" not in arrays:
            return RecurrentAgent(arrays)
        run = trained_weights(arrays, game="maze", actions=range(FEWEST_ACTIONS, MOST_ACTIONS + 1))
        if run.model == NETWORK:
            return RecurrentAgent(layout(run.num_actions).split(run.theta))
        return DenseAgent(dense_outputs(run, MAZE_OBSERVATION))
