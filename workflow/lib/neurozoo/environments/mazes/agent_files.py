"""Reads the agents that mazes are played with from their files."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from neurozoo.environments.evolved_agents import trained_weights
from neurozoo.environments.mazes.dense_agent import DenseAgent
from neurozoo.environments.mazes.recurrent_agent import FEWEST_ACTIONS, MOST_ACTIONS, NETWORK, RecurrentAgent, layout
from neurozoo.environments.mazes.simulator import MazeAgent
from neurozoo.errors import NeurozooError
from neurozoo.npz_files import DAMAGE, read_npz

GAME = "maze"


def read_maze_agent(path: str | os.PathLike) -> MazeAgent:
    """Reads an agent that was trained or evolved in mazes.

    Args:
        path: The `checkpoint.npz` of a run in mazes, or arrays that `RecurrentAgent.write` or
            `python -m neurozoo export` wrote.

    Raises:
        NeurozooError: The file is missing, damaged, or of another game or network.
    """
    if not Path(path).exists():
        raise NeurozooError(f"The agent {path} is missing. Train one, or name a scripted agent.")
    try:
        arrays = read_npz(path)
        return _agent_of_run(arrays) if "theta" in arrays else RecurrentAgent(arrays)
    except (*DAMAGE, OSError, NeurozooError) as error:
        raise NeurozooError(f"{path} is no agent for mazes: {error}") from error


def _agent_of_run(arrays: Mapping[str, np.ndarray]) -> MazeAgent:
    """Makes an agent from a run's checkpoint.

    Raises:
        NeurozooError, LookupError, ValueError: It is not one of mazes.
    """
    run = trained_weights(arrays, game=GAME, actions=range(FEWEST_ACTIONS, MOST_ACTIONS + 1))
    if run.model == NETWORK:
        return RecurrentAgent(layout(run.num_actions).split(run.theta))
    return DenseAgent.of(run.model, run.num_actions, run.theta)
