"""An agent for mazes that remembers nothing: a network of dense layers, such as evolution finds."""

import numpy as np

from neurozoo.environments.evolved_agents import dense_layout, dense_outputs
from neurozoo.networks.description import Layout
from neurozoo.networks.maze_network import MAZE_OBSERVATION


class DenseAgent:
    """Plays the action with the largest output; of equal ones the first, as in training.

    Args:
        layout: The network, of dense layers only.
        theta: float32, shape (parameters,).

    Raises:
        NeurozooError: The weights are others.
    """

    name = "dense"
    is_deterministic = True
    op_parameters = None  # the op plays it nowhere: four episodes tell everything about a maze

    def __init__(self, layout: Layout, theta: np.ndarray) -> None:
        self._outputs = dense_outputs(layout, theta)

    @classmethod
    def of(cls, model: str, num_actions: int, theta: np.ndarray) -> "DenseAgent":
        """Makes the agent of a run from the name of its network.

        Raises:
            NeurozooError: The network is unknown or has layers that are not dense, or the weights are others.
        """
        return cls(dense_layout(model, num_actions, MAZE_OBSERVATION), theta)

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
