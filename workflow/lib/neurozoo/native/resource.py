"""What the op library keeps for an owner: threads, environments, weights."""

import os
import uuid
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from neurozoo.errors import NeurozooError
from neurozoo.native import call_op, import_tensorflow


class Resource:
    """A resource of the op library. It is freed by `close`, with its last reference, or when Python ends."""

    def __init__(self, make: Callable, *, name: str, **attributes: object) -> None:
        self._name = name
        self._handle = call_op(make, **attributes, shared_name=f"neurozoo-{uuid.uuid4()}")
        # Unlike __del__, this comes before Python takes TensorFlow apart at its end.
        self._free = weakref.finalize(self, _destroy, import_tensorflow(), self._handle, os.getpid())

    def call(self, op: Callable, **inputs: object):
        """Runs an op that takes the resource as its `handle`; see `call_op`."""
        if not self._free.alive:
            raise NeurozooError(f"The {self._name} is closed.")
        return call_op(op, handle=self._handle, **inputs)

    def close(self) -> None:
        """Ends its threads and frees its memory; the first time only."""
        self._free()


def _destroy(tf: ModuleType, handle: Any, process: int) -> None:
    if os.getpid() != process:
        return  # a forked child has none of the threads
    with tf.init_scope():  # a last reference may go while TensorFlow traces a function, which this is no part of
        tf.raw_ops.DestroyResourceOp(resource=handle, ignore_lookup_error=True)
