"""Layers, and their places in the parameter vector of a network."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from neurozoo.networks.checks import check_choices, check_counts, check_layer_name

EPSILON = 1e-3  # of virtual batch normalisation
VECTORS = {"input": "iotas", "gated": "gates"}  # what a recurrent layer has besides its kernel
_CONVOLUTIONS = ("conv", "recurrent_conv", "residual")
# The layers of the modular agent (`networks.modular`), in their order, and the shapes of their weights.
MODULAR = ("decision", "landscape", "climb")
_DECISION_SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "objects": {"w1": (6, 4), "w2": (4, 5)},
    "colours": {"w1": (4, 10), "w2": (10, 8), "w3": (8, 2)},
}
_MODULAR_SHAPES = {"landscape": (3, 3), "climb": (8, 8)}


@dataclass(frozen=True)
class Layer:
    """One layer of a network.

    Raises:
        NeurozooError: A value is not allowed; the message names the layer.
    """

    name: str  # Short name. The Keras layer whose output is this layer's activation has the same name.
    # `conv`, `dense`, or `recurrent_conv`, which repeats h <- conv(h) + h `cycles` times. A `recurrent_conv` has no
    # bias and keeps the shape. Only in Keras networks: `residual` (a section) and `lstm`. Only in the modular agent:
    # `decision`, `landscape` and `climb`, see `networks.modular`.
    kind: Literal["conv", "recurrent_conv", "dense", "residual", "lstm", "decision", "landscape", "climb"]
    units: int | None = None  # output channels or dense units; None for the number of actions
    kernel: int = 0  # side of the square kernel (convolutions)
    stride: int = 1  # stride of the kernel (convolutions)
    # Padding of a `conv`. `same`: zeros around the input, as in TensorFlow; the output has one position per `stride`
    # pixels, and an odd row or column of zeros goes to the end. `valid`: no padding.
    padding: Literal["same", "valid"] = "same"
    cycles: int = 1  # repetitions (`recurrent_conv`, `landscape`)
    # Standard deviation of the layer's initial output for unit inputs, if `initialisation` is `fan_in`
    std: float = 1.0
    activation: Literal["relu", "tanh", "linear"] = "relu"
    bias: bool = True  # whether the layer has one bias per unit
    # Factor on the noise that gives the weights. `fan_in`: std / sqrt(fan in). `glorot`: std * sqrt(2 / ((in + out) *
    # kernel^2)). `multiplied_glorot`: the same with the fraction inverted, as published. `unit_columns`: per unit, the
    # factor that makes the length of its weights `std`.
    initialisation: Literal["fan_in", "glorot", "multiplied_glorot", "unit_columns"] = "fan_in"
    # What a `recurrent_conv` adds in each cycle. `state`: h. `input`: the layer's input times one parameter per
    # channel, the iotas. `gated`: h, but each channel has a parameter, its gate, and changes only in the first
    # round(|gate| * width of the map) cycles. There are as many cycles as the map is wide.
    skip: Literal["state", "input", "gated"] = "state"
    inner_relu: bool = False  # whether each cycle ends with a ReLU (`recurrent_conv`)
    vector_std: float = 1.0  # factor on the noise of the initial iotas or gates
    # Virtual batch normalisation: scales the mean and standard deviation over a reference batch to 0 and 1.
    # `before_bias`: then adds the bias. `after_bias`: the bias is added before; then follow a gain and an offset per
    # unit, which are parameters. Only in Keras networks: `layer`, layer normalisation, which scales mean and standard
    # deviation over all outputs of the layer, after the bias; then follow a gain and an offset per output.
    normalisation: Literal["before_bias", "after_bias", "layer"] | None = None
    gain: float = 1.0  # Constant factor, applied before the activation. With a ReLU the order makes no difference.
    sees: Literal["objects", "colours"] = "objects"  # what a `decision` sees of cells: their kinds, or their colours
    is_fixed: bool = False  # whether a `landscape` or a `climb` follows a fixed rule and has no weights

    def __post_init__(self) -> None:
        check_layer_name(self.name)
        check_choices(self, f"the layer {self.name!r}")
        kernel = {"kernel": 1} if self.kind in _CONVOLUTIONS else {}
        units = {} if self.units is None else {"units": 1}
        check_counts(self, {"stride": 1, "cycles": 1, **kernel, **units}, f"The layer {self.name!r}")

    def out_size(self, size: int) -> int:
        """Returns the height (width) of a convolution's output for an input of height (width) `size`."""
        return (size - self.kernel) // self.stride + 1 if self.padding == "valid" else math.ceil(size / self.stride)

    @property
    def has_bias(self) -> bool:
        """Whether the layer has one bias per unit."""
        return self.bias and self.kind not in ("recurrent_conv", *MODULAR)

    @property
    def modular_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the weights of a layer of the modular agent."""
        if self.kind == "decision":
            return _DECISION_SHAPES[self.sees]
        return {} if self.is_fixed else {"w": _MODULAR_SHAPES[self.kind]}

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the layer's parameter arrays, in the order of the parameter vector."""
        if self.kind in MODULAR:
            return tuple(self.modular_shapes)
        vector = (VECTORS[self.skip],) if self.skip in VECTORS else ()
        affine = ("offset", "gain") if self.normalisation == "after_bias" else ()
        return (*vector, "w", *(("b",) if self.has_bias else ()), *affine)


