"""The networks of a generative adversarial network for platform levels, and its losses.

Two shapes of pictures: `square`, 64 x 64 tiles as published, of which a level is the upper left corner; and `level`,
16 x 56 tiles, which is a quarter of the work.

Sources: sections 5.2 and 13.5 of the description of DSAGE; Arjovsky et al. 2017, arXiv:1701.07875 (WGAN); Gulrajani et
al. 2017, arXiv:1704.00028 (WGAN-GP).
"""

from collections.abc import Callable

import keras
import numpy as np
from keras import layers, ops

from neurozoo.algorithms.compiled import apply_gradients
from neurozoo.algorithms.quality_diversity.generator_settings import GeneratorSettings
from neurozoo.environments.platformer.generator import SOLUTION_SIZE
from neurozoo.environments.platformer.generator import Generator as TrainedGenerator
from neurozoo.environments.platformer.tiles import ALPHABET, HEIGHT, WIDTH
from neurozoo.randomness import MAX_SEED

NUM_TILES = len(ALPHABET)
_SLOPE = 0.2  # of the leaky units
_SPREAD = 0.02  # standard deviation of initial weights
_EPSILON = 1e-5  # of batch normalisation


def picture_size(settings: GeneratorSettings) -> tuple[int, int]:
    """Returns height and width of the networks' pictures, in tiles."""
    return (64, 64) if settings.picture == "square" else (HEIGHT, WIDTH)


def _halvings(settings: GeneratorSettings) -> int:
    """Returns how often the critic halves a picture, and the generator doubles its first one."""
    return 4 if settings.picture == "square" else 3


def generator_network(settings: GeneratorSettings, rng: np.random.Generator) -> keras.Model:
    """Builds a generator with initial weights: from solutions, (batch, 32), to tiles, (batch, height, width, 17).

    Its last layer has no activation; see `as_tiles`.
    """
    doublings = _halvings(settings)
    height, width = (side >> doublings for side in picture_size(settings))
    channels = settings.channels << (doublings - 1)
    inputs = keras.Input((SOLUTION_SIZE,))
    hidden = layers.Dense(height * width * channels, use_bias=False, kernel_initializer=_normal(rng))(inputs)
    hidden = layers.Reshape((height, width, channels))(hidden)
    for doubling in range(doublings):
        hidden = layers.ReLU()(_normalisation(rng)(hidden))
        channels = NUM_TILES if doubling == doublings - 1 else channels // 2
        hidden = layers.Conv2DTranspose(
            channels, 4, strides=2, padding="same", use_bias=False, kernel_initializer=_normal(rng)
        )(hidden)
    return keras.Model(inputs, hidden, name="generator")


def critic_network(settings: GeneratorSettings, rng: np.random.Generator) -> keras.Model:
    """Builds a critic with initial weights: from tiles, (batch, height, width, 17), to a number each, (batch,).

    With a gradient penalty it has no batch normalisation, because the penalty is one of each level.
    """
    inputs = hidden = keras.Input((*picture_size(settings), NUM_TILES))
    for halving in range(_halvings(settings)):
        hidden = layers.Conv2D(
            *(settings.channels << halving, 4), strides=2, padding="same", use_bias=False,
            kernel_initializer=_normal(rng),
        )(hidden)  # fmt: skip
        if halving and settings.kind == "wgan":
            hidden = _normalisation(rng)(hidden)
        hidden = layers.LeakyReLU(_SLOPE)(hidden)
    outputs = layers.Dense(1, use_bias=False, kernel_initializer=_normal(rng))(layers.Flatten()(hidden))
    return keras.Model(inputs, outputs[:, 0], name="critic")


def as_tiles(outputs, settings: GeneratorSettings):
    """Returns what the critic sees of a generator's outputs: a ramp as published, or shares of tiles (softmax)."""
    return ops.relu(outputs) if settings.kind == "wgan" else ops.softmax(outputs)


def real_tiles(levels, settings: GeneratorSettings):
    """Returns levels, uint8, shape (batch, 16, 56), as the critic sees them: one-hot, filled up with air."""
    height, width = picture_size(settings)
    padding = ((0, 0), (0, height - HEIGHT), (0, width - WIDTH))
    return ops.one_hot(ops.pad(ops.cast(levels, "int32"), padding), NUM_TILES)


def slope_penalty(critic: keras.Model, real, fake, shares):
    """Returns how far the critic's slopes are from 1, in squares, between real and generated levels (TensorFlow).

    Both are (batch, height, width, 17). `shares`, float32, shape (batch,), say where between the two the slopes are
    taken; 0 is at the real one.
    """
    import tensorflow as tf

    mixed = tf.convert_to_tensor(real + shares[:, None, None, None] * (fake - real))
    with tf.GradientTape() as tape:
        tape.watch(mixed)
        told = critic(mixed, training=True)
    slopes = tf.sqrt(tf.reduce_sum(tape.gradient(told, mixed) ** 2, axis=[1, 2, 3]) + 1e-12)  # no infinite slope at 0
    return tf.reduce_mean((slopes - 1.0) ** 2)


