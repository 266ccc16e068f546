"""Network descriptions: lists of layers.

The parameter layout, the native op's plan and the Keras model all derive from one description, so they always agree.
`neurozoo.networks.catalogue` has the descriptions.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.networks.checks import check_chain, check_layer_fields

if TYPE_CHECKING:
    import keras

OBSERVATION_SHAPE = (84, 84, 4)  # height, width, stack; oldest frame first
EPSILON = 1e-3  # of virtual batch normalisation

VECTORS = {"input": "iotas", "gated": "gates"}  # what a recurrent layer has besides its kernel


@dataclass(frozen=True)
class Layer:
    """One layer of a network.

    Attributes:
        name: Short name. The Keras layer whose output is this layer's activation has the same name.
        kind: `conv`, `dense`, or `recurrent_conv`, which repeats h <- conv(h) + h `cycles` times. A `recurrent_conv`
            has no bias and keeps the shape. Only in Keras networks: `residual` (a section) and `lstm`.
        units: Output channels or dense units; None for the number of actions.
        kernel: Side of the square kernel (convolutions).
        stride: Stride of the kernel (convolutions).
        padding: Padding of a `conv`. `same`: zeros around the input, as in TensorFlow; the output has one position per
            `stride` pixels, and an odd row or column of zeros goes to the end. `valid`: no padding.
        cycles: Repetitions (`recurrent_conv`).
        std: Standard deviation of the layer's initial output for unit inputs, if `initialisation` is `fan_in`.
        activation: `relu`, `tanh` or `linear`.
        bias: Whether the layer has one bias per unit.
        initialisation: Factor on the noise that gives the weights. `fan_in`: std / sqrt(fan in). `glorot`: std *
            sqrt(2 / ((in + out) * kernel^2)). `multiplied_glorot`: the same with the fraction inverted, as published.
            `unit_columns`: per unit, the factor that makes the length of its weights `std`.
        skip: What a `recurrent_conv` adds in each cycle. `state`: h. `input`: the layer's input times one parameter
            per channel, the iotas. `gated`: h, but each channel has a parameter, its gate, and changes only in the
            first round(|gate| * width of the map) cycles. There are as many cycles as the map is wide.
        inner_relu: Whether each cycle ends with a ReLU (`recurrent_conv`).
        vector_std: Factor on the noise of the initial iotas or gates.
        normalisation: Virtual batch normalisation: scales the mean and standard deviation over a reference batch to 0
            and 1. `before_bias`: then adds the bias. `after_bias`: the bias is added before; then follow a gain and an
            offset per unit, which are parameters. Only in Keras networks: `layer`, layer normalisation, which scales
            mean and standard deviation over all outputs of the layer, after the bias; then follow a gain and an offset
            per output.
        gain: Constant factor, applied before the activation. With a ReLU the order makes no difference.
    """

    name: str
    kind: Literal["conv", "recurrent_conv", "dense", "residual", "lstm"]
    units: int | None = None
    kernel: int = 0
    stride: int = 1
    padding: Literal["same", "valid"] = "same"
    cycles: int = 1
    std: float = 1.0
    activation: Literal["relu", "tanh", "linear"] = "relu"
    bias: bool = True
    initialisation: Literal["fan_in", "glorot", "multiplied_glorot", "unit_columns"] = "fan_in"
    skip: Literal["state", "input", "gated"] = "state"
    inner_relu: bool = False
    vector_std: float = 1.0
    normalisation: Literal["before_bias", "after_bias", "layer"] | None = None
    gain: float = 1.0

    def __post_init__(self) -> None:
        check_layer_fields(self)

    def out_size(self, size: int) -> int:
        """Returns the height (width) of a convolution's output for an input of height (width) `size`."""
        return (size - self.kernel) // self.stride + 1 if self.padding == "valid" else math.ceil(size / self.stride)

    @property
    def has_bias(self) -> bool:
        """Whether the layer has one bias per unit."""
        return self.bias and self.kind != "recurrent_conv"

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the layer's parameter arrays, in the order of the parameter vector."""
        vector = (VECTORS[self.skip],) if self.skip in VECTORS else ()
        affine = ("offset", "gain") if self.normalisation == "after_bias" else ()
        return (*vector, "w", *(("b",) if self.has_bias else ()), *affine)


