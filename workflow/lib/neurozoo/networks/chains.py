"""Chains of layers. Parameter layout, native plan and Keras model derive from one description, so they agree.

`neurozoo.networks.catalogue` has the descriptions.
"""

import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.networks.checks import SHOW, check_layer_names, check_network_name
from neurozoo.networks.layers import EPSILON, MODULAR, Layer, PlacedLayer, split_parameters
from neurozoo.networks.modular import modular_tensors

if TYPE_CHECKING:
    import keras

OBSERVATION_SHAPE = (84, 84, 4)  # height, width, stack; oldest frame first
OBJECTS_SHAPE = (20, 20, 6)  # the river crossing task, for the modular agent
_KINDS = ("conv", "recurrent_conv", "dense", *MODULAR)


@dataclass(frozen=True)
class Network:
    """An architecture.

    Raises:
        NeurozooError: The layers make no network; the message names it.
    """

    name: str  # our name, in snake_case
    published_names: tuple[str, ...]  # the class names in published code; empty for our own networks
    layers: tuple[Layer, ...] = field(repr=False)  # the layers, from observation to actions
    # If set, observations are scaled to a mean of 0 and a standard deviation of 1, by statistics that training
    # collects, and clipped to this absolute value
    observation_clip: float | None = None

    def __post_init__(self) -> None:
        check_network_name(self.name)
        whose, layers = f"The network {self.name!r}", self.layers
        if not layers:
            raise NeurozooError(f"{whose} has no layers. {SHOW}")
        check_layer_names([layer.name for layer in layers], whose)
        if wrong := [layer for layer in layers if layer.kind not in _KINDS or layer.normalisation == "layer"]:
            what = wrong[0].kind if wrong[0].kind not in _KINDS else "layer normalisation"
            raise NeurozooError(
                f"{whose} is a chain, and its layer {wrong[0].name!r} is not for chains ({what}). Make it a "
                f"KerasNetwork. {SHOW}"
            )
        kinds = tuple(layer.kind for layer in layers)
        if self.is_modular:
            if kinds != MODULAR:
                raise NeurozooError(
                    f"{whose} should have the layers {', '.join(MODULAR)}, in this order, but has "
                    f"{', '.join(kinds)}. {SHOW}"
                )
            return
        last = layers[-1]
        if last.kind != "dense" or last.units is not None:
            raise NeurozooError(
                f"{whose} should end with a dense layer without units, which gets one per action, such as _OUT, but "
                f"ends with {last.name!r} ({last.kind}, units={last.units}). {SHOW}"
            )
        for before, layer in itertools.pairwise(layers):
            if before.kind == "dense" and layer.kind != "dense":
                raise NeurozooError(
                    f"{whose} has the {layer.kind} {layer.name!r} after the dense {before.name!r}. {SHOW}"
                )
            if before.units is None and before.kind != "recurrent_conv":
                raise NeurozooError(
                    f"{whose} has a layer {before.name!r} without units, which only its last one may be."
                )

    @property
    def is_modular(self) -> bool:
        """Whether it is a modular agent of the river crossing task, see `networks.modular`."""
        return any(layer.kind in MODULAR for layer in self.layers)

    @property
    def published_name(self) -> str | None:
        """The class name in the published code, or None."""
        return self.published_names[0] if self.published_names else None

    def layout(self, num_actions: int, observation_shape: tuple[int, int, int] | None = None) -> "Layout":
        """Returns the layout for a number of actions and an observation shape, by default the usual one.

        Raises:
            NeurozooError: The observation is too small for a kernel without padding, or not what a modular agent
                sees.
        """
        usual = OBJECTS_SHAPE if self.is_modular else OBSERVATION_SHAPE
        observation_shape = observation_shape or usual
        if self.is_modular and observation_shape != usual:
            raise NeurozooError(
                f"The network {self.name!r} sees the objects of river_crossing, but the observation is "
                f"{' x '.join(map(str, observation_shape))}. Set observation to objects, or choose another network."
            )
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


