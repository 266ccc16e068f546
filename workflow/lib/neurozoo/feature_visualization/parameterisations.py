"""Parameterisations: pictures as functions of numbers that an optimiser can change freely.

Sources: Mordvintsev et al. 2018, "Differentiable Image Parameterizations", Distill (decorrelated, CPPN), and the Atari
Zoo, Such et al. 2018, arXiv:1812.07069, whose pixels went through a sigmoid. Deviation: the frames of an observation
are not decorrelated from each other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import tensorflow as tf

CPPN_LAYERS, CPPN_UNITS = 8, 16  # the zoo has 8 layers with 16 to 24 units
FOURIER_DAMPING = 4.0  # as in Lucid


@dataclass(frozen=True)
class Parameterisation:
    """A batch of pictures that can be optimised: an optimiser changes the `variables`.

    `draw` returns the pictures: float32, shape (batch, height, width, channels), in [0, 1].
    """

    variables: list["tf.Variable"]
    draw: Callable[[], "tf.Tensor"]


def pixels(shape: tuple[int, int, int, int], generator: np.random.Generator) -> Parameterisation:
    """One number per pixel, through a sigmoid. The start is grey with a little noise."""
    import tensorflow as tf

    values = tf.Variable(generator.normal(0, 0.01, shape).astype(np.float32))
    return Parameterisation([values], lambda: tf.sigmoid(values))


def fourier(shape: tuple[int, int, int, int], generator: np.random.Generator) -> Parameterisation:
    """Fourier coefficients, through a sigmoid. Low frequencies move faster, so neighbouring pixels change together."""
    import tensorflow as tf

    batch, height, width, channels = shape
    frequencies = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None])
    scale = np.sqrt(height * width) / np.maximum(frequencies, 1 / max(height, width)) / FOURIER_DAMPING
    scale = tf.constant(scale.astype(np.complex64))
    start = generator.normal(0, 0.01, (2, batch, channels, height, width // 2 + 1)).astype(np.float32)
    spectrum = tf.Variable(start)

    def draw():
        waves = tf.signal.irfft2d(tf.complex(spectrum[0], spectrum[1]) * scale, [height, width])
        return tf.sigmoid(tf.transpose(waves, (0, 2, 3, 1)))

    return Parameterisation([spectrum], draw)


def cppn(shape: tuple[int, int, int, int], generator: np.random.Generator) -> Parameterisation:
    """One small network per picture, from a pixel's position to its brightness: smooth shapes of any size."""
    import tensorflow as tf

    batch, height, width, channels = shape
    positions = np.stack(
        np.meshgrid(*(np.linspace(-1, 1, side) * np.sqrt(3) for side in (height, width)), indexing="ij")
    )
    positions = tf.constant(positions.reshape(1, 2, -1).transpose(0, 2, 1).astype(np.float32))
    sizes = [2, *[2 * CPPN_UNITS] * (CPPN_LAYERS - 1)]
    weights = [
        tf.Variable(generator.normal(0, np.sqrt(1 / size), (batch, size, CPPN_UNITS)).astype(np.float32))
        for size in sizes
    ]
    offsets = [tf.Variable(np.zeros((batch, 1, CPPN_UNITS), np.float32)) for _ in sizes]
    last = tf.Variable(np.zeros((batch, 2 * CPPN_UNITS, channels), np.float32))  # grey at the start

    def draw():
        values = tf.repeat(positions, batch, axis=0)
        for weight, offset in zip(weights, offsets, strict=True):
            angle = tf.atan(values @ weight + offset)
            values = tf.concat([angle / 0.67, (angle * angle - 0.45) / 0.396], axis=-1)  # unit variance each
        return tf.reshape(tf.sigmoid(values @ last), shape)

    return Parameterisation([*weights, *offsets, last], draw)


PARAMETERISATIONS = {"pixel": pixels, "fourier": fourier, "cppn": cppn}
LEARNING_RATES = {"pixel": 0.05, "fourier": 0.05, "cppn": 0.005}
