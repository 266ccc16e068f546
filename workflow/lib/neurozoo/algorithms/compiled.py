"""Compiled functions of a learner's networks: prediction, update and copying; and how many threads they use.

They bypass `train_on_batch` and `predict_on_batch` of Keras, which with TensorFlow saves a tenth of the time of an
update and a third of that of a prediction, and with JAX three quarters of a step of a small network on a GPU.
"""

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neurozoo.errors import NeurozooError

if TYPE_CHECKING:
    import keras


def predictor(model: "keras.Model") -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function from a batch of a model's only input to its only output; several threads may call it."""
    step = stepper(model)
    return lambda inputs: step([inputs])[0]


def stepper(model: "keras.Model") -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
    """The same for a model with several inputs and outputs, shape (batch, ...) each, in their order."""
    if _is_tensorflow():
        import tensorflow as tf

        specifications = [tf.TensorSpec(each.shape, each.dtype) for each in model.inputs]
        function = tf.function(lambda inputs: _outputs(model, inputs), autograph=False)
        call = function.get_concrete_function(specifications)
        # One list, as the function was traced: with the tensors one by one, TensorFlow takes twice the time.
        return lambda inputs: [each.numpy() for each in call(list(map(tf.constant, inputs)))]
    import jax

    @jax.jit
    def step(trainable, others, inputs):
        return _outputs(lambda each: model.stateless_call(trainable, others, each)[0], inputs)

    weights = model.trainable_variables, model.non_trainable_variables  # once: Keras walks through all layers
    return lambda inputs: [np.asarray(each) for each in jax.device_get(step(*map(_values, weights), list(inputs)))]


def _outputs(model: Callable[[Any], Any], inputs: list) -> list:
    outputs = model(inputs if len(inputs) > 1 else inputs[0])
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]


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
    up in the order of the parts: they depend on the number of parts, but not on the number of threads. Each tensor of
    the batch is divided along its own of the `axes`; results are joined along `axis`.
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
        import jax

        update, variables = _jax_update(trainer)
        update = jax.jit(update)
        return lambda batch: _assign(variables, update(*map(_values, variables), dict(batch)))
    import tensorflow as tf

    def step(batch):
        with tf.GradientTape() as tape:
            loss = trainer.compute_loss(batch, y_pred=trainer(batch))
        weights = trainer.trainable_weights
        apply_gradients(trainer.optimizer, tape.gradient(loss, weights), weights)

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
        trainer: See `training_step`.
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


