"""The recurrent network for mazes: a view of 5 x 5 cells and a compass, an LSTM, and two heads.

`neurozoo.environments.mazes` has its observations. The core plays with the same weights (native/core/maze_network.cc).

Source: section 4.4 of the description of DSAGE; Parker-Holder et al. 2022, arXiv:2203.01302 (ACCEL's student).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.networks.keras_networks import (
    BASELINE,
    POLICY,
    InitialWeights,
    KerasLayout,
    KerasNetwork,
    Precision,
)
from neurozoo.networks.layers import Layer
from neurozoo.networks.parameter_arrays import LSTM, ParameterArray, lstm_arrays, orthogonal, weight_arrays

if TYPE_CHECKING:
    import keras

# x before y: kind, colour and state of cells as in MiniGrid, and the direction in each cell.
MAZE_OBSERVATION = (5, 5, 4)
SCALE = 10  # kinds, colours and states are divided by it
DIRECTIONS = 4
VIEW, DIRECTION, ACTOR, CRITIC = "view", "direction", "actor", "critic"  # names of layers
_CHANNELS, _KERNEL, _COMPASS, _HIDDEN = 16, 3, 5, 32
_SEEN = (MAZE_OBSERVATION[0] - _KERNEL + 1) * (MAZE_OBSERVATION[1] - _KERNEL + 1) * _CHANNELS
_GAINS = {ACTOR: math.sqrt(2), CRITIC: math.sqrt(2), POLICY: 0.01}  # of others: 1


@dataclass(frozen=True)
class MazeNetwork(KerasNetwork):
    """The architecture, with two heads. It sees neither the action nor the reward before."""

    precisions: ClassVar[tuple[Precision, ...]] = ("float32",)  # before the memory, there is one small convolution

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers whose activations are shown, from observation to policy."""
        return (
            *self.torso,
            Layer(LSTM, "lstm", self.lstm_units, activation="linear"),
            Layer(ACTOR, "dense", self.units, activation="tanh"),
            Layer(POLICY, "dense", activation="linear"),
        )

    def layout(
        self, num_actions: int, observation_shape: tuple[int, int, int] = MAZE_OBSERVATION
    ) -> "MazeNetworkLayout":
        """Returns the layout for a number of actions.

        Raises:
            NeurozooError: The observations are not those of mazes.
        """
        if tuple(observation_shape) != MAZE_OBSERVATION:
            raise NeurozooError(
                f"{self.name!r} sees mazes, as arrays of shape {MAZE_OBSERVATION}, but the game's observations have "
                f"the shape {tuple(observation_shape)}. Choose the game maze, or another network."
            )
        return MazeNetworkLayout(self, num_actions, MAZE_OBSERVATION)


@dataclass(frozen=True)
class MazeNetworkLayout(KerasLayout):
    """The network for a number of actions; see `KerasLayout`."""

    @cached_property
    def arrays(self) -> tuple[ParameterArray, ...]:
        """The parameter arrays in the order of the parameter vector, which is that of the core."""
        units, hidden = self.network.lstm_units, self.network.units
        return (
            *weight_arrays(VIEW, _KERNEL, _KERNEL, self.observation_shape[2] - 1, _CHANNELS),
            *weight_arrays(DIRECTION, DIRECTIONS, _COMPASS),
            *lstm_arrays(_SEEN + _COMPASS, units),
            *weight_arrays(ACTOR, units, hidden),
            *weight_arrays(POLICY, hidden, self.num_actions),
            *weight_arrays(CRITIC, units, hidden),
            *weight_arrays(BASELINE, hidden, 1),
        )

    def draw(self, random: np.random.Generator, rule: InitialWeights = "orthogonal") -> np.ndarray:
        """Draws initial parameters: float32, shape (parameters,).

        `orthogonal`, as the original: Glorot's uniform for the convolution; orthogonal for the others, with a gain of
        sqrt(2) for hidden layers and 0.01 for the policy; all biases are 0. `fan_in`: see `KerasLayout`.
        """
        return super().draw(random, rule)

    def _drawn(self, array: ParameterArray, random: np.random.Generator, rule: InitialWeights) -> np.ndarray:
        if rule != "orthogonal" or array.part == "b":
            return super()._drawn(array, random, rule)
        if array.layer == VIEW:
            bound = math.sqrt(6 / (math.prod(array.shape[:2]) * (array.shape[2] + array.shape[3])))
            return random.uniform(-bound, bound, array.shape)
        if array.layer == DIRECTION:  # PyTorch's default, which the original leaves
            return random.uniform(-0.5, 0.5, array.shape)
        return np.float32(_GAINS.get(array.layer, 1.0)) * orthogonal(random, *array.shape)

    def keras_model(
        self, theta: np.ndarray | None = None, reference: None = None, *, dtype: Precision = "float32"
    ) -> "keras.Model":
        """Builds the network for one step; see `KerasLayout.keras_model`. It knows no other `dtype`.

        Returns:
            A model with the inputs of all Keras networks. Observations are whole numbers, float32, (batch, 5, 5, 4);
            the action and the reward before have no effect.
        """
        import keras

        ops, layers = keras.ops, keras.layers
        observation, _, _, *states = inputs = self._inputs(keras.DTypePolicy(dtype))
        seen = layers.Conv2D(_CHANNELS, _KERNEL, activation="relu", name=VIEW)(observation[..., :-1] / SCALE)
        seen = layers.Flatten(name="flatten")(seen)
        compass = ops.one_hot(ops.cast(observation[:, 0, 0, -1], "int32"), DIRECTIONS)
        compass = layers.Dense(_COMPASS, name=DIRECTION)(compass)
        value, *states_after = self._remembered(layers.Concatenate(name="core_input")([seen, compass]), states)
        acting = layers.Dense(self.network.units, activation="tanh", name=ACTOR)(value)
        judging = layers.Dense(self.network.units, activation="tanh", name=CRITIC)(value)
        logits = layers.Dense(self.num_actions, name=POLICY)(acting)
        baseline = layers.Dense(1, name=BASELINE)(judging)
        return self._model(inputs, [logits, baseline, *states_after], theta)

    def _core(self, model: "keras.Model", inputs: Sequence[Any]) -> Any:
        import keras

        return keras.Model(model.inputs[0], model.get_layer("core_input").output)(inputs[0])

    def _heads(self, model: "keras.Model", value: Any) -> tuple[Any, Any]:
        acting, judging = model.get_layer(ACTOR)(value), model.get_layer(CRITIC)(value)
        return model.get_layer(POLICY)(acting), model.get_layer(BASELINE)(judging)