@dataclass(frozen=True)
class PlacedLayer:
    """A layer with its shapes and its place in the parameter vector."""

    layer: Layer
    in_shape: tuple[int, int, int]  # (height, width, channels); dense layers see (1, 1, inputs), flattened row-major
    out_shape: tuple[int, int, int]  # (height, width, channels); dense layers give (1, 1, units)
    start: int  # index of the first parameter

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """(kernel, kernel, in, out) or (in, out); of the modular agent, (all weights,)."""
        if self.layer.kind in MODULAR:
            return (sum(map(math.prod, self.layer.modular_shapes.values())),)
        if self.layer.kind == "dense":
            return (self.in_shape[2], self.out_shape[2])
        return (self.layer.kernel, self.layer.kernel, self.in_shape[2], self.out_shape[2])

    @property
    def weight_count(self) -> int:
        """Number of weights, without biases and other parameters."""
        return math.prod(self.weight_shape)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each parameter array, in their order."""
        if self.layer.kind in MODULAR:
            return self.layer.modular_shapes
        return {part: self.weight_shape if part == "w" else (self.out_shape[2],) for part in self.layer.parts}

    @cached_property
    def places(self) -> dict[str, slice]:
        """The slice of the parameter vector of each parameter array."""
        places, start = {}, self.start
        for part, shape in self.shapes.items():
            places[part] = slice(start, start := start + math.prod(shape))
        return places

    @cached_property
    def neurons(self) -> tuple[np.ndarray, ...]:
        """The places in the parameter vector of each unit's parameters, such as its incoming weights and its bias."""
        parts = {part: np.arange(place.start, place.stop) for part, place in self.places.items()}
        if self.layer.kind == "landscape":
            return tuple(parts.values())
        if self.layer.kind in MODULAR:  # each part is a layer
            return tuple(row for part, places in parts.items() for row in places.reshape(self.shapes[part]).T)
        return tuple(np.concatenate([places.reshape(-1, self.out_shape[2]) for places in parts.values()]).T)

    @property
    def stop(self) -> int:
        """Index after the last parameter."""
        return self.start + sum(map(math.prod, self.shapes.values()))

    def offset(self, part: str | None) -> int:
        """Returns the index where an array starts, or -1 if the layer does not have it."""
        return self.places[part].start if part in self.places else -1

    @property
    def weight_offset(self) -> int:
        """The index where its weights start, or -1 if the layer has none."""
        return self.offset("w1" if self.layer.kind == "decision" else "w")

    @property
    def scale(self) -> np.float32:
        """Factor on the noise of the initial weights. For `unit_columns`, the length of each unit's weights.

        Source: specification of the published code, section 2.4; Glorot and Bengio 2010 (`glorot`).
        """
        layer = self.layer
        if layer.kind in MODULAR:
            return np.float32(layer.std)
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
            elif part.startswith("w"):
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


def split_parameters(
    theta: np.ndarray, shapes: Mapping[str, tuple[int, ...]], *, network: str
) -> dict[str, np.ndarray]:
    """Splits a parameter vector into named arrays, which are views of it.

    Raises:
        ValueError: It belongs to another network.
    """
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
    if theta.shape != (ends[-1],):
        raise ValueError(f"{network} has {ends[-1]:,} parameters, but got an array of shape {theta.shape}")
    parts = np.split(theta, ends[:-1])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