def loss_gradient(
    figures_of: Callable[[Mapping[str, Any], Any], tuple],
) -> Callable[[Mapping[str, np.ndarray], np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Returns a function that computes a loss and its gradient by the outputs of a network that another library has.

    Args:
        figures_of: Takes a batch of arrays by name, and outputs; returns scalars, of which the first is the loss.

    Returns:
        A function that takes the same, and returns the scalars and the gradient, of the shape of the outputs.

    Raises:
        NeurozooError: The backend of Keras is not TensorFlow.
    """
    if not _is_tensorflow():
        raise NeurozooError(
            "Updates in the core need TensorFlow: set KERAS_BACKEND=tensorflow or leave it out, or set engine: keras."
        )
    import tensorflow as tf

    @tf.function(autograph=False)
    def compute(batch, outputs):
        with tf.GradientTape() as tape:
            tape.watch(outputs)
            figures = figures_of(batch, outputs)
        return tf.stack(figures), tape.gradient(figures[0], outputs)

    def call(batch, outputs):
        figures, gradient = compute({name: tf.constant(each) for name, each in batch.items()}, tf.constant(outputs))
        return figures.numpy(), gradient.numpy()

    return call


def copier(source: "keras.Model", destination: "keras.Model") -> Callable[[], None]:
    """Returns a function that sets a model's weights to those of another."""
    pairs = list(zip(source.weights, destination.weights, strict=True))

    def copy():
        for new, old in pairs:
            old.assign(new.value)  # with JAX no copy: its arrays never change, and no update here donates them

    if not _is_tensorflow():
        return copy
    import tensorflow as tf

    return tf.function(copy, autograph=False)


# Of one call: acting waits for it. 2,048 steps of a network like `nature` take a GPU some milliseconds.
STEPS_AT_ONCE = 2048


def training_steps(
    trainer: "keras.Model", *, rate: "keras.Variable", told: Sequence["keras.Variable"]
) -> Callable[[dict[str, Any], dict[str, Any], Sequence[slice | np.ndarray], Sequence[float]], Iterator[list[float]]]:
    """Returns a function that makes many gradient steps from arrays that stay on a device; with JAX.

    Args:
        trainer: A compiled model with a built optimizer; its input is a dictionary of arrays.
        rate: The learning rate.
        told: What an update tells: scalars and vectors of the trainer or its optimizer.

    Returns:
        A function of columns, (time, batch, ...), memory, (batch, ...), the part of the batch that each step takes, and
        the steps' learning rates. It yields what each step tells, in one list.
    """
    import jax

    update, variables = _jax_update(trainer)
    places = [(kind, number) for each in told for kind, group in enumerate(variables) for number, variable in
              enumerate(group) if variable is each]  # fmt: skip
    ((_, rate_number),) = [(2, number) for number, variable in enumerate(variables[2]) if variable is rate]

    @jax.jit
    def updates(state, columns, memory, parts, rates):
        def one(state, step):
            part, rate = step
            trainable, others, moments = state
            moments = [rate if number == rate_number else each for number, each in enumerate(moments)]
            batch = {name: each[:, part] for name, each in columns.items()}
            batch |= {name: each[part] for name, each in memory.items()}
            state = update(trainable, others, moments, batch)
            return state, jax.numpy.concatenate([state[kind][number].ravel() for kind, number in places])

        return jax.lax.scan(one, state, (parts, rates))

    def learn(columns, memory, parts, rates):
        columns, memory = jax.device_put((columns, memory))
        time, batch = next(iter(columns.values())).shape[:2]
        chosen = np.stack([np.arange(batch)[part] for part in parts]).astype(np.int32)
        # On a processor, XLA computes convolutions in a loop fifty times as slowly.
        most = 1 if jax.default_backend() == "cpu" else max(1, STEPS_AT_ONCE // (time * chosen.shape[1]))
        size = max(each for each in range(1, len(parts) + 1) if len(parts) % each == 0 and each <= most)
        for first in range(0, len(parts), size):
            now = slice(first, first + size)
            state = tuple(map(_values, variables))
            state, figures = updates(state, columns, memory, chosen[now], np.float32(rates[now]))
            _assign(variables, state)
            yield from np.asarray(figures).tolist()

    return learn


def _jax_update(trainer: "keras.Model") -> tuple[Callable, tuple[list, list, list]]:
    """Returns a function from values of the variables and a batch to new values, and these variables."""
    import jax
    import keras

    optimizer = trainer.optimizer

    def loss_of(trainable, others, batch):
        values = [
            *zip(trainer.trainable_variables, trainable, strict=True),
            *zip(trainer.non_trainable_variables, others, strict=True),
        ]
        with keras.StatelessScope(state_mapping=values) as scope:
            loss = trainer.compute_loss(batch, y_pred=trainer(batch))
            return loss, [scope.get_current_value(each) for each in trainer.non_trainable_variables]

    def update(trainable, others, moments, batch):
        gradients, others = jax.grad(loss_of, has_aux=True)(trainable, others, batch)
        trainable, moments = optimizer.stateless_apply(moments, gradients, trainable)
        return list(trainable), others, list(moments)

    return update, (trainer.trainable_variables, trainer.non_trainable_variables, optimizer.variables)


def _assign(variables: Iterable[Iterable["keras.Variable"]], values: Iterable[Iterable[Any]]) -> None:
    for variable, value in zip(itertools.chain(*variables), itertools.chain(*values), strict=True):
        variable.assign(value)


def _values(variables: Iterable["keras.Variable"]) -> list:
    return [each.value for each in variables]


def apply_gradients(optimizer: "keras.optimizers.Optimizer", gradients: Sequence, weights: Sequence) -> None:
    """Changes weights when all gradients are known; for use inside of an update that TensorFlow compiles.

    A gradient may use a weight that another gradient changes first: TensorFlow orders reading before writing, but its
    graph optimizer can lose that order.
    """
    import tensorflow as tf

    with tf.control_dependencies(gradients):
        optimizer.apply(gradients, weights)


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

    Call it before anything loads TensorFlow. It also turns on oneDNN, which `neurozoo` turns off elsewhere: it takes
    two thirds of the time. Its sums have a fixed order, too, but not the same one on each kind of processor. On a GPU,
    it turns on TensorFlow's deterministic operations: the default ones add up gradients in any order.
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


def need_jax() -> None:
    """Prepares JAX for a learner whose rollouts stay on a GPU, where its operations get a fixed order of sums.

    Call it before anything imports JAX. Raises `NeurozooError` if the backend of Keras is not JAX.
    """
    if "jax" not in sys.modules:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_gpu_deterministic_ops=true".strip()
    import keras

    if (name := keras.backend.backend()) != "jax":
        raise NeurozooError(f"The batched engine of learners needs JAX, but Keras uses {name}. Set KERAS_BACKEND=jax.")


def _is_tensorflow() -> bool:
    import keras

    return keras.backend.backend() == "tensorflow"