def export(network: keras.Model, settings: GeneratorSettings) -> TrainedGenerator:
    """Returns a trained generator, with the statistics of batch normalisation in scales and shifts."""
    arrays: dict[str, np.ndarray] = {"rectifies": np.array(settings.kind == "wgan", np.float32)}
    height, width = (side >> _halvings(settings) for side in picture_size(settings))
    count = 0
    for layer in network.layers:
        if isinstance(layer, layers.BatchNormalization):
            gamma, beta, mean, variance = (np.asarray(each, np.float64) for each in layer.get_weights())
            scale = gamma / np.sqrt(variance + _EPSILON)
            arrays[f"scale_{count - 1}"] = scale.astype(np.float32)
            arrays[f"shift_{count - 1}"] = (beta - mean * scale).astype(np.float32)
        elif layer.weights:
            kernel = np.asarray(layer.get_weights()[0], np.float32)
            is_first = isinstance(layer, layers.Dense)
            shaped = kernel.reshape(SOLUTION_SIZE, height, width, -1) if is_first else kernel.transpose(0, 1, 3, 2)
            arrays[f"kernel_{count}"] = shaped
            count += 1
    return TrainedGenerator(arrays)


def gan_steps(
    generator: keras.Model, critic: keras.Model, settings: GeneratorSettings
) -> tuple[Callable[..., float], Callable[..., float], list[keras.optimizers.Optimizer]]:
    """Returns the compiled updates of critic and generator, which return their losses, and their optimizers.

    The critic's update takes real levels, uint8 (batch, 16, 56), solutions, (batch, 32), and shares, (batch,), that mix
    real and generated levels for the gradient penalty; the generator's takes solutions. The original has the opposite
    sign in both losses, which is equivalent. They need the nested gradients of TensorFlow; the caller checks the
    backend.
    """
    import tensorflow as tf

    clips, rate = settings.kind == "wgan", float(settings.learning_rate)
    optimizers: list[keras.optimizers.Optimizer] = []
    for network in (critic, generator):
        optimizers.append(
            keras.optimizers.RMSprop(rate, rho=0.99, epsilon=1e-8)
            if clips
            else keras.optimizers.Adam(rate, beta_1=0.5, beta_2=0.9, epsilon=1e-8)
        )
        optimizers[-1].build(network.trainable_variables)

    def update_critic(levels, solutions, shares):
        real = real_tiles(levels, settings)
        fake = as_tiles(generator(solutions, training=True), settings)
        with tf.GradientTape() as tape:
            # One batch after the other, so that each has its own statistics.
            distance = loss = ops.mean(critic(fake, training=True)) - ops.mean(critic(real, training=True))
            if not clips and settings.gradient_penalty:
                loss = loss + settings.gradient_penalty * slope_penalty(critic, real, fake, shares)
        weights = critic.trainable_weights
        apply_gradients(optimizers[0], tape.gradient(loss, weights), weights)
        if clips:
            for weight in weights:
                weight.assign(ops.clip(weight, -settings.clip, settings.clip))
        return -distance

    def update_generator(solutions):
        with tf.GradientTape() as tape:
            outputs = generator(solutions, training=True)
            loss = -tf.reduce_mean(critic(as_tiles(outputs, settings), training=True))
            if not clips and settings.logit_penalty:
                loss = loss + settings.logit_penalty * tf.reduce_mean(tf.square(outputs))
        weights = generator.trainable_weights
        apply_gradients(optimizers[1], tape.gradient(loss, weights), weights)
        return loss

    levels = tf.TensorSpec((settings.batch_size, HEIGHT, WIDTH), tf.uint8)
    solutions, shares = tf.TensorSpec((settings.batch_size, SOLUTION_SIZE)), tf.TensorSpec((settings.batch_size,))
    first = tf.function(update_critic, autograph=False, input_signature=[levels, solutions, shares])
    second = tf.function(update_generator, autograph=False, input_signature=[solutions])
    return (lambda *arrays: float(first(*arrays))), (lambda *arrays: float(second(*arrays))), optimizers


def _normal(rng: np.random.Generator, mean: float = 0.0) -> keras.initializers.Initializer:
    """Returns the initializer of DCGAN: N(0, 0.02), or N(1, 0.02) for the scales of batch normalisation."""
    return keras.initializers.RandomNormal(mean, _SPREAD, seed=int(rng.integers(MAX_SEED)))


def _normalisation(rng: np.random.Generator) -> layers.BatchNormalization:
    return layers.BatchNormalization(momentum=0.9, epsilon=_EPSILON, gamma_initializer=_normal(rng, 1.0))
