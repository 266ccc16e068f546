"""Every architecture once, as a small description.

From a description come the parameter layout, the native op's plan and the Keras model, so that the three agree by
construction.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from neurozoo.errors import unknown_name

if TYPE_CHECKING:
    import keras

OBSERVATION_SHAPE = (84, 84, 4)  # height, width, stack; oldest frame first

PLAN_FIELDS = (
    "kind", "in_height", "in_width", "in_channels", "out_height", "out_width", "out_channels",
    "kernel", "stride", "weight_offset", "bias_offset", "relu", "cycles",
)  # fmt: skip
PLAN_KINDS = {"conv": 0, "recurrent_conv": 1, "dense": 2}


@dataclass(frozen=True)
class Layer:
    """One layer of a network.

    Attributes:
        name: Short name, also of the Keras layer whose output is this layer's activation.
        kind: `conv` and `recurrent_conv` pad as TensorFlow's SAME (an odd row or column goes to the end). A
            `recurrent_conv` repeats h <- conv(h) + h for `cycles` times, without bias or activation inside.
        units: Output channels or dense units; None stands for the number of actions.
        kernel: Side of the square kernel (convolutions).
        stride: Step of the kernel (convolutions).
        cycles: Repetitions (`recurrent_conv`).
        std: Standard deviation of the layer's initial output for unit inputs; weights are scaled by std / sqrt(fan in).
        activation: `relu` or `linear`.
    """

    name: str
    kind: Literal["conv", "recurrent_conv", "dense"]
    units: int | None = None
    kernel: int = 0
    stride: int = 1
    cycles: int = 1
    std: float = 1.0
    activation: Literal["relu", "linear"] = "relu"

    @property
    def has_bias(self) -> bool:
        """Whether the layer adds an evolved offset per unit."""
        return self.kind != "recurrent_conv"


@dataclass(frozen=True)
class PlacedLayer:
    """A layer with its shapes and its place in the parameter vector.

    Attributes:
        layer: The description.
        in_shape: (height, width, channels); dense layers see (1, 1, inputs), flattened row-major.
        out_shape: (height, width, channels); dense layers give (1, 1, units).
        weight_offset: Index of the first weight. Kernels are (height, width, in, out), dense weights (in, out).
        bias_offset: Index of the first bias, or -1.
    """

    layer: Layer
    in_shape: tuple[int, int, int]
    out_shape: tuple[int, int, int]
    weight_offset: int
    bias_offset: int

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """(kernel, kernel, in, out) or (in, out)."""
        if self.layer.kind == "dense":
            return (self.in_shape[2], self.out_shape[2])
        return (self.layer.kernel, self.layer.kernel, self.in_shape[2], self.out_shape[2])

    @property
    def weight_count(self) -> int:
        """Number of weights without biases."""
        return math.prod(self.weight_shape)

    @property
    def scale(self) -> np.float32:
        """Factor on the noise of the initial weights: std / sqrt(fan in)."""
        return np.float32(self.layer.std / math.sqrt(math.prod(self.weight_shape[:-1])))


@dataclass(frozen=True)
class Layout:
    """A network for a given number of actions: who sits where in the parameter vector.

    Attributes:
        network: The description.
        num_actions: Outputs of the last layer.
        observation_shape: (height, width, stack) of the input.
    """

    network: "Network"
    num_actions: int
    observation_shape: tuple[int, int, int] = OBSERVATION_SHAPE

    @cached_property
    def layers(self) -> tuple[PlacedLayer, ...]:
        """The layers in order, weights before bias, as published."""
        placed, offset, shape = [], 0, self.observation_shape
        for layer in self.network.layers:
            units = self.num_actions if layer.units is None else layer.units
            if layer.kind == "dense":
                in_shape, out_shape = (1, 1, math.prod(shape)), (1, 1, units)
            else:
                in_shape = shape
                out_shape = (math.ceil(shape[0] / layer.stride), math.ceil(shape[1] / layer.stride), units)
            weights = math.prod(PlacedLayer(layer, in_shape, out_shape, 0, 0).weight_shape)
            bias_offset = offset + weights if layer.has_bias else -1
            placed.append(PlacedLayer(layer, in_shape, out_shape, offset, bias_offset))
            offset += weights + (units if layer.has_bias else 0)
            shape = out_shape
        return tuple(placed)

    @cached_property
    def parameter_count(self) -> int:
        """Length of the parameter vector."""
        return sum(p.weight_count + (p.out_shape[2] if p.layer.has_bias else 0) for p in self.layers)

    def scale_vector(self) -> np.ndarray:
        """Returns the factor on the noise of each initial parameter: float32, shape (parameters,), 0 on biases.

        Source: specification of the published code (`Model` family); Such et al. 2017, arXiv:1712.06567.
        """
        scale = np.zeros(self.parameter_count, np.float32)
        for placed in self.layers:
            scale[placed.weight_offset : placed.weight_offset + placed.weight_count] = placed.scale
        return scale

    def initialise(self, noise: np.ndarray) -> np.ndarray:
        """Makes initial weights of a slice of noise: float32, both of shape (parameters,)."""
        return noise * self.scale_vector()

    def split(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Cuts a parameter vector into named arrays.

        Args:
            theta: float32, shape (parameters,).

        Returns:
            Views such as `conv1/w` of shape (kernel, kernel, in, out) and `conv1/b` of shape (out,), in order.

        Raises:
            ValueError: `theta` has another shape.
        """
        if theta.shape != (self.parameter_count,):
            raise ValueError(
                f"{self.network.name} with {self.num_actions} actions has {self.parameter_count:,} parameters, "
                f"but an array of shape {theta.shape} came"
            )
        arrays = {}
        for placed in self.layers:
            start = placed.weight_offset
            arrays[f"{placed.layer.name}/w"] = theta[start : start + placed.weight_count].reshape(placed.weight_shape)
            if placed.layer.has_bias:
                start = placed.bias_offset
                arrays[f"{placed.layer.name}/b"] = theta[start : start + placed.out_shape[2]]
        return arrays

    def plan(self) -> np.ndarray:
        """Returns the native op's plan: int64, shape (layers, len(PLAN_FIELDS)), one row per layer."""
        return np.array(
            [
                (
                    PLAN_KINDS[p.layer.kind], *p.in_shape, *p.out_shape, p.layer.kernel, p.layer.stride,
                    p.weight_offset, p.bias_offset, p.layer.activation == "relu", p.layer.cycles,
                )
                for p in self.layers
            ],
            np.int64,
        )  # fmt: skip

    def keras_model(self, theta: np.ndarray | None = None) -> "keras.Model":
        """Builds the network as a functional Keras model of standard layers only, so that anybody can load it.

        Args:
            theta: Optional weights, float32, shape (parameters,).

        Returns:
            A model from (batch, height, width, stack) float32 in [0, 1] to (batch, actions); each layer's activation
            is the output of the Keras layer of the same name.
        """
        import keras

        value = inputs = keras.Input(self.observation_shape, name="observation")
        trained = []
        for placed in self.layers:
            layer = placed.layer
            if layer.kind == "dense":
                if len(value.shape) > 2:
                    value = keras.layers.Flatten(name="flatten")(value)
                step = keras.layers.Dense(placed.out_shape[2], activation=layer.activation, name=layer.name)
                value = step(value)
            elif layer.kind == "conv":
                step = keras.layers.Conv2D(
                    placed.out_shape[2],
                    layer.kernel,
                    layer.stride,
                    "same",
                    activation=layer.activation,
                    name=layer.name,
                )
                value = step(value)
            else:
                step = keras.layers.Conv2D(
                    placed.out_shape[2], layer.kernel, 1, "same", use_bias=False, name=f"{layer.name}_kernel"
                )
                for cycle in range(layer.cycles):
                    value = keras.layers.Add(name=f"{layer.name}_cycle{cycle + 1}")([step(value), value])
                value = keras.layers.Activation(layer.activation, name=layer.name)(value)
            trained.append((layer, step))
        model = keras.Model(inputs, value, name=self.network.name)
        if theta is not None:
            arrays = self.split(theta)
            for layer, step in trained:
                step.set_weights([arrays[f"{layer.name}/{part}"] for part in ("wb" if layer.has_bias else "w")])
        return model


