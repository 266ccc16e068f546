"""The Q-network: online and target network, optimizer, and one update.

It works with any `KERAS_BACKEND`; what depends on the backend is in `neurozoo.algorithms.compiled`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from neurozoo.algorithms.compiled import copier, fused, in_shards, predictor, training_step
from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.networks.chains import Layout
from neurozoo.networks.layers import PlacedLayer

if TYPE_CHECKING:
    import keras

    from neurozoo.algorithms.dqn.replay import Sample

WHITE = 255.0  # the brightest value of a screen
HEADS = {"advantages": None, "value": 1}  # of a dueling network, which stand for its last layer; their units


class QNetwork:
    """Online and target network of a layout, and the optimizer.

    A dueling head exists only during training: half of the last hidden layer gives the value of the state, the other
    half the advantages. `theta` folds both into the layout's output layer, which gives the same action values.

    Raises:
        NeurozooError: The network has layers that cannot be trained this way.
    """

    def __init__(self, layout: Layout, settings: DqnSettings, *, random: np.random.Generator) -> None:
        self._layout = layout
        self._settings = settings
        self.online = _trainable(layout, is_dueling=settings.dueling)
        self.target = _trainable(layout, is_dueling=settings.dueling)
        self.target.trainable = False
        for weights in self.online.weights:
            weights.assign(initial_weights(tuple(weights.shape), settings.initialisation, random))
        self.acting = _trainable(layout, is_dueling=settings.dueling) if settings.plays_on else self.online
        self._trainer = _trainer(self.online, self.target, settings)
        self._train = training_step(self._trainer)
        self._predict = self._predict_acting = _predictor(layout, self.online)
        if self.acting is not self.online:
            self._predict_acting = _predictor(layout, self.acting)
        self._set_target = copier(self.online, self.target)
        self._set_acting = copier(self.online, self.acting)
        self.update_target()
        self.update_acting()

    def values(self, stacks: np.ndarray) -> np.ndarray:
        """Returns the action values of states: float32, shape (batch, actions).

        Args:
            stacks: uint8, shape (batch, 4, height, width), oldest screen first.
        """
        return self._predict(_stacked(stacks))

    def acting_values(self, stacks: np.ndarray) -> np.ndarray:
        """The same with the weights of the last `update_acting`; may be called while another thread runs `update`."""
        return self._predict_acting(_stacked(stacks))

    def update(self, sample: "Sample") -> np.ndarray:
        """Learns from a minibatch once, and returns its errors, value minus target: float32, shape (batch,)."""
        self._train(
            {
                "before": _stacked(sample.screens[:, : -self._settings.n_steps]),
                "after": _stacked(sample.screens[:, self._settings.n_steps :]),
                "actions": sample.actions,
                "returns": sample.returns,
                "discounts": sample.discounts,
                "weights": sample.weights,
            }
        )
        return np.asarray(self._trainer.errors)

    def update_target(self) -> None:
        """Copies the online network to the target network."""
        self._set_target()

    def update_acting(self) -> None:
        """Copies the online network to the network that chooses actions, if that is another one."""
        if self.acting is not self.online:
            self._set_acting()

    def theta(self) -> np.ndarray:
        """Returns the weights of the online network in the order of the layout: float32, shape (parameters,)."""
        found = {weights.path: np.asarray(weights) for weights in self.online.weights}
        kinds = {"w": "kernel", "b": "bias"}
        names = [(each.layer.name, kinds[part]) for each in self._layout.layers for part in each.layer.parts]
        arrays = [
            found[f"{layer}/{kind}"] if f"{layer}/{kind}" in found else _folded(found, kind) for layer, kind in names
        ]
        return np.concatenate([array.ravel() for array in arrays]).astype(np.float32)

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns everything that the next update depends on."""
        return {name: np.asarray(variable) for name, variable in self._variables().items()}

    def set_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned; arrays of another network raise LookupError or ValueError."""
        for name, variable in self._variables().items():
            variable.assign(arrays[name])

    def _variables(self) -> dict[str, "keras.Variable"]:
        kinds = {
            "online": self.online.weights,
            "target": self.target.weights,
            "optimizer": self._trainer.optimizer.variables,
            "acting": [] if self.acting is self.online else self.acting.weights,
        }
        return {f"{kind}-{number}": each for kind, all_of in kinds.items() for number, each in enumerate(all_of)}


def trained_shapes(layout: Layout, *, is_dueling: bool) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the arrays that are learned, in the order of Keras: `conv1/w`, ..., `advantages/w`, ..."""
    if not is_dueling:
        return layout.shapes
    last = layout.layers[-1]
    shapes = {name: shape for name, shape in layout.shapes.items() if not name.startswith(f"{last.layer.name}/")}
    for head, units in HEADS.items():
        count = units or layout.num_actions
        parts = {"w": (last.in_shape[2] // 2, count), "b": (count,)}
        shapes |= {f"{head}/{part}": parts[part] for part in last.layer.parts}
    return shapes


def initial_weights(shape: tuple[int, ...], rule: str, random: np.random.Generator) -> np.ndarray:
    """Draws the first values of an array by `initialisation` of the settings: float32; biases are 0."""
    fan_in, field = int(np.prod(shape[:-1])), int(np.prod(shape[:-2]))
    if len(shape) == 1:
        return np.zeros(shape, np.float32)
    if rule == "gaussian":
        return (0.01 * random.standard_normal(shape)).astype(np.float32)
    if rule == "glorot_uniform":
        bound = np.sqrt(6 / (fan_in + field * shape[-1]))
    else:
        bound = np.sqrt({"torch": 1, "fan_in_uniform": 3, "he_uniform": 6}[rule] / fan_in)
    return random.uniform(-bound, bound, shape).astype(np.float32)


def _predictor(layout: Layout, model: "keras.Model") -> Callable[[np.ndarray], np.ndarray]:
    import keras

    inputs = keras.Input(layout.observation_shape, dtype="uint8")
    return predictor(keras.Model(inputs, model(_seen(inputs))))


def _trainable(layout: Layout, *, is_dueling: bool) -> "keras.Model":
    import keras

    model = layout.keras_model()
    if not is_dueling:
        return model
    hidden = model.get_layer(layout.layers[-2].layer.name).output
    out: PlacedLayer = layout.layers[-1]
    half = out.in_shape[2] // 2
    dense = {"use_bias": out.layer.has_bias}
    value = keras.layers.Dense(1, name="value", **dense)(hidden[:, :half])
    advantages = keras.layers.Dense(layout.num_actions, name="advantages", **dense)(hidden[:, half:])
    centred = advantages - keras.ops.mean(advantages, axis=-1, keepdims=True)
    return keras.Model(model.inputs, value + centred, name=model.name)


def _folded(found: Mapping[str, np.ndarray], kind: str) -> np.ndarray:
    """Writes a dueling head as one dense layer."""
    value, advantages = found[f"value/{kind}"], found[f"advantages/{kind}"]
    centred = advantages - advantages.mean(axis=-1, keepdims=True)
    if kind == "bias":
        return value + centred
    return np.concatenate([np.broadcast_to(value, centred.shape), centred])


def _stacked(screens: np.ndarray) -> np.ndarray:
    """Transposes screens from (batch, stack, height, width) to (batch, height, width, stack).

    NumPy does this plane by plane, six times as fast as TensorFlow transposes bytes.
    """
    batch, stack, height, width = screens.shape
    stacked = np.empty((batch, height, width, stack), np.uint8)
    for plane in range(stack):
        stacked[..., plane] = screens[:, plane]
    return stacked


def _seen(stacks):
    """Scales bytes to the inputs of a network, 0 to 1."""
    import keras

    return keras.ops.cast(stacks, "float32") / WHITE


def _trainer(online: "keras.Model", target: "keras.Model", settings: DqnSettings) -> "keras.Model":
    import keras

    ops = keras.ops

    class Trainer(keras.Model):
        """Its loss is that of the online network; it keeps the errors of the last minibatch."""

        def __init__(self) -> None:
            super().__init__()
            self.online = online
            self.target = target
            self.errors = self.add_weight(
                shape=(settings.batch_size,), initializer="zeros", trainable=False, name="errors"
            )

        def call(self, batch):
            (errors,) = in_shards(self._errors, batch, shards=settings.shards, axes=dict.fromkeys(batch, 0), axis=0)
            return errors

        def _errors(self, batch):
            wanted = self._wanted(batch, _seen(batch["after"]))
            taken = ops.one_hot(batch["actions"], self.online.output_shape[-1])
            return (ops.sum(self.online(_seen(batch["before"])) * taken, axis=-1) - wanted,)

        def _wanted(self, batch, after):
            bootstrap = self.online if settings.target_update_period == 0 else self.target
            values = bootstrap(after)
            if settings.double:
                best = ops.one_hot(ops.argmax(self.online(after), axis=-1), values.shape[-1])
                best_values = ops.sum(values * best, axis=-1)
            else:
                best_values = ops.max(values, axis=-1)
            return ops.stop_gradient(batch["returns"] + batch["discounts"] * best_values)

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            self.errors.assign(y_pred)
            size = ops.abs(y_pred)
            bound = settings.huber_delta or float("inf")
            small = ops.minimum(size, bound)  # its gradient is the clipped error
            huber = 0.5 * ops.square(small) + bound * (size - small) if settings.huber_delta else 0.5 * ops.square(size)
            return ops.mean(x["weights"] * huber)

    trainer = Trainer()
    trainer.compile(optimizer=fused(_optimizer(settings)), jit_compile=False)
    trainer.optimizer.build(online.trainable_variables)
    return trainer


def _optimizer(settings: DqnSettings) -> "keras.optimizers.Optimizer":
    import keras

    rate, decay, epsilon = float(settings.learning_rate), settings.decay_rate, settings.optimizer_epsilon
    match settings.optimizer:
        case "adam":
            return keras.optimizers.Adam(rate, epsilon=epsilon)
        case "adadelta":
            return keras.optimizers.Adadelta(1.0, rho=decay, epsilon=epsilon)
        case _:
            is_centered = settings.optimizer == "rmsprop_centered"
            return keras.optimizers.RMSprop(rate, rho=decay, epsilon=epsilon, centered=is_centered)