@dataclass(frozen=True)
class PlacedLayer:
    """A layer with its shapes and its place in the parameter vector.

    Attributes:
        layer: The description.
        in_shape: (height, width, channels); dense layers see (1, 1, inputs), flattened row-major.
        out_shape: (height, width, channels); dense layers give (1, 1, units).
        start: Index of the first parameter.
    """

    layer: Layer
    in_shape: tuple[int, int, int]
    out_shape: tuple[int, int, int]
    start: int

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """(kernel, kernel, in, out) or (in, out)."""
        if self.layer.kind == "dense":
            return (self.in_shape[2], self.out_shape[2])
        return (self.layer.kernel, self.layer.kernel, self.in_shape[2], self.out_shape[2])

    @property
    def weight_count(self) -> int:
        """Number of weights, without biases and other parameters."""
        return math.prod(self.weight_shape)

    @cached_property
    def places(self) -> dict[str, slice]:
        """The slice of the parameter vector of each parameter array."""
        places, offset = {}, self.start
        for part in self.layer.parts:
            stop = offset + (self.weight_count if part == "w" else self.out_shape[2])
            places[part] = slice(offset, stop)
            offset = stop
        return places

    @property
    def stop(self) -> int:
        """Index after the last parameter."""
        return max(place.stop for place in self.places.values())

    def offset(self, part: str | None) -> int:
        """Returns the index where an array starts, or -1 if the layer does not have it."""
        return self.places[part].start if part in self.places else -1

    @property
    def weight_offset(self) -> int:
        """Index of the first weight. Kernels are (height, width, in, out), dense weights (in, out)."""
        return self.offset("w")

    @property
    def bias_offset(self) -> int:
        """Index of the first bias, or -1 without biases."""
        return self.offset("b")

    @property
    def scale(self) -> np.float32:
        """Factor on the noise of the initial weights. For `unit_columns`, the length of each unit's weights.

        Source: specification of the published code, section 2.4; Glorot and Bengio 2010 (`glorot`).
        """
        layer = self.layer
        fans = sum(self.weight_shape[-2:]) * math.prod(self.weight_shape[:-2])  # (in + out) * kernel^2
        factors = {
            "fan_in": 1 / math.sqrt(math.prod(self.weight_shape[:-1])),
            "glorot": math.sqrt(2 / fans),
            "multiplied_glorot": math.sqrt(fans / 2),
            "unit_columns": 1.0,
        }
        return np.float32(layer.std * factors[layer.initialisation])

    def gate_cycles(self, gates: np.ndarray) -> np.ndarray:
        """Returns the number of cycles in which each channel of a gated layer changes: int64, shape (channels,)."""
        width = self.in_shape[1]
        return np.minimum(np.rint(np.abs(gates * np.float32(width))), width).astype(np.int64)

    def initialise(self, noise: np.ndarray) -> np.ndarray:
        """Makes the layer's initial parameters from noise. Both are float32, shape (stop - start,)."""
        theta = noise * np.float32(0.0)  # biases start at 0 or -0 by the sign of the noise, as published
        for part, place in self.places.items():
            here = slice(place.start - self.start, place.stop - self.start)
            if part == "w" and self.layer.initialisation == "unit_columns":
                theta[here] = _with_unit_columns(noise[here].reshape(-1, self.out_shape[2]), self.scale).ravel()
            elif part == "w":
                theta[here] = noise[here] * self.scale
            elif part in VECTORS.values():
                theta[here] = noise[here] * np.float32(self.layer.vector_std)
            elif part == "gain":
                theta[here] = 1.0
        return theta


def _with_unit_columns(noise: np.ndarray, length: np.float32) -> np.ndarray:
    """Scales each column to a length. Sums from the first row to the last, like the native core, for the same bits.

    Source: specification of the published code, section 1.7.
    """
    sums = np.zeros(noise.shape[1])
    for squares in np.square(noise, dtype=np.float64):
        sums += squares
    return noise * (np.float64(length) / np.sqrt(sums)).astype(np.float32)


