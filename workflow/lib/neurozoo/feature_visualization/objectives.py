"""Objectives of synthetic inputs: functions from a layer's values to a number for each picture.

Every objective takes float32 of shape (batch, height, width, channels) or (batch, units) and returns shape (batch,).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import tensorflow as tf

OBJECTIVES = ("channel", "unit", "direction")
Objective = Callable[["tf.Tensor"], "tf.Tensor"]
LEAST_COSINE = 0.1  # lower cosines count as this; otherwise two negative factors would give a positive objective


def channel_mean(channels: Sequence[int]) -> Objective:
    """Picture i: the mean of channel `channels[i]` over its map; in a dense layer, the unit itself."""
    import tensorflow as tf

    def objective(values):
        flat = tf.reshape(values, (len(channels), -1, values.shape[-1]))
        return tf.gather(tf.reduce_mean(flat, 1), list(channels), axis=1, batch_dims=1)

    return objective


def unit(channels: Sequence[int], position: tuple[int, int]) -> Objective:
    """Picture i: the unit of channel `channels[i]` at `position` (row, column) of the map."""
    import tensorflow as tf

    row, column = position
    return lambda values: tf.gather(values[:, row, column], list(channels), axis=1, batch_dims=1)


def direction(vectors: np.ndarray) -> Objective:
    """Picture i: how far the channels point along `vectors[i]`, shape (batch, channels), as in `likeness`; the mean."""
    import tensorflow as tf

    def objective(values):
        flat = tf.reshape(values, (len(vectors), -1, values.shape[-1]))
        return tf.reduce_mean(_dot_and_cosine(flat, tf.constant(vectors, tf.float32)[:, None]), 1)

    return objective


def likeness(targets: np.ndarray) -> Objective:
    """Picture i: dot product of the layer's values and `targets[i]` times their cosine, at least `LEAST_COSINE`.

    Source: feature inversion in the Atari Zoo; Mordvintsev et al. 2018.
    """
    import tensorflow as tf

    flat_targets = np.asarray(targets, np.float32).reshape(len(targets), -1)
    return lambda values: _dot_and_cosine(tf.reshape(values, (len(targets), -1)), tf.constant(flat_targets))


def _dot_and_cosine(values, targets):
    import tensorflow as tf

    dot = tf.reduce_sum(values * targets, -1)
    lengths = tf.sqrt(tf.reduce_sum(values**2, -1) * tf.reduce_sum(targets**2, -1) + 1e-12)
    return dot * tf.maximum(dot / lengths, LEAST_COSINE)


def total_variation(pictures: "tf.Tensor") -> "tf.Tensor":
    """Mean absolute difference between neighbouring pixels, down and across, shape (batch,)."""
    import tensorflow as tf

    down = tf.abs(pictures[:, 1:] - pictures[:, :-1])
    across = tf.abs(pictures[:, :, 1:] - pictures[:, :, :-1])
    return tf.reduce_mean(down, (1, 2, 3)) + tf.reduce_mean(across, (1, 2, 3))


def mean_absolute(pictures: "tf.Tensor") -> "tf.Tensor":
    """L1: mean absolute brightness, shape (batch,). A step of brightness costs bright and dark pixels the same."""
    import tensorflow as tf

    return tf.reduce_mean(tf.abs(pictures), (1, 2, 3))


def mean_square(pictures: "tf.Tensor") -> "tf.Tensor":
    """L2: mean squared brightness, shape (batch,). It dims bright pixels more than dark ones."""
    import tensorflow as tf

    return tf.reduce_mean(tf.square(pictures), (1, 2, 3))
