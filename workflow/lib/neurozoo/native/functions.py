"""The functions of the native core, which work on arrays without the GIL."""

import ctypes
import os
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np

from neurozoo.errors import NeurozooError

_MOST_DIMS = 4
_ROW = 2 + _MOST_DIMS  # numbers of an array: address, dimensions, shape
_DECLARED = ("name", "inputs", "outputs", "description")


class _Declaration(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_char_p) for name in _DECLARED)


class Object:
    """What a function has made and others take: threads, environments, weights.

    It is freed by `close`, with its last reference, or when Python ends.
    """

    targets: object = None  # arrays that are written to, which have to stay until it is freed

    def __init__(self, core: ctypes.CDLL, number: int) -> None:
        self.number = number
        self.close = weakref.finalize(self, _close, core, number, os.getpid())


def _close(core: ctypes.CDLL, number: int, process: int) -> None:
    if os.getpid() == process:  # a forked child has none of the threads
        core.neurozoo_close(number)


class _Memory:
    """Owns an output; arrays refer to it."""

    def __init__(self, core: ctypes.CDLL, address: int, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self._free = core.neurozoo_free
        self._address = address
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": shape, "typestr": dtype.str}

    def __del__(self) -> None:
        self._free(self._address)


class Function:
    """A function of the core: takes its inputs by name, and returns its output, a tuple of them, or None.

    Inputs are converted to arrays of the declared type. One that is declared with a `*` is written to: it must be an
    array of just this type. Objects among the inputs keep it until they are freed or get another.

    Raises:
        NeurozooError: The core could not do it. The message says why.
    """

    def __init__(self, core: ctypes.CDLL, number: int, declaration: _Declaration) -> None:
        self._core, self._number = core, number
        self.__name__, inputs, outputs, self.__doc__ = (getattr(declaration, name).decode() for name in _DECLARED)
        self.inputs = dict(part.split(": ") for part in inputs.split(", ") if part)
        self._outputs = [part.split(": ")[1] for part in outputs.split(", ") if part]

    def __call__(self, **inputs: Any):
        """Calls the function; see the class."""
        if inputs.keys() != self.inputs.keys():
            raise TypeError(f"{self.__name__} takes {', '.join(self.inputs)}, but got {', '.join(inputs)}.")
        arrays = [_array_of(inputs[name], kind) for name, kind in self.inputs.items()]
        given, results = _rows(len(arrays)), _rows(len(self._outputs))
        for start, array in zip(range(0, len(given), _ROW), arrays, strict=True):
            rest = (0,) * (_MOST_DIMS - array.ndim)
            given[start : start + _ROW] = [array.ctypes.data, array.ndim, *array.shape, *rest]
        if message := self._core.neurozoo_call(self._number, given, results):
            raise NeurozooError(message.decode(errors="replace"))
        if targets := [inputs[name] for name, kind in self.inputs.items() if kind.endswith("*")]:
            for value in inputs.values():
                if isinstance(value, Object):
                    value.targets = targets
        found = [
            self._output(kind, *results[start : start + _ROW])
            for start, kind in zip(range(0, len(results), _ROW), self._outputs, strict=True)
        ]
        return found[0] if len(found) == 1 else tuple(found) or None

    def _output(self, kind: str, address: int, dims: int, *shape: int):
        dtype = np.dtype("int64" if kind == "object" else kind)
        array = np.asarray(_Memory(self._core, address, shape[:dims], dtype))
        return Object(self._core, int(array)) if kind == "object" else array


def _rows(count: int) -> ctypes.Array:
    return (ctypes.c_int64 * (count * _ROW))()


def _array_of(value: Any, kind: str) -> np.ndarray:
    if kind == "text":
        return np.frombuffer(os.fsencode(value), np.uint8)
    if kind == "object":
        return np.array(value.number)
    if kind.endswith("*"):
        if value.dtype != kind[:-1] or not value.flags.carray:
            raise TypeError(f"The core writes to contiguous arrays of {kind[:-1]}, but got {value.dtype}.")
        return value
    return np.asarray(value, kind, order="C")


def open_functions(path: str | os.PathLike) -> SimpleNamespace:
    """Loads the core, and returns its functions by name. `neurozoo.native.load_core` checks it before.

    Raises:
        OSError: The system refuses the file.
    """
    core = ctypes.CDLL(os.fspath(path))
    core.neurozoo_function.restype = ctypes.POINTER(_Declaration)
    core.neurozoo_call.restype = ctypes.c_char_p
    core.neurozoo_close.argtypes = (ctypes.c_int64,)
    core.neurozoo_free.argtypes = (ctypes.c_void_p,)
    functions, number = {}, 0
    while declaration := core.neurozoo_function(number):
        function = Function(core, number, declaration.contents)
        functions[function.__name__] = function
        number += 1
    return SimpleNamespace(**functions)
