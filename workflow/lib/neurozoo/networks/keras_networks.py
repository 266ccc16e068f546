"""Keras networks, which learners of returns train from rollouts; the native core does not play them.

Most have a policy head and a baseline head, the action and reward before as inputs, and a memory if wanted. Q-networks
have action values instead, of which the largest is their baseline. `neurozoo.networks.catalogue` has the descriptions.

Sources: Espeholt et al. 2018, arXiv:1802.01561, and the code of impala_horovod_gym (`agent.py`); Ba et al. 2016,
arXiv:1607.06450 (layer normalisation).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.networks.chains import OBSERVATION_SHAPE, too_small_for
from neurozoo.networks.checks import SHOW, check_choices, check_counts, check_layer_names, check_network_name
from neurozoo.networks.layers import Layer, PlacedLayer, split_parameters
from neurozoo.networks.parameter_arrays import (
    GATES,
    LSTM,
    ParameterArray,
    lstm_arrays,
    orthogonal,
    truncated_normal,
    weight_arrays,
)
from neurozoo.networks.torso import convolutions, out_size, residual_section, weighted

if TYPE_CHECKING:
    import keras

INPUTS = ("observation", "previous_action", "previous_reward")  # of the Keras model, before those of the memory
MEMORY = ("hidden_state", "cell_state")  # of an LSTM: names of the inputs
POLICY, Q_VALUES, BASELINE = "policy", "q_values", "baseline"  # names of layers
KERAS_NAMES = {LSTM: "lstm_kernel"}  # where the layer with the weights is not the one with the activation
_GAINS = {POLICY: 0.01, BASELINE: 1.0, LSTM: 1.0}  # of orthogonal weights; of others: sqrt(2)
# Fields of layers that a network with heads does not read: its learner draws the weights.
_IGNORED = {"bias": True, "gain": 1.0, "std": 1.0, "initialisation": "fan_in", "vector_std": 1.0}
InitialWeights = Literal["fan_in", "orthogonal"]
Precision = Literal["float32", "mixed_bfloat16"]


@dataclass(frozen=True)
class KerasNetwork:
    """An architecture with two heads: of a policy and of its baseline, or of action values and the largest of them.

    Raises:
        NeurozooError: A value is not allowed; the message names the network.
    """

    # What its layers can compute in, for a learner
    precisions: ClassVar[tuple[Precision, ...]] = ("float32", "mixed_bfloat16")
    name: str  # our name, in snake_case
    published_names: tuple[str, ...]  # the class names in published code; empty if there is none
    # The convolutions, and residual sections: a 3 x 3 convolution, a 3 x 3 max-pool of stride 2, and two residual
    # blocks (ReLU, convolution, ReLU, convolution, add the input)
    torso: tuple[Layer, ...] = field(repr=False)
    units: int  # units of the dense layer after the torso, which is normalised if the torso's last layer is
    lstm_units: int = 0  # units of the LSTM after that; 0 for a network without memory
    # `policy`: logits, and a baseline of its own. `q_values`: action values, which depend on nothing but the
    # observation.
    head: Literal["policy", "q_values"] = "policy"

    def __post_init__(self) -> None:
        whose = f"The network {self.name!r}"
        check_network_name(self.name)
        check_choices(self, f"the network {self.name!r}")
        check_counts(self, {"units": 1, "lstm_units": 0}, whose)
        if not self.torso or any(layer.kind not in ("conv", "residual") for layer in self.torso):
            raise NeurozooError(f"{whose} should have a torso of convolutions and residual sections. {SHOW}")
        for layer in self.torso:
            check_counts(layer, {"units": 1}, f"The layer {layer.name!r}")
            ignored = [name for name, value in _IGNORED.items() if getattr(layer, name) != value]
            ignored += ["normalisation"] if layer.normalisation not in (None, "layer") else []
            if ignored:
                raise NeurozooError(
                    f"{whose} has heads, so the {ignored[0]} of its layer {layer.name!r} cannot be "
                    f"{getattr(layer, ignored[0])!r}: it would have no effect. {SHOW}"
                )
        taken = (*INPUTS, *MEMORY, BASELINE, "core_input", "torso_relu")
        check_layer_names([layer.name for layer in self.layers], whose, taken=taken)

    @property
    def published_name(self) -> str | None:
        """The class name in the published code, or None."""
        return self.published_names[0] if self.published_names else None

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers whose activations are shown, from observation to policy or action values."""
        memory = (Layer(LSTM, "lstm", self.lstm_units, activation="linear"),) if self.lstm_units else ()
        return (*self.torso, self.dense, *memory, Layer(self.head, "dense", activation="linear"))

    @property
    def dense(self) -> Layer:
        """The dense layer after the torso."""
        return Layer("fc", "dense", self.units, normalisation=self.torso[-1].normalisation)

    def layout(self, num_actions: int, observation_shape: tuple[int, int, int] = OBSERVATION_SHAPE) -> "KerasLayout":
        """Returns the layout for a number of actions and an observation shape.

        Raises:
            NeurozooError: The observation is too small for a kernel without padding.
        """
        side = min(observation_shape[:2])
        for layer in self.torso:
            side = out_size(layer, side)
        if side < 1:
            raise too_small_for(self.name, observation_shape)
        return KerasLayout(self, num_actions, observation_shape)


