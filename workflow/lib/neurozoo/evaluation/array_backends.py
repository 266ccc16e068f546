"""TensorFlow and JAX behind Keras: compiled functions, updates of arrays in place, free memory."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from neurozoo.compute.memory import available_memory
from neurozoo.errors import NeurozooError

BACKENDS = ("tensorflow", "jax")


class JaxBackend:
    """JAX. Its arrays are immutable; a donated array gives its memory to the result."""

    name = "jax"

    def __init__(self) -> None:
        import jax

        self._jax = jax
        self._device = jax.devices()[0]
        self._updated = self.compiled(_updated_slices, reuse=True)

    @property
    def device(self) -> str:
        """Name of the device, such as `cuda:0`."""
        return str(self._device)

    def free_bytes(self) -> int:
        """Free memory in bytes."""
        facts = self._device.memory_stats()
        return facts["bytes_limit"] - facts["bytes_in_use"] if facts else available_memory()

    def compiled(self, function: Callable, *, reuse: bool = False) -> Callable:
        """Compiles a function of arrays with fixed shapes. With `reuse`, its first argument is donated."""
        jitted = self._jax.jit(function, donate_argnums=(0,) if reuse else ())

        def call(*arguments: Any) -> Any:
            with self._jax.default_matmul_precision("highest"):  # GPUs round to 10 bits otherwise
                return jitted(*arguments)

        return call

    def array(self, values: np.ndarray) -> Any:
        """Copies values to the device."""
        return self._jax.device_put(values, self._device)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """Makes an array of zeros on the device."""
        return self._jax.numpy.zeros(shape, np.float32, device=self._device)

    slots = zeros  # arrays that `with_slot` can update

    def with_slot(self, arrays: Mapping, slot: int, new: Mapping) -> dict:
        """Returns the arrays with row `slot` of each replaced by `new`, of shape (1, ...). `arrays` are donated."""
        return self._updated(dict(arrays), dict(new), np.int32(slot))


class TensorFlowBackend:
    """TensorFlow, compiled by XLA. Arrays that change are variables."""

    name = "tensorflow"

    def __init__(self) -> None:
        import tensorflow as tf

        tf.config.experimental.enable_tensor_float_32_execution(False)  # GPUs round to 10 bits otherwise
        self._tf = tf

    @property
    def device(self) -> str:
        """Name of the device, such as `GPU:0`."""
        return "GPU:0" if self._tf.config.list_logical_devices("GPU") else "CPU:0"

    def free_bytes(self) -> int:
        """Free memory in bytes."""
        if self.device == "CPU:0":
            return available_memory()
        from tensorflow.python.client import device_lib  # no public function returns the limit

        limit = next(d.memory_limit for d in device_lib.list_local_devices() if d.device_type == "GPU")
        return limit - self._tf.config.experimental.get_memory_info(self.device)["current"]

    def compiled(self, function: Callable, *, reuse: bool = False) -> Callable:
        """Compiles a function of arrays with fixed shapes. `reuse` has no effect."""
        return self._tf.function(function, jit_compile=True, autograph=False)

    def array(self, values: np.ndarray) -> Any:
        """Copies values to the device."""
        return self._tf.convert_to_tensor(values)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """Makes an array of zeros on the device."""
        return self._tf.zeros(shape)

    def slots(self, shape: tuple[int, ...]) -> Any:
        """Makes an array of zeros that `with_slot` can update."""
        return self._tf.Variable(self._tf.zeros(shape), trainable=False)

    def with_slot(self, arrays: Mapping, slot: int, new: Mapping) -> dict:
        """Returns the arrays with row `slot` of each replaced by `new`, of shape (1, ...)."""
        for name, array in arrays.items():
            array.scatter_update(self._tf.IndexedSlices(new[name], self._tf.constant([slot])))
        return dict(arrays)


def _updated_slices(arrays: dict, new: dict, slot: Any) -> dict:
    from jax.lax import dynamic_update_slice_in_dim

    return {name: dynamic_update_slice_in_dim(array, new[name], slot, 0) for name, array in arrays.items()}


def make_backend() -> JaxBackend | TensorFlowBackend:
    """Returns the backend that Keras runs on. The variable `KERAS_BACKEND` chooses it; others are refused."""
    import keras

    name = keras.backend.backend()
    if name not in BACKENDS:
        raise NeurozooError(
            f"The batched engine needs Keras with {' or '.join(BACKENDS)}, but Keras uses {name}. "
            "Set the environment variable KERAS_BACKEND."
        )
    return _backend(name)


@cache
def _backend(name: str) -> JaxBackend | TensorFlowBackend:
    return JaxBackend() if name == "jax" else TensorFlowBackend()