@dataclass(frozen=True)
class Layout:
    """A network for a given number of actions and observation shape, with the place of each parameter.

    Attributes:
        network: The description.
        num_actions: Outputs of the last layer.
        observation_shape: (height, width, channels) of the input; a vector of n numbers is (1, 1, n).
    """

    network: "Network"
    num_actions: int
    observation_shape: tuple[int, int, int] = OBSERVATION_SHAPE

    @cached_property
    def layers(self) -> tuple[PlacedLayer, ...]:
        """The layers in order, with their places in the parameter vector. Weights come before biases, as published."""
        placed, offset, shape = [], 0, self.observation_shape
        for layer in self.network.layers:
            units = self.num_actions if layer.units is None else layer.units
            if layer.kind == "dense":
                in_shape, out_shape = (1, 1, math.prod(shape)), (1, 1, units)
            else:
                units = shape[2] if layer.kind == "recurrent_conv" else units
                in_shape = shape
                out_shape = (layer.out_size(shape[0]), layer.out_size(shape[1]), units)
            placed.append(PlacedLayer(layer, in_shape, out_shape, offset))
            offset, shape = placed[-1].stop, out_shape
        return tuple(placed)

    @cached_property
    def parameter_count(self) -> int:
        """Length of the parameter vector."""
        return self.layers[-1].stop

    @property
    def needs_reference(self) -> bool:
        """Whether it needs more than its weights: a batch for virtual batch normalisation, or statistics."""
        return self.needs_statistics or any(layer.normalisation for layer in self.network.layers)

    @property
    def needs_statistics(self) -> bool:
        """Whether its reference is the mean and the standard deviation of observations, one row each."""
        return self.network.observation_clip is not None

    def normalise(self, observation: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Scales an observation as a network with statistics does: float32, of the same shape.

        Args:
            observation: float32, shape (..., height, width, channels).
            reference: Mean and standard deviation: float32, shape (2, height, width, channels).
        """
        clip = self.network.observation_clip
        assert clip is not None  # asked only of networks with statistics
        mean, deviation = reference
        return np.clip((observation - mean) / deviation, -clip, clip)

    def initialise(self, noise: np.ndarray) -> np.ndarray:
        """Makes the initial parameters from noise. Both are float32, shape (parameters,)."""
        return np.concatenate([placed.initialise(noise[placed.start : placed.stop]) for placed in self.layers])

    def split(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Splits a parameter vector into named arrays.

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
                f"but got an array of shape {theta.shape}"
            )
        arrays = {}
        for placed in self.layers:
            for part, place in placed.places.items():
                shape = placed.weight_shape if part == "w" else (-1,)
                arrays[f"{placed.layer.name}/{part}"] = theta[place].reshape(shape)
        return arrays

    def check_reference(self, reference: np.ndarray | None) -> np.ndarray:
        """Returns a valid reference batch as float32, shape (batch, height, width, channels).

        Raises:
            NeurozooError: The batch is missing or has a wrong shape.
        """
        shape = ", ".join(map(str, self.observation_shape))
        batch = 2 if self.needs_statistics else "batch"
        expected = f"The network {self.network.name!r} needs a reference batch of shape ({batch}, {shape})"
        if reference is None:
            raise NeurozooError(f"{expected}, but got none. Collect one, or load that of its run.")
        reference = np.asarray(reference, np.float32)
        is_complete = len(reference) == 2 if self.needs_statistics else len(reference) > 0
        if reference.ndim != 4 or reference.shape[1:] != self.observation_shape or not is_complete:
            raise NeurozooError(f"{expected}, but got one of shape {reference.shape}.")
        return reference

    def normalisation(
        self, theta: np.ndarray, reference: np.ndarray | None
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Measures mean and variance of each normalised layer on a reference batch, layer after layer.

        Args:
            theta: float32, shape (parameters,).
            reference: float32, shape (batch, height, width, channels).

        Returns:
            (mean, variance) by layer name, float32, shape (units,): over batch and space, or batch for dense layers.

        Raises:
            NeurozooError: The reference batch is missing or has a wrong shape.
        """
        model = self.keras_model(theta, reference)
        names = [layer.name for layer in self.network.layers if layer.normalisation]
        return {name: tuple(model.get_layer(f"{name}_norm").get_weights()[-2:]) for name in names}

    def keras_model(self, theta: np.ndarray | None = None, reference: np.ndarray | None = None) -> "keras.Model":
        """Builds the network as a functional Keras model of standard layers, so that plain Keras can load it.

        Args:
            theta: Optional weights, float32, shape (parameters,).
            reference: Needed with `theta` for virtual batch normalisation: float32, shape (batch, height, width,
                channels). Its means and variances become part of the model.

        Returns:
            A model from (batch, height, width, channels) float32 to (batch, actions). The output of each Keras layer is
            the activation of the layer of the same name.

        Raises:
            NeurozooError: The network needs a reference batch, and it is missing or has a wrong shape.
        """
        from neurozoo.networks.keras_chain import build_chain

        return build_chain(self, theta, reference)


@dataclass(frozen=True)
class Network:
    """An architecture.

    Attributes:
        name: Our name, in snake_case.
        published_names: The class names in published code; empty for our own networks.
        layers: The layers, from observation to actions.
        observation_clip: If set, observations are scaled to a mean of 0 and a standard deviation of 1, by statistics
            that training collects, and clipped to this absolute value.
    """

    name: str
    published_names: tuple[str, ...]
    layers: tuple[Layer, ...] = field(repr=False)
    observation_clip: float | None = None

    def __post_init__(self) -> None:
        check_chain(self)

    @property
    def published_name(self) -> str | None:
        """The class name in the published code, or None."""
        return self.published_names[0] if self.published_names else None

    def layout(self, num_actions: int, observation_shape: tuple[int, int, int] = OBSERVATION_SHAPE) -> Layout:
        """Returns the layout for a number of actions and an observation shape.

        Raises:
            NeurozooError: The observation is too small for a kernel without padding.
        """
        layout = Layout(self, num_actions, observation_shape)
        if any(min(placed.out_shape[:2]) < 1 for placed in layout.layers):
            raise too_small_for(self.name, observation_shape)
        return layout


def too_small_for(network: str, observation_shape: tuple[int, int, int]) -> NeurozooError:
    """Makes the error for an observation that the kernels of a network without padding do not fit into."""
    return NeurozooError(
        f"The network {network!r} has no padding, and its kernels do not fit into an observation of "
        f"{observation_shape[0]} x {observation_shape[1]}. Choose a network with padding, such as 'large'."
    )