@dataclass(frozen=True)
class KerasLayout:
    """A Keras network for a given number of actions and observation shape. It has the interface of `Layout`."""

    network: KerasNetwork
    num_actions: int
    observation_shape: tuple[int, int, int] = OBSERVATION_SHAPE

    needs_reference = False

    @property
    def state_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of what the network remembers of one environment: the LSTM's output and its cells; () without one."""
        return ((self.network.lstm_units,),) * len(MEMORY) if self.network.lstm_units else ()

    @cached_property
    def layers(self) -> tuple[PlacedLayer, ...]:
        """The layers whose activations are shown, with their shapes."""
        starts: dict[str, int] = {}
        offset = 0
        for array in self.arrays:
            starts.setdefault(array.layer, offset)
            offset += math.prod(array.shape)
        placed, shape = [], self.observation_shape
        for layer in self.network.layers:
            if layer.kind in ("dense", "lstm"):
                out_shape = (1, 1, layer.units or self.num_actions)
            else:
                assert layer.units is not None  # convolutions have channels
                out_shape = (out_size(layer, shape[0]), out_size(layer, shape[1]), layer.units)
            placed.append(PlacedLayer(layer, shape, out_shape, starts.get(convolutions(layer, 0)[0][0], 0)))
            shape = out_shape
        return tuple(placed)

    @cached_property
    def arrays(self) -> tuple[ParameterArray, ...]:
        """The parameter arrays in the order of the parameter vector."""
        arrays: list[ParameterArray] = []

        def normalise(layer: Layer, *shape: int) -> None:
            if layer.normalisation:
                arrays.append(ParameterArray(f"{layer.name}_norm", "gain", shape, 1.0))
                arrays.append(ParameterArray(f"{layer.name}_norm", "offset", shape, 0.0))

        height, width, channels = self.observation_shape
        for layer in self.network.torso:
            assert layer.units is not None  # convolutions have channels
            for name, inputs in convolutions(layer, channels):
                arrays += weight_arrays(name, layer.kernel, layer.kernel, inputs, layer.units)
            height, width, channels = out_size(layer, height), out_size(layer, width), layer.units
            normalise(layer, height, width, channels)
        units, memory = self.network.units, self.network.lstm_units
        arrays += weight_arrays("fc", height * width * channels, units)
        normalise(self.network.dense, units)
        if self.network.head == Q_VALUES:
            return (*arrays, *weight_arrays(Q_VALUES, units, self.num_actions))
        inputs = units + 1 + self.num_actions  # with the reward and the action before
        arrays += lstm_arrays(inputs, memory) if memory else []
        inputs = memory or inputs
        return (*arrays, *weight_arrays(POLICY, inputs, self.num_actions), *weight_arrays(BASELINE, inputs, 1))

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameter arrays, such as `conv1/w`, in the order of the parameter vector."""
        return {array.name: array.shape for array in self.arrays}

    @cached_property
    def parameter_count(self) -> int:
        """Length of the parameter vector."""
        return sum(math.prod(array.shape) for array in self.arrays)

    def draw(self, random: np.random.Generator, rule: InitialWeights = "fan_in") -> np.ndarray:
        """Draws initial parameters: float32, shape (parameters,).

        `fan_in`: weights are normal with a standard deviation of 1 / sqrt(fan in), truncated at two of them; those of
        the LSTM are uniform (Glorot and Bengio 2010); biases are 0, and 1 for the forget gates. `orthogonal`:
        orthonormal vectors times sqrt(2), but 0.01 for the policy, and 1 for baseline and LSTM; all biases are 0 (as in
        CleanRL). With both, gains are 1 and offsets 0.
        """
        drawn = [self._drawn(array, random, rule) for array in self.arrays]
        return np.concatenate([values.ravel().astype(np.float32) for values in drawn])

    def _drawn(self, array: ParameterArray, random: np.random.Generator, rule: InitialWeights) -> np.ndarray:
        if array.part not in ("w", "u"):
            values = np.full(array.shape, array.bound)
            if array.layer == LSTM and rule == "fan_in":
                values[self.network.lstm_units : 2 * self.network.lstm_units] = 1.0  # the forget gates
            return values
        if rule == "orthogonal":
            gain = np.float32(_GAINS.get(array.layer, math.sqrt(2)))
            return gain * orthogonal(random, math.prod(array.shape[:-1]), array.shape[-1])
        if array.layer == LSTM:
            return random.uniform(-array.bound, array.bound, array.shape)
        return array.bound * truncated_normal(random, array.shape)

    def split(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Splits a parameter vector, float32, shape (parameters,), into named views, in order; see `Layout.split`.

        Raises:
            ValueError: `theta` has another shape.
        """
        return split_parameters(theta, self.shapes, network=f"{self.network.name} with {self.num_actions} actions")

    # ---- Keras

    def keras_model(
        self, theta: np.ndarray | None = None, reference: None = None, *, dtype: Precision = "float32"
    ) -> "keras.Model":
        """Builds the network for one step as a functional Keras model, so that plain Keras can load it.

        Args:
            theta: Optional weights, float32, shape (parameters,).
            reference: None, since the network has no virtual batch normalisation.
            dtype: What the layers up to the dense one compute in: with `mixed_bfloat16` in bfloat16, for a learner.
                Weights, memory, heads and outputs are float32 in any case.

        Returns:
            A model with the inputs `INPUTS` and, with an LSTM, `MEMORY`: observation, float32 (bfloat16 with
            `mixed_bfloat16`), (batch, height, width, channels); previous action, int32, (batch,); previous reward,
            float32, (batch,); and the memory, float32, (batch, units) each. Its outputs are logits or action values
            (batch, actions), baseline (batch, 1) and the new memory. The output of each Keras layer is the activation
            of the layer of the same name. A Q-network ignores the previous action and reward.
        """
        import keras

        inner = keras.DTypePolicy(dtype)
        observation, action, reward, *states = inputs = self._inputs(inner)
        value = observation
        for layer in self.network.torso:
            value = (residual_section if layer.kind == "residual" else weighted)(value, layer, inner)
        if self.network.torso[-1].activation == "linear":
            value = keras.layers.Activation("relu", name="torso_relu", dtype=inner)(value)
        value = keras.layers.Flatten(name="flatten", dtype=inner)(value)
        value = weighted(value, self.network.dense, inner)
        if self.network.head == Q_VALUES:
            values = keras.layers.Dense(self.num_actions, name=Q_VALUES)(value)
            each = keras.layers.Reshape((self.num_actions, 1), name="each_value")(values)
            largest = keras.layers.GlobalMaxPooling1D(name=BASELINE)(each)
            return self._model(inputs, [values, largest], theta)
        clipped = keras.ops.expand_dims(keras.ops.clip(reward, -1.0, 1.0), -1)
        taken = keras.ops.one_hot(action, self.num_actions)
        value = keras.layers.Concatenate(name="core_input")([value, clipped, taken])
        states_after: list = []
        if states:
            value, *states_after = self._remembered(value, states)
        logits = keras.layers.Dense(self.num_actions, name=POLICY)(value)
        baseline = keras.layers.Dense(1, name=BASELINE)(value)
        return self._model(inputs, [logits, baseline, *states_after], theta)

    def _inputs(self, dtype: "keras.DTypePolicy") -> list:
        """Returns the inputs `INPUTS` and `MEMORY`."""
        import keras

        observation = keras.Input(self.observation_shape, name=INPUTS[0], dtype=dtype.compute_dtype)
        history = [keras.Input((), name=INPUTS[1], dtype="int32"), keras.Input((), name=INPUTS[2])]
        states = [keras.Input(shape, name=name) for shape, name in zip(self.state_shapes, MEMORY, strict=False)]
        return [observation, *history, *states]

    def _remembered(self, value: Any, states: list) -> list:
        """Returns the output of the LSTM after one step, and its new memory."""
        import keras

        step = keras.layers.Reshape((1, value.shape[-1]), name="time")(value)
        memory = keras.layers.LSTM(self.network.lstm_units, return_state=True, unroll=True, name=KERAS_NAMES[LSTM])
        value, *states_after = memory(step, initial_state=states)
        return [keras.layers.Activation("linear", name=LSTM)(value), *states_after]

    def _model(self, inputs: list, outputs: list, theta: np.ndarray | None) -> "keras.Model":
        import keras

        model = keras.Model(inputs, outputs, name=self.network.name)
        if theta is not None:
            self.assign(model, theta)
        return model

    def _keras_name(self, layer: str) -> str:
        """Returns the name of the Keras layer that has the weights of a layer."""
        normalised = {each.name for each in (*self.network.torso, self.network.dense) if each.normalisation}
        return f"{layer}_kernel" if layer in normalised else KERAS_NAMES.get(layer, layer)

    def variables(self, model: "keras.Model") -> list:
        """Returns the weights of a model in the order of the parameter vector."""
        by_layer = {array.layer: model.get_layer(self._keras_name(array.layer)) for array in self.arrays}
        return [variable for layer in by_layer.values() for variable in layer.weights]

    def assign(self, model: "keras.Model", theta: np.ndarray) -> None:
        """Sets the weights of a model, from float32, shape (parameters,)."""
        for variable, values in zip(self.variables(model), self.split(theta).values(), strict=True):
            variable.assign(values)

    def theta_of(self, model: "keras.Model") -> np.ndarray:
        """Returns the weights of a model: float32, shape (parameters,)."""
        return np.concatenate([np.asarray(variable).ravel() for variable in self.variables(model)])

    def unroll(self, model: "keras.Model", inputs: Sequence[Any], is_first: Any, state: Sequence[Any]) -> tuple:
        """Runs a model over several steps of several environments; for a learner, inside of its compiled update.

        The convolutions see all steps at once. The memory is cleared before each step at which an episode begins.

        Args:
            model: From `keras_model`.
            inputs: The arrays of `INPUTS`, with shapes (time, batch, ...).
            is_first: bool, shape (time, batch): whether an episode begins with the step.
            state: The memory before the first step, float32, (batch, units) each; () for a network without.

        Returns:
            Logits or action values, shape (time, batch, actions), and baseline, shape (time, batch).
        """
        import keras

        ops = keras.ops
        time, batch = inputs[0].shape[:2]
        flat = [ops.reshape(each, (-1, *each.shape[2:])) for each in inputs]
        if not state:
            logits, baseline = model(flat)
        else:
            core = self._core(model, flat)
            cell = model.get_layer(KERAS_NAMES[LSTM]).cell
            # Unstacked: the gradient of an indexed step would be as large as all steps.
            seen = ops.unstack(ops.reshape(ops.matmul(core, cell.kernel) + cell.bias, (time, batch, -1)), time)
            keeps = ops.unstack(1.0 - ops.expand_dims(ops.cast(is_first, "float32"), -1), time)
            hidden, cells = state
            outputs = []
            for step in range(time):
                hidden, cells = hidden * keeps[step], cells * keeps[step]
                entering, forgetting, new, leaving = ops.split(
                    seen[step] + ops.matmul(hidden, cell.recurrent_kernel), GATES, axis=-1
                )
                cells = ops.sigmoid(forgetting) * cells + ops.sigmoid(entering) * ops.tanh(new)
                hidden = ops.sigmoid(leaving) * ops.tanh(cells)
                outputs.append(hidden)
            value = ops.reshape(ops.stack(outputs), (time * batch, -1))
            logits, baseline = self._heads(model, value)
        return ops.reshape(logits, (time, batch, -1)), ops.reshape(baseline, (time, batch))

    def _core(self, model: "keras.Model", inputs: Sequence[Any]) -> Any:
        """Returns the inputs of the memory, shape (steps, units), for `INPUTS` of shape (steps, ...)."""
        import keras

        return keras.Model(model.inputs[: len(INPUTS)], model.get_layer("core_input").output)(inputs)

    def _heads(self, model: "keras.Model", value: Any) -> tuple[Any, Any]:
        """Returns logits and baseline for outputs of the memory, shape (steps, units)."""
        return model.get_layer(POLICY)(value), model.get_layer(BASELINE)(value)