@dataclass(frozen=True)
class Network:
    """An architecture.

    Attributes:
        name: Our name, in snake_case.
        published_name: The class name in the published code.
        layers: From observation to actions.
    """

    name: str
    published_name: str
    layers: tuple[Layer, ...] = field(repr=False)

    def layout(self, num_actions: int, observation_shape: tuple[int, int, int] = OBSERVATION_SHAPE) -> Layout:
        """Places the layers for a game's number of actions."""
        return Layout(self, num_actions, observation_shape)


_OUT = Layer("out", "dense", std=0.1, activation="linear")
_LARGE = (
    Layer("conv1", "conv", 32, kernel=8, stride=4),
    Layer("conv2", "conv", 64, kernel=4, stride=2),
    Layer("conv3", "conv", 64, kernel=3, stride=1),
    Layer("fc", "dense", 512),
    _OUT,
)

# Sources: Mnih et al. 2015 (`large`), Mnih et al. 2013 (`small`), as published with Such et al. 2017,
# arXiv:1712.06567; Deep Neuroevolution Toolbox (`recurrent_large`).
NETWORKS = {
    network.name: network
    for network in (
        Network("large", "LargeModel", _LARGE),
        Network(
            "small",
            "Model",
            (
                Layer("conv1", "conv", 16, kernel=8, stride=4),
                Layer("conv2", "conv", 32, kernel=4, stride=2),
                Layer("fc", "dense", 256),
                _OUT,
            ),
        ),
        Network(
            "recurrent_large",
            "RecurrentLargeModel",
            (_LARGE[0], Layer("recu1", "recurrent_conv", 32, kernel=3, cycles=20, std=0.1), *_LARGE[1:]),
        ),
    )
}


def get_network(name: str) -> Network:
    """Finds an architecture by our name or by the published class name.

    Raises:
        NeurozooError: No such network; the message proposes the nearest.
    """
    for network in NETWORKS.values():
        if name in (network.name, network.published_name):
            return network
    raise unknown_name("network", name, NETWORKS)