@dataclass(frozen=True)
class Layout:
    """A network for a given number of actions and observation shape, with the place of each parameter."""

    network: Network
    num_actions: int  # outputs of the last layer
    observation_shape: tuple[int, int, int] = OBSERVATION_SHAPE  # a vector of n numbers is (1, 1, n)

    @cached_property
    def layers(self) -> tuple[PlacedLayer, ...]:
        """The layers in order, with their places in the parameter vector. Weights come before biases, as published."""
        placed, start, shape = [], 0, self.observation_shape
        for layer in self.network.layers:
            units = self.num_actions if layer.units is None else layer.units
            if layer.kind == "dense":
                in_shape, out_shape = (1, 1, math.prod(shape)), (1, 1, units)
            elif layer.kind == "climb":
                in_shape, out_shape = shape, (1, 1, units)
            else:
                units = {"decision": 3, "landscape": 3}.get(layer.kind, units)
                units = shape[2] if layer.kind == "recurrent_conv" else units
                in_shape, out_shape = shape, (layer.out_size(shape[0]), layer.out_size(shape[1]), units)
            placed.append(PlacedLayer(layer, in_shape, out_shape, start))
            start, shape = placed[-1].stop, out_shape
        return tuple(placed)

    @cached_property
    def parameter_count(self) -> int:
        """Length of the parameter vector."""
        return self.layers[-1].stop

    @property
    def neurons(self) -> list[np.ndarray]:
        """The places in the parameter vector of the parameters of each unit of each layer."""
        return [places for placed in self.layers for places in placed.neurons]

    @property
    def needs_reference(self) -> bool:
        """Whether it needs more than its weights: a batch for virtual batch normalisation, or statistics."""
        return self.needs_statistics or any(layer.normalisation for layer in self.network.layers)

    @property
    def needs_statistics(self) -> bool:
        """Whether its reference is the mean and the standard deviation of observations, one row each."""
        return self.network.observation_clip is not None

    def normalise(self, observation: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Scales an observation, float32, shape (..., height, width, channels), as a network with statistics does.

        The reference is mean and standard deviation: float32, shape (2, height, width, channels).
        """
        clip = self.network.observation_clip
        assert clip is not None  # asked only of networks with statistics
        mean, deviation = reference
        return np.clip((observation - mean) / deviation, -clip, clip)

    def initialise(self, noise: np.ndarray) -> np.ndarray:
        """Makes the initial parameters from noise. Both are float32, shape (parameters,)."""
        return np.concatenate([placed.initialise(noise[placed.start : placed.stop]) for placed in self.layers])

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameter arrays, such as `conv1/w`, in the order of the parameter vector."""
        return {f"{p.layer.name}/{part}": shape for p in self.layers for part, shape in p.shapes.items()}

    def split(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Splits a parameter vector, float32, shape (parameters,), into named views, in order.

        `conv1/w`, for example, has the shape (kernel, kernel, in, out), and `conv1/b` the shape (out,).

        Raises:
            ValueError: `theta` has another shape.
        """
        return split_parameters(theta, self.shapes, network=f"{self.network.name} with {self.num_actions} actions")

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

    # ---- Keras

    def normalisation(
        self, theta: np.ndarray, reference: np.ndarray | None
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Measures mean and variance of each normalised layer on a reference batch, layer after layer.

        Returns:
            (mean, variance) by layer name, float32, shape (units,): over batch and space, or batch for dense layers.
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
        import keras

        arrays = {} if theta is None else self.split(theta)
        if theta is not None and self.needs_reference:
            reference = self.check_reference(reference)
        value = inputs = keras.Input(self.observation_shape, name="observation")
        if (clip := self.network.observation_clip) is not None:
            shape = self.observation_shape
            mean, deviation = (np.zeros(shape), np.ones(shape)) if reference is None else reference
            variance = np.square(deviation, dtype=np.float64)
            scale = keras.layers.Normalization(axis=(1, 2, 3), mean=mean, variance=variance)
            value = keras.ops.clip(scale(value), -clip, clip)
        # They are set when the model is complete.
        weights: dict[keras.Layer, list[Any]] = {}
        normalised = []
        for placed in self.layers:
            layer, name = placed.layer, placed.layer.name
            own = {part: arrays.get(f"{name}/{part}") for part in layer.parts}
            if layer.kind in MODULAR:
                value = _modular(placed, value, own, weights)
                continue
            bias = layer.has_bias and layer.normalisation != "before_bias"
            simple = layer.kind != "recurrent_conv" and layer.normalisation is None and layer.gain == 1.0
            activation = layer.activation if simple else None
            common = {"activation": activation, "use_bias": bias, "name": name if simple else f"{name}_kernel"}
            if layer.kind == "dense":
                if value.shape[1:] != placed.in_shape[2:]:
                    value = keras.layers.Flatten(name="flatten")(value)
                step = keras.layers.Dense(placed.out_shape[2], **common)
                value = step(value)
            else:
                step = keras.layers.Conv2D(placed.out_shape[2], layer.kernel, layer.stride, layer.padding, **common)
                value = step(value) if layer.kind == "conv" else _cycles(placed, step, value, own, weights)
            weights[step] = [own["w"], own["b"]] if bias else [own["w"]]
            if layer.normalisation:
                has_gain = layer.normalisation == "after_bias"
                norm = keras.layers.BatchNormalization(epsilon=EPSILON, scale=has_gain, name=f"{name}_norm")
                normalised.append((norm, [own["gain"], own["offset"]] if has_gain else [own["b"]], value))
                value = norm(value)
            if layer.gain != 1.0:
                value = keras.layers.Rescaling(layer.gain, name=f"{name}_gain")(value)
            if not simple:
                value = keras.layers.Activation(layer.activation, name=name)(value)
        model = keras.Model(inputs, value, name=self.network.name)
        if theta is None:
            return model
        for step, values in weights.items():
            step.set_weights(values)
        for norm, values, before in normalised:
            measured = keras.Model(inputs, before).predict(reference, verbose=0)
            axes = tuple(range(measured.ndim - 1))
            norm.set_weights([*values, measured.mean(axes, np.float64), measured.var(axes, np.float64)])
        return model


def _cycles(placed: PlacedLayer, step: "keras.Layer", value: Any, own: dict, weights: dict) -> Any:
    """Adds the cycles of a recurrent layer to a Keras model, and the weights of added layers to `weights`."""
    import keras

    def factors(name: str, values: np.ndarray | None) -> keras.Layer:
        layer = keras.layers.DepthwiseConv2D(1, use_bias=False, name=f"{placed.layer.name}_{name}")
        weights[layer] = [None if values is None else np.float32(values).reshape(1, 1, -1, 1)]
        return layer

    layer = placed.layer
    skip = factors("iotas", own["iotas"])(value) if layer.skip == "input" else None
    gates = own.get("gates")
    cycles_of = None if gates is None else placed.gate_cycles(gates)
    for cycle in range(placed.in_shape[1] if layer.skip == "gated" else layer.cycles):
        convolved = step(value)
        if layer.skip == "gated":
            takes_part = None if cycles_of is None else cycle < cycles_of
            convolved = factors(f"gates{cycle + 1}", takes_part)(convolved)
        summed = keras.layers.Add(name=f"{layer.name}_cycle{cycle + 1}")
        value = summed([convolved, value if skip is None else skip])
        if layer.inner_relu:
            value = keras.layers.ReLU(name=f"{layer.name}_relu{cycle + 1}")(value)
    return value


def _modular(placed: PlacedLayer, value: Any, own: dict, weights: dict) -> Any:
    """Adds a layer of the modular agent to a Keras model, and the weights of added layers to `weights`."""
    import keras

    layer, steps = placed.layer, []
    for number, (part, shape) in enumerate(placed.shapes.items(), 1):
        name, kernel = f"{layer.name}_kernel{number}", own[part]
        if layer.kind == "landscape":
            step = keras.layers.Conv2D(1, shape, padding="same", use_bias=False, name=name)
            kernel = None if kernel is None else kernel[:, :, None, None]
        else:
            activation = "tanh" if layer.kind == "decision" else None
            step = keras.layers.Dense(shape[1], activation, use_bias=False, name=name)
        steps.append(step)
        weights[step] = [kernel]

    def named(heights: Any, cycle: int) -> Any:
        return keras.layers.Identity(name=f"{layer.name}_cycle{cycle}")(heights)

    return keras.layers.Identity(name=layer.name)(modular_tensors(placed, value, steps, name_cycle=named))
