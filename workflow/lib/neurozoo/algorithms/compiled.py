"""Compiled functions of a learner's networks: prediction, update and copying; and how many threads they use.

With TensorFlow they bypass `train_on_batch` and `predict_on_batch` of Keras, which saves a tenth of the time of an
update and a third of that of a prediction. Other backends use these methods.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neurozoo.errors import NeurozooError

if TYPE_CHECKING:
    import keras


def predictor(model: "keras.Model") -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function from a batch of a model's inputs to its outputs; several threads may call it at once.

    Args:
        model: Has one input, shape (batch, height, width, channels), and one output, shape (batch, actions).
    """
    if not _is_tensorflow():
        return lambda inputs: np.asarray(model.predict_on_batch(inputs))
    import tensorflow as tf

    specification = tf.TensorSpec(model.inputs[0].shape, model.inputs[0].dtype)
    predict = tf.function(model, autograph=False).get_concrete_function(specification)
    return lambda inputs: predict(tf.constant(inputs)).numpy()


def stepper(model: "keras.Model") -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
    """The same for a model with several inputs and outputs, in their order.

    Args:
        model: Its inputs and outputs have shape (batch, ...).
    """
    if not _is_tensorflow():
        return lambda inputs: [np.asarray(each) for each in model.predict_on_batch(list(inputs))]
    import tensorflow as tf

    specifications = [tf.TensorSpec(each.shape, each.dtype) for each in model.inputs]
    step = tf.function(model, autograph=False).get_concrete_function(specifications)
    # One list, as the function was traced: with the tensors one by one, TensorFlow takes twice the time.
    return lambda inputs: [each.numpy() for each in step(list(map(tf.constant, inputs)))]


def in_shards(
    call: Callable[[dict[str, Any]], tuple[Any, ...]],
    batch: Mapping[str, Any],
    *,
    shards: int,
    axes: Mapping[str, int],
    axis: int,
) -> tuple[Any, ...]:
    """Calls a function with equal parts of a batch and joins the results; for use inside of a compiled update.

    No part depends on another, so threads compute them side by side, and their gradients, too. The gradients are added
    up in the order of the parts: they depend on the number of parts, but not on the number of threads.

    Args:
        call: Takes arrays by name, as `batch`, and returns tensors.
        batch: Tensors by name.
        shards: Number of parts.
        axes: The axis along which each tensor is divided.
        axis: That along which the results are joined.

    Returns:
        The tensors that `call` would return for the whole batch, up to rounding.
    """
    if shards == 1:
        return call(dict(batch))
    import keras

    parts = {name: keras.ops.split(batch[name], shards, axis=axes[name]) for name in batch}
    results = [call({name: part[shard] for name, part in parts.items()}) for shard in range(shards)]
    return tuple(keras.ops.concatenate(each, axis=axis) for each in zip(*results, strict=True))


def training_step(trainer: "keras.Model", *, any_batch: bool = False) -> Callable[[dict[str, np.ndarray]], object]:
    """Returns a function that makes one gradient step down the loss of a model.

    Args:
        trainer: A compiled model with a built optimizer; its input is a dictionary of arrays, shape (batch, ...).
        any_batch: Whether batches differ in size. Then one function serves all sizes: functions of other sizes may
            round in other ways, and a resumed run may meet another size first.
    """
    if not _is_tensorflow():
        return trainer.train_on_batch
    import tensorflow as tf

    def step(batch):
        with tf.GradientTape() as tape:
            loss = trainer.compute_loss(batch, y_pred=trainer(batch))
        weights = trainer.trainable_weights
        trainer.optimizer.apply(tape.gradient(loss, weights), weights)

    compiled = tf.function(step, autograph=False)
    if not any_batch:
        return compiled
    functions: list[Callable[[dict[str, np.ndarray]], object]] = []

    def step_of_any_size(batch):
        if not functions:
            shapes = {name: tf.TensorSpec([None, *each.shape[1:]], each.dtype) for name, each in batch.items()}
            functions.append(compiled.get_concrete_function(shapes))
        return functions[0]({name: tf.constant(each) for name, each in batch.items()})

    return step_of_any_size


def shared_training_step(
    trainer: "keras.Model", *, add_up: Callable[[np.ndarray], None], share: float
) -> Callable[[dict[str, np.ndarray]], object]:
    """Returns the same for a model that is trained in several processes: their gradients are added up.

    Args:
        trainer: A compiled model with a built optimizer; its input is a dictionary of arrays, shape (batch, ...).
        add_up: Replaces the gradient, float32, shape (parameters,), by the sum over all processes.
        share: Factor on that sum.

    Raises:
        NeurozooError: The backend of Keras is not TensorFlow.
    """
    if not _is_tensorflow():
        raise NeurozooError("Several learners need TensorFlow: set KERAS_BACKEND=tensorflow, or leave it out.")
    import tensorflow as tf

    weights = trainer.trainable_weights
    sizes = [int(np.prod(each.shape)) for each in weights]

    @tf.function(autograph=False)
    def gradient_of(batch):
        with tf.GradientTape() as tape:
            loss = trainer.compute_loss(batch, y_pred=trainer(batch))
        return tf.concat([tf.reshape(each, [-1]) for each in tape.gradient(loss, weights)], axis=0)

    @tf.function(autograph=False)
    def apply(gradient):
        parts = tf.split(gradient * share, sizes)
        shaped = [tf.reshape(part, each.shape) for part, each in zip(parts, weights, strict=True)]
        trainer.optimizer.apply(shaped, weights)

    def step(batch):
        gradient = np.array(gradient_of(batch))
        add_up(gradient)
        apply(tf.constant(gradient))

    return step


def copier(source: "keras.Model", destination: "keras.Model") -> Callable[[], None]:
    """Returns a function that sets a model's weights to those of another."""
    pairs = list(zip(source.weights, destination.weights, strict=True))
    if not _is_tensorflow():

        def copy_values():
            for new, old in pairs:
                old.assign(np.array(new))  # JAX would share the array, which an update of the source deletes

        return copy_values
    import tensorflow as tf

    def copy():
        for new, old in pairs:
            old.assign(new)

    return tf.function(copy, autograph=False)


def fused(optimizer: "keras.optimizers.Optimizer") -> "keras.optimizers.Optimizer":
    """Lets TensorFlow (XLA) compile the optimizer's step, which then passes over the weights once, in half the time."""
    if _is_tensorflow():
        import tensorflow as tf

        apply = optimizer.apply
        optimizer.apply = lambda gradients, variables=None: tf.function(
            lambda: apply(gradients, variables), jit_compile=True, autograph=False
        )()
    return optimizer


def keep_to_threads(threads: int) -> None:
    """Gives each TensorFlow operation one thread, so that sums have a fixed order; operations share the threads.

    Call it before anything loads TensorFlow, as the op does.

    Also turns on oneDNN, which `neurozoo` turns off elsewhere: it takes two thirds of the time. Its sums have a fixed
    order, too, but not the same one on each kind of processor. On a GPU, it turns on TensorFlow's deterministic
    operations: the default ones add up gradients in any order.
    """
    if "tensorflow" not in sys.modules:
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
    if _is_tensorflow():
        import tensorflow as tf

        try:
            tf.config.threading.set_intra_op_parallelism_threads(1)
            tf.config.threading.set_inter_op_parallelism_threads(threads)
            if tf.config.list_physical_devices("GPU"):
                tf.config.experimental.enable_op_determinism()
        except RuntimeError:  # TensorFlow is already running, as in tests with several runs in one process
            return


def _is_tensorflow() -> bool:
    import keras

    return keras.backend.backend() == "tensorflow"
