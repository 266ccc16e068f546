"""What the op library keeps for an owner: threads, environments, weights."""

import uuid
import weakref
from collections.abc import Callable

from neurozoo.errors import NeurozooError
from neurozoo.native import call_op, import_tensorflow


class Resource:
    """A resource of the op library. It is freed by `close`, with its last reference, or when Python ends.

    Args:
        make: The op that makes it, a function of the module that `load_ops` returns.
        name: What a sentence calls it, such as `evaluator`.
        attributes: Of the op.

    Raises:
        NeurozooError: The op failed.
    """

    def __init__(self, make: Callable, *, name: str, **attributes: object) -> None:
        tf = import_tensorflow()
        self._name = name
        self._handle = call_op(make, **attributes, shared_name=f"neurozoo-{uuid.uuid4()}")
        # Unlike __del__, this comes before Python takes TensorFlow apart at its end.
        self._free = weakref.finalize(
            self, tf.raw_ops.DestroyResourceOp, resource=self._handle, ignore_lookup_error=True
        )

    def call(self, op: Callable, **inputs: object):
        """Runs an op that takes the resource as its `handle`; the rest is as in `call_op`.

        Raises:
            NeurozooError: The resource is closed, or the op failed.
        """
        if not self._free.alive:
            raise NeurozooError(f"The {self._name} is closed.")
        return call_op(op, handle=self._handle, **inputs)

    def close(self) -> None:
        """Ends its threads and frees its memory; the first time only."""
        self._free()
