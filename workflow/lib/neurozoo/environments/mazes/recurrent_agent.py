"""The recurrent agent: a network that remembers where it has been, as the agent of the original does.

The core plays with it (native/core/maze_network.cc); here are its shapes, and a slow twin for tests and pages.

Source: section 4.4 of the description of DSAGE; Parker-Holder et al. 2022, arXiv:2203.01302 (ACCEL's student).
"""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from neurozoo.environments.mazes.simulator import NUM_ACTIONS
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_keras_network
from neurozoo.networks.keras_networks import KerasLayout
from neurozoo.networks.maze_network import MAZE_OBSERVATION, SCALE

NETWORK = "maze_recurrent"
FEWEST_ACTIONS, MOST_ACTIONS = 3, 8
UNITS = get_keras_network(NETWORK).lstm_units
_KERNEL = get_keras_network(NETWORK).torso[0].kernel


def layout(num_actions: int = NUM_ACTIONS) -> KerasLayout:
    """Returns the network, as learners have it."""
    return get_keras_network(NETWORK).layout(num_actions, MAZE_OBSERVATION)


def shapes(num_actions: int = NUM_ACTIONS) -> dict[str, tuple[int, ...]]:
    """Returns the arrays of the network, in the order of its parameter vector, as Keras has them.

    `w` are weights, (inputs, outputs) or (x, y, channels, outputs); `u` those from the LSTM's own output; `b` biases.
    The gates of the LSTM are input, forget, cell, output. Only learners need `critic` and `baseline`.
    """
    return {array.name: array.shape for array in layout(num_actions).arrays}


class RecurrentAgent:
    """Draws its actions by the preferences of the network; it remembers the LSTM's output and cells.

    Raises:
        NeurozooError: The arrays are not those of `shapes`, float32 and finite.
    """

    is_deterministic = False

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        bias = arrays.get("policy/b")
        num_actions = len(bias) if bias is not None and bias.ndim == 1 else 0
        wanted = shapes(num_actions)
        if not FEWEST_ACTIONS <= num_actions <= MOST_ACTIONS or set(arrays) != set(wanted):
            raise NeurozooError(
                f"An agent for mazes should have the arrays {', '.join(wanted)}, and {FEWEST_ACTIONS} to "
                f"{MOST_ACTIONS} actions, but has {', '.join(sorted(arrays)) or 'none'} and {num_actions} actions."
            )
        for name, shape in wanted.items():
            if arrays[name].shape != shape or arrays[name].dtype != np.float32 or not np.isfinite(arrays[name]).all():
                raise NeurozooError(
                    f"{name} should be finite float32 of shape {shape}, but is {arrays[name].dtype} of shape "
                    f"{arrays[name].shape}."
                )
        self.arrays = {name: np.array(arrays[name]) for name in wanted}
        self.num_actions = num_actions
        self.core_parameters = np.concatenate([array.ravel() for array in self.arrays.values()])

    def first_memory(self, episodes: int) -> np.ndarray:
        """Returns zeros: float64, shape (episodes, 2, 256), output and cells of the LSTM."""
        return np.zeros((episodes, 2, UNITS))

    def preferences(
        self, image: np.ndarray, direction: np.ndarray, memory: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Computes preferences in float64: a twin of the core, which has other roundings.

        Args:
            image: uint8, shape (episodes, 5, 5, 3).
            direction: int, shape (episodes,).
            memory: Shape (episodes, 2, 256).

        Returns:
            Preferences, shape (episodes, actions), and the memory after the step.
        """
        p = self._doubles
        patches = np.lib.stride_tricks.sliding_window_view(image / SCALE, (_KERNEL, _KERNEL), axis=(1, 2))
        seen = np.einsum("nxycij,ijco->nxyo", patches, p["view/w"]) + p["view/b"]
        seen = np.maximum(seen, 0).reshape(len(image), -1)
        compass = p["direction/w"][direction] + p["direction/b"]
        hidden, cells = memory[:, 0], memory[:, 1]
        gates = np.concatenate([seen, compass], axis=1) @ p["lstm/w"] + hidden @ p["lstm/u"] + p["lstm/b"]
        entering, forgetting, new, leaving = np.split(gates, 4, axis=1)
        cells = _sigmoid(forgetting) * cells + _sigmoid(entering) * np.tanh(new)
        hidden = _sigmoid(leaving) * np.tanh(cells)
        acting = np.tanh(hidden @ p["actor/w"] + p["actor/b"])
        return acting @ p["policy/w"] + p["policy/b"], np.stack([hidden, cells], axis=1)

    def act(
        self, image: np.ndarray, direction: np.ndarray, memory: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draws actions; see `MazeAgent.act`."""
        preferences, memory = self.preferences(image, direction, memory)
        return choose(preferences, rng.random(len(image))), memory

    @cached_property
    def _doubles(self) -> dict[str, np.ndarray]:
        return {name: array.astype(np.float64) for name, array in self.arrays.items()}


def choose(preferences: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Draws actions with the probabilities that are the softmax of preferences, shape (episodes, actions).

    `uniform` are random numbers from 0 to below 1, shape (episodes,).
    """
    powers = np.exp(preferences - preferences.max(axis=1, keepdims=True))
    ends = np.cumsum(powers, axis=1)
    wanted = uniform * ends[:, -1]
    return (wanted[:, None] >= ends[:, :-1]).sum(axis=1)


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return 0.5 + 0.5 * np.tanh(values / 2)
