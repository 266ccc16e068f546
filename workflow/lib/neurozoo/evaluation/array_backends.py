"""What Keras leaves to its backend: compiling, replacing one slot of an array in place, and asking for free memory."""

import contextlib
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.memory import available_memory

BACKENDS = ("tensorflow", "jax")


class JaxBackend:
    """JAX, whose arrays never change: one that is given up lends its memory to the one that comes out."""

    name = "jax"

    def __init__(self) -> None:
        import jax
        import tensorflow as tf

        # TensorFlow serves the native ops only, but would take nearly all memory of the GPU. Where it is at work
        # already, it can no longer be told.
        with contextlib.suppress(RuntimeError):
            tf.config.set_visible_devices([], "GPU")
        self._jax = jax
        self._device = jax.devices()[0]
        self._updated = self.compiled(_updated_slices, reuse=True)

    @property
    def device(self) -> str:
        """What computes, such as `cuda:0`."""
        return str(self._device)

    def free_bytes(self) -> int:
        """Memory that is still to be had."""
        facts = self._device.memory_stats()
        return facts["bytes_limit"] - facts["bytes_in_use"] if facts else available_memory()

    def compiled(self, function: Callable, *, reuse: bool = False) -> Callable:
        """Compiles a function of arrays of fixed shapes; with `reuse`, its first argument is given up."""
        jitted = self._jax.jit(function, donate_argnums=(0,) if reuse else ())

        def call(*arguments: object) -> object:
            with self._jax.default_matmul_precision("highest"):  # GPUs would round to 10 bits otherwise
                return jitted(*arguments)

        return call

    def array(self, values: np.ndarray) -> object:
        """Brings values to the device."""
        return self._jax.device_put(values, self._device)

    def zeros(self, shape: tuple[int, ...]) -> object:
        """Makes an array on the device."""
        return self._jax.numpy.zeros(shape, np.float32, device=self._device)

    def slots(self, shape: tuple[int, ...]) -> object:
        """Makes an array that `with_slot` can change."""
        return self.zeros(shape)

    def with_slot(self, arrays: Mapping, slot: int, new: Mapping) -> dict:
        """Returns the arrays with row `slot` of each replaced by `new`, of shape (1, ...); `arrays` are given up."""
        return self._updated(dict(arrays), dict(new), np.int32(slot))


class TensorFlowBackend:
    """TensorFlow, compiled by XLA; arrays that change are variables."""

    name = "tensorflow"

    def __init__(self) -> None:
        import tensorflow as tf

        tf.config.experimental.enable_tensor_float_32_execution(False)  # GPUs would round to 10 bits otherwise
        self._tf = tf

    @property
    def device(self) -> str:
        """What computes, such as `GPU:0`."""
        return "GPU:0" if self._tf.config.list_logical_devices("GPU") else "CPU:0"

    def free_bytes(self) -> int:
        """Memory that is still to be had."""
        if self.device == "CPU:0":
            return available_memory()
        from tensorflow.python.client import device_lib  # nothing public knows the limit

        limit = next(d.memory_limit for d in device_lib.list_local_devices() if d.device_type == "GPU")
        return limit - self._tf.config.experimental.get_memory_info(self.device)["current"]

    def compiled(self, function: Callable, *, reuse: bool = False) -> Callable:
        """Compiles a function of arrays of fixed shapes; `reuse` has no meaning here."""
        return self._tf.function(function, jit_compile=True, autograph=False)

    def array(self, values: np.ndarray) -> object:
        """Brings values to the device."""
        return self._tf.convert_to_tensor(values)

    def zeros(self, shape: tuple[int, ...]) -> object:
        """Makes an array on the device."""
        return self._tf.zeros(shape)

    def slots(self, shape: tuple[int, ...]) -> object:
        """Makes an array that `with_slot` can change."""
        return self._tf.Variable(self._tf.zeros(shape), trainable=False)

    def with_slot(self, arrays: Mapping, slot: int, new: Mapping) -> dict:
        """Returns the arrays with row `slot` of each replaced by `new`, of shape (1, ...)."""
        for name, array in arrays.items():
            array.scatter_update(self._tf.IndexedSlices(new[name], self._tf.constant([slot])))
        return dict(arrays)


def _updated_slices(arrays: dict, new: dict, slot: object) -> dict:
    from jax.lax import dynamic_update_slice_in_dim

    return {name: dynamic_update_slice_in_dim(array, new[name], slot, 0) for name, array in arrays.items()}


def make_backend() -> JaxBackend | TensorFlowBackend:
    """Returns the backend that Keras runs on, which `KERAS_BACKEND` chooses.

    Raises:
        NeurozooError: Keras runs on something else.
    """
    import keras

    name = keras.backend.backend()
    if name not in BACKENDS:
        raise NeurozooError(
            f"The batched engine runs on Keras with {' or '.join(BACKENDS)}, but Keras uses {name}. "
            "Set the environment variable KERAS_BACKEND."
        )
    return _backend(name)


@cache
def _backend(name: str) -> JaxBackend | TensorFlowBackend:
    return JaxBackend() if name == "jax" else TensorFlowBackend()
