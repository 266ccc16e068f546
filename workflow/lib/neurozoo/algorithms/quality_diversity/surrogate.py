"""The surrogate: networks that predict from a level what an agent will do there.

They work with any `KERAS_BACKEND`; what depends on the backend is in `neurozoo.algorithms.compiled`.

Source: sections 6 and 7 of the description of DSAGE.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from neurozoo.algorithms.compiled import predictor, stepper, training_step
from neurozoo.algorithms.quality_diversity.settings import DsageSettings
from neurozoo.environments.level_domains import LevelDomain
from neurozoo.randomness import MAX_SEED

NUM_OUTPUTS = 3  # the objective and two measures
_SLOPE = 0.2  # of the leaky units
_MOMENTUM = 0.9  # of the statistics of batch normalisation: PyTorch calls it 0.1
_SMALLEST = 4  # side of the last feature map


class Surrogate:
    """Predicts objective, measures and, if wanted, occupancy, which the main network sees; learns from played levels.

    The occupancy predictor is called once per update and not twice, as in the original: both calls see the same batch,
    so its statistics move as far as with two updates (momentum 0.81 for 0.9).
    """

    def __init__(
        self, domain: LevelDomain, settings: DsageSettings, *, predicts_occupancy: bool, rng: np.random.Generator
    ) -> None:
        self._settings = settings
        self._domain = domain
        self.predicts_occupancy = predicts_occupancy
        self.canvas = 2 ** math.ceil(math.log2(max(domain.shape)))
        self._lows = self._sizes = None  # of the ranges of objective and measures; None for raw units
        if settings.standardises_heads:
            ranges = [domain.objective_range, *((axis.low, axis.high) for axis in settings.axes(domain).values())]
            self._lows, high = np.array(ranges, np.float32).T
            self._sizes = high - self._lows
        self.predictor = _occupancy_network(domain, settings, self.canvas, rng) if predicts_occupancy else None
        self.main = _main_network(self.channels, settings, self.canvas, rng)
        self.model = self._whole()
        self._trainer = Trainer(self.model, settings, self._sizes)

    @property
    def channels(self) -> int:
        """Channels of the main network's input: one per tile, and one for a predicted occupancy."""
        domain = self._domain
        return domain.num_tiles + (domain.spare_channels or int(self.predicts_occupancy))

    @property
    def parameter_count(self) -> int:
        """Number of weights that learn."""
        return sum(int(np.prod(weight.shape)) for weight in self.model.trainable_weights)

    def predict(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Predicts levels, uint8, shape (levels, height, width), with the statistics of training.

        Returns:
            float32, shape (levels, 3): objective and both measures, in their own units; and the predicted occupancy,
            float32, shape (levels, height, width), or None.
        """
        if not self.predicts_occupancy:
            return self._predict(levels), None
        outputs, occupancy = self._predict([levels])
        return outputs, occupancy

    def train_epoch(
        self, levels: np.ndarray, targets: np.ndarray, occupancy: np.ndarray, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Learns from each level once.

        Args:
            levels: uint8, shape (levels, height, width).
            targets: float32, shape (levels, 3): objective and both measures.
            occupancy: float32, shape (levels, height, width).
            rng: Draws the order.

        Returns:
            The loss of objective and measures, and that of the occupancy, both summed over batches.
        """
        size = self._settings.train_batch_size
        order = rng.permutation(len(levels))
        parts = (order[begin : begin + size] for begin in range(0, len(order), size))
        first, second = self._learn(
            {"levels": levels[part], "targets": targets[part], "occupancy": occupancy[part]} for part in parts
        ).tolist()
        return first, second

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns all weights, statistics and moments of the optimizer; `set_arrays` takes them."""
        return {
            "weights": np.concatenate([np.ravel(ops.convert_to_numpy(each)) for each in self._floats]).astype("f4"),
            "updates": np.asarray(ops.convert_to_numpy(self._trainer.optimizer.iterations), np.int64),
        }

    def set_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned; raises `ValueError` if it belongs to another network."""
        flat, begin = arrays["weights"], 0
        if len(flat) != sum(int(np.prod(each.shape)) for each in self._floats):
            raise ValueError(f"the surrogate has {len(flat)} weights")
        for each in self._floats:
            size = int(np.prod(each.shape))
            each.assign(flat[begin : begin + size].reshape(each.shape))
            begin += size
        self._trainer.optimizer.iterations.assign(int(arrays["updates"]))

    @cached_property
    def _predict(self) -> Callable[..., Any]:
        return stepper(self.model) if self.predicts_occupancy else predictor(self.model)

    @cached_property
    def _train(self) -> Callable[[dict[str, np.ndarray]], object]:
        return training_step(self._trainer, any_batch=True)

    def _learn(self, batches: Iterable[dict[str, np.ndarray]]) -> np.ndarray:
        """Learns from each batch once, and returns both losses, summed: shape (2,)."""
        self._trainer.sums.assign(np.zeros(2, np.float32))
        for batch in batches:
            self._train(batch)
        return np.asarray(ops.convert_to_numpy(self._trainer.sums), float)

    @property
    def _floats(self) -> list[keras.Variable]:
        optimizer = self._trainer.optimizer
        moments = [each for each in optimizer.variables if each is not optimizer.iterations]
        return [*self.model.weights, *moments]

    def _whole(self) -> keras.Model:
        """Returns the model from levels to outputs and, if there is a predictor, occupancy."""
        height, width = self._domain.shape
        levels = keras.Input((height, width), dtype="uint8", name="levels")
        padding = ((0, 0), (0, self.canvas - height), (0, self.canvas - width))
        tiles = ops.cast(ops.pad(ops.cast(levels, "int32"), padding), "int32")  # with empty tiles
        if self.predictor is None:
            return keras.Model(levels, self._in_units(self.main(ops.one_hot(tiles, self.channels))))
        occupancy = self.predictor(ops.one_hot(tiles, self._domain.num_tiles))
        others = ops.one_hot(tiles, self.channels - 1)
        outputs = self._in_units(self.main(ops.concatenate([others, occupancy], axis=-1)))
        return keras.Model([levels], [outputs, occupancy[:, :height, :width, 0]])

    def _in_units(self, outputs):
        """Returns the outputs in the units of objective and measures."""
        return outputs if self._sizes is None else outputs * self._sizes + self._lows


def _main_network(channels: int, settings: DsageSettings, canvas: int, rng: np.random.Generator) -> keras.Model:
    """Halves the picture until its side is 4; then a linear head for each output."""
    inputs = hidden = keras.Input((canvas, canvas, channels))
    filters, side = settings.channels, canvas // 2
    hidden = layers.LeakyReLU(_SLOPE)(_convolution(hidden, filters, 4, rng, strides=2))
    while side > _SMALLEST:
        filters, side = filters * 2, side // 2
        hidden = _convolution(hidden, filters, 4, rng, strides=2)
        hidden = layers.LeakyReLU(_SLOPE)(_normalisation(_MOMENTUM)(hidden))
    hidden = layers.Flatten()(hidden)
    size = hidden.shape[-1]
    heads = [
        layers.Dense(1, kernel_initializer=_initializer(size, rng), bias_initializer=_initializer(size, rng))
        for _ in range(NUM_OUTPUTS)
    ]
    return keras.Model(inputs, layers.Concatenate()([head(hidden) for head in heads]), name="main")


def _occupancy_network(
    domain: LevelDomain, settings: DsageSettings, canvas: int, rng: np.random.Generator
) -> keras.Model:
    """Keeps the picture's size: a convolution, residual blocks, and a mean of channels."""
    filters = settings.occupancy_channels
    inputs = hidden = keras.Input((canvas, canvas, domain.num_tiles))
    hidden = layers.LeakyReLU(_SLOPE)(_convolution(hidden, filters, 3, rng))
    for _ in range(settings.residual_blocks):
        residual = layers.ReLU()(_normalisation(_MOMENTUM**2)(_convolution(hidden, filters, 3, rng)))
        residual = _normalisation(_MOMENTUM**2)(_convolution(residual, filters, 3, rng))
        hidden = layers.ReLU()(layers.Add()([hidden, residual]))
    return keras.Model(inputs, _convolution(hidden, 1, 1, rng), name="occupancy")


def _convolution(hidden, filters: int, size: int, rng: np.random.Generator, strides: int = 1):
    """Returns a convolution without bias; on even sides, "same" is the original's padding."""
    start = _initializer(size * size * hidden.shape[-1], rng)
    convolution = layers.Conv2D(
        filters, size, strides=strides, padding="same", use_bias=False, kernel_initializer=start
    )
    return convolution(hidden)


def _normalisation(momentum: float) -> layers.BatchNormalization:
    return layers.BatchNormalization(momentum=momentum, epsilon=1e-5)


def _initializer(fan_in: int, rng: np.random.Generator) -> keras.initializers.Initializer:
    """Returns the default initializer of PyTorch: uniform within 1 / sqrt(fan in), also for biases."""
    bound = 1 / math.sqrt(fan_in)
    return keras.initializers.RandomUniform(-bound, bound, seed=int(rng.integers(MAX_SEED)))


class Trainer(keras.Model):
    """Adds the losses to a surrogate. `sums` collects them: of objective and measures, and of the occupancy."""

    def __init__(self, model: keras.Model, settings: DsageSettings, sizes: np.ndarray | None) -> None:
        super().__init__()
        self._sizes = sizes
        self.model = model
        self._weight = settings.occupancy_weight
        self.sums = self.add_weight(shape=(2,), initializer="zeros", trainable=False, name="sums")
        self.compile(optimizer=keras.optimizers.Adam(float(settings.learning_rate), epsilon=1e-8), loss=None)
        self.optimizer.build(self.model.trainable_variables)

    def call(self, batch):
        """Returns the model's outputs, with the batch's own statistics."""
        return self.model(batch["levels"], training=True)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Returns the mean squared error over the outputs, plus that of the occupancy times its weight."""
        outputs, *occupancy = y_pred if isinstance(y_pred, list | tuple) else [y_pred]
        errors = outputs - x["targets"]
        if self._sizes is not None:
            errors = errors / self._sizes
        main = ops.mean(ops.square(errors))  # of three outputs: the mean of their errors
        other = ops.mean(ops.square(occupancy[0] - x["occupancy"])) if occupancy else 0.0 * main
        self.sums.assign(self.sums + ops.stack([main, other]))
        return main + self._weight * other
