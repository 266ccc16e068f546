"""Computes the values of a frozen graph with NumPy, so that no part of a stranger's graph is run by TensorFlow.

TensorFlow ends the process if a type is wrong, waits for ever on a cycle, and fills all memory if a small graph says
so. Here every size is known before memory is taken for it, and the arithmetic is counted before it is done.

Source of the operations' meaning: the documentation of TensorFlow's raw operations.
"""

import math
import os
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from neurozoo.errors import NeurozooError

MOST_NODES = 20_000  # the graph of our largest network has some hundred
MOST_BYTES = 2**30  # of one value: 1 GiB
MOST_HELD = 2**32  # of all values at once: 4 GiB
MOST_PRODUCTS = 2**30  # multiplications for one observation, about a second; our largest network needs 60 million
_TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "|u1", 9: "<i8", 10: "|b1", 19: "<f2"}  # by TensorFlow's numbers
_VALUES = {1: "float_val", 2: "double_val", 3: "int_val", 4: "int_val", 9: "int64_val", 10: "bool_val"}

# What NumPy and the reading of attributes raise for operations that do not fit together.
_DAMAGE = (ValueError, TypeError, LookupError, ArithmeticError, MemoryError)


class GraphValues:
    """Computes the first outputs of the nodes of a graph, given by their names with all inputs of each.

    Raises:
        NeurozooError: The graph has a cycle or too many nodes.
    """

    def __init__(self, nodes: Mapping[str, Any], *, input_node: str, source: str | os.PathLike):
        self._nodes, self._input, self._source = nodes, input_node, source
        if len(nodes) > MOST_NODES:
            raise NeurozooError(f"{source} should have at most {MOST_NODES:,} nodes, but has {len(nodes):,}.")
        self._order = self._sorted()
        self.dependent: set[str] = set()  # the nodes that depend on the observations
        for name in self._order:
            if name == input_node or not self.dependent.isdisjoint(data_inputs(nodes[name])):
                self.dependent.add(name)
        self._constants: dict[str, np.ndarray] = {}
        self._products = self._held = 0

    def _sorted(self) -> list[str]:
        """Returns all names, each after those that it depends on."""
        order: list[str] = []
        state = dict.fromkeys(self._nodes, 0)  # 1: on the way, 2: done
        for start in self._nodes:
            waiting = [start]
            while waiting:
                name = waiting[-1]
                if state[name] == 0:
                    state[name] = 1
                    before = data_inputs(self._nodes[name]) if name != self._input else []
                    if circle := next((each for each in before if state[each] == 1), None):
                        raise NeurozooError(
                            f"{self._source} has a cycle: the node {circle[:80]!r} depends on itself. Only chains of "
                            "layers can be imported."
                        )
                    waiting += [each for each in before if state[each] == 0]
                else:
                    waiting.pop()
                    if state[name] == 1:
                        state[name] = 2
                        order.append(name)
        return order

    def constants(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Computes nodes that do not depend on the observations.

        Raises:
            NeurozooError: A node cannot be computed, or is too large.
        """
        self._products = 0
        needed: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                waiting += data_inputs(self._nodes[name])
        for name in self._order:
            if name in needed and name not in self._constants:
                self._constants[name] = self._computed(name, self._constants)
        return {name: self._constants[name] for name in names}

    def output(self, name: str, observation: np.ndarray) -> np.ndarray:
        """Computes a node from an observation, which has the axes that the graph expects.

        Raises:
            NeurozooError: A node cannot be computed, or is too large.
        """
        self._products = 0
        values: dict[str, np.ndarray] = {self._input: observation}
        operands = [each for node in self.dependent - {self._input} for each in data_inputs(self._nodes[node])]
        constants = self.constants([each for each in operands if each not in self.dependent])
        held, known = self._held, ChainMap(values, constants)
        for each in self._order:
            if each in self.dependent and each != self._input:
                values[each] = self._computed(each, known)
        self._held = held
        return values[name]

    def _computed(self, name: str, values: Mapping[str, np.ndarray]) -> np.ndarray:
        node = self._nodes[name]
        inputs = [values[each] for each in data_inputs(node)]
        try:
            self.allow((), products=sum(each.size for each in inputs))  # at least they are looked at
            if node.op not in _OPERATIONS:
                raise ValueError("it has no value")
            if any(":" in each and not each.endswith(":0") for each in node.input if not each.startswith("^")):
                raise ValueError("it takes another output than the first")
            with np.errstate(all="ignore"):
                value = _OPERATIONS[node.op](self, node, inputs)
        except _DAMAGE as error:
            raise NeurozooError(
                f"{self._source} is damaged: its node {name[:80]!r} ({node.op[:80]}) cannot be computed "
                f"({str(error)[:200]})."
            ) from error
        value = np.asarray(value)
        self._held += 0 if any(np.may_share_memory(value, each) for each in inputs) else value.nbytes
        return value

    def allow(self, shape: Sequence[int], dtype: np.dtype | type = np.float64, *, products: int = 0) -> None:
        """Refuses a value that is too large, before there is memory for it.

        Raises:
            ValueError: It has too many bytes, or needs too many multiplications.
        """
        self._products += products
        if any(side < 0 for side in shape):
            raise ValueError(f"a shape of {list(shape)}")
        if (size := math.prod(shape) * np.dtype(dtype).itemsize) > MOST_BYTES:
            raise ValueError(f"a value of {size:,} bytes")
        if self._held + size > MOST_HELD:
            raise ValueError(f"more than {MOST_HELD:,} bytes of values")
        if self._products > MOST_PRODUCTS:
            raise ValueError(f"more than {MOST_PRODUCTS:,} multiplications")


def data_inputs(node) -> list[str]:
    """Returns the names of the nodes that a node takes values from: `x` of the tensor `x:0`."""
    return [each.partition(":")[0] for each in node.input if not each.startswith("^")]


# ---- operations: functions of the values, the node and its inputs

_Inputs = list[np.ndarray]


def _type(node, name: str) -> np.dtype:
    number = node.attr[name].type
    if number not in _TYPES:
        raise ValueError(f"the type {number}")
    return np.dtype(_TYPES[number])


def _constant(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    tensor, dtype = node.attr["value"].tensor, _type(node, "dtype")
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    values.allow(shape, dtype)
    if tensor.dtype != node.attr["dtype"].type or tensor.tensor_shape.unknown_rank:
        raise ValueError("its value is of another type")
    if tensor.tensor_content:
        return np.frombuffer(tensor.tensor_content, dtype).reshape(shape)
    if tensor.dtype == 19:
        given = np.array(tensor.half_val, np.uint16).view(dtype)
    else:
        given = np.array(getattr(tensor, _VALUES[tensor.dtype])).astype(dtype)
    count = math.prod(shape)
    if len(given) > count:
        raise ValueError(f"{len(given):,} numbers for {count:,}")
    filled = np.full(count, given[-1] if len(given) else 0, dtype)  # the last number stands for the rest
    filled[: len(given)] = given
    return filled.reshape(shape)


def _same_types(inputs: _Inputs) -> None:
    if len({each.dtype for each in inputs}) > 1:
        raise ValueError(f"operands of the types {', '.join(str(each.dtype) for each in inputs)}")


def _binary(function: Callable) -> Callable:
    def compute(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
        first, second = inputs
        _same_types(inputs)
        shape = np.broadcast_shapes(first.shape, second.shape)
        values.allow(shape, first.dtype, products=math.prod(shape))
        return function(first, second)

    return compute


def _unary(function: Callable) -> Callable:
    def compute(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
        (value,) = inputs
        values.allow(value.shape, value.dtype, products=value.size)
        return function(value).astype(value.dtype, copy=False)

    return compute


def _divided(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if first.dtype.kind != "f":
        raise ValueError(f"a division of {first.dtype}")
    return first / second


def _whole(value: np.ndarray) -> list[int]:
    if value.dtype.kind not in "iu" or value.size > 32:
        raise ValueError("a shape should be some whole numbers")
    return [int(each) for each in value.reshape(-1)]


def _reshaped(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    values.allow(inputs[0].shape, inputs[0].dtype)  # of a view that is no block, this makes a copy
    return inputs[0].reshape(_whole(inputs[1]))


def _view(function: Callable) -> Callable:
    """Makes an operation of a function of the node and its inputs that takes no memory of its own."""
    return lambda values, node, inputs: function(node, *inputs)


def _cast(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    dtype = _type(node, "DstT")
    values.allow(inputs[0].shape, dtype)
    return inputs[0].astype(dtype, copy=False)


def _strided(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    value, begins, ends, steps = inputs[0], *map(_whole, inputs[1:])
    places: list[Any] = []
    for place, (begin, end, step) in enumerate(zip(begins, ends, steps, strict=True)):
        begins_anywhere, ends_anywhere, is_rest, is_new, is_one = (
            node.attr[f"{name}_mask"].i >> place & 1 for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
        )
        if is_rest:
            places.append(...)
        elif is_new:
            places.append(None)
        elif is_one:
            places.append(begin)
        else:
            places.append(slice(None if begins_anywhere else begin, None if ends_anywhere else end, step))
    return value[tuple(places)]


def _packed(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    _same_types(inputs)
    values.allow((len(inputs), *inputs[0].shape), inputs[0].dtype)
    return np.stack(inputs, node.attr["axis"].i)


def _sliced(node, value: np.ndarray, begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    places = zip(_whole(begins), _whole(sizes), value.shape, strict=True)
    return value[tuple(slice(begin, side if size == -1 else begin + size) for begin, size, side in places)]


def _product(node, value: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return np.prod(value, axis=tuple(_whole(axes)), keepdims=node.attr["keep_dims"].b, dtype=value.dtype)


def _filled(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    shape = _whole(inputs[0])
    values.allow(shape, inputs[1].dtype)
    return np.broadcast_to(inputs[1].reshape(()), shape)


def _joined(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    *parts, axis = inputs
    _same_types(parts)
    values.allow((sum(part.size for part in parts),), parts[0].dtype)
    return np.concatenate(parts, _whole(axis)[0])


def _range(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    start, limit, step = (float(each.reshape(()).item()) for each in inputs)
    values.allow((max(0, math.ceil((limit - start) / step)),), inputs[0].dtype)
    return np.arange(start, limit, step).astype(inputs[0].dtype)


def _gathered(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    value, places, *axes = inputs
    axis = _whole(axes[0])[0] if axes else 0
    if node.attr["batch_dims"].i or places.dtype.kind not in "iu" or (places.size and places.min() < 0):
        raise ValueError("places that are not whole numbers from 0")
    values.allow((places.size, value.size // max(1, value.shape[axis])), value.dtype)
    return np.take(value, places, axis)


def _matrix_product(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    _same_types(inputs)
    first, second = (
        np.swapaxes(value, -1, -2) if any(node.attr[name].b for name in names) else value
        for value, names in zip(inputs, (("transpose_a", "adj_x"), ("transpose_b", "adj_y")), strict=True)
    )
    batch = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    shape = (*batch, first.shape[-2], second.shape[-1])
    values.allow(shape, first.dtype, products=math.prod(shape) * first.shape[-1])
    return np.matmul(first, second)


def _patches(values: GraphValues, node, value: np.ndarray, *, sides: Sequence[int]) -> np.ndarray:
    """Cuts images into the windows of a convolution: (batch, rows, columns, height * width * channels)."""
    strides, padding = list(node.attr["strides"].list.i), node.attr["padding"].s
    dilations = {*node.attr["dilations"].list.i, *node.attr["rates"].list.i}
    is_plain = (
        value.ndim == 4
        and (len(strides) == 4 and strides[0] == strides[3] == 1 and min(strides) > 0)
        and (padding in (b"SAME", b"VALID") and node.attr["data_format"].s in (b"", b"NHWC") and dilations <= {1})
    )
    if not is_plain:
        raise ValueError("a convolution that is not SAME or VALID, and NHWC")
    around = [(0, 0)]
    for size, side, stride in zip(value.shape[1:3], sides, strides[1:3], strict=True):
        if not 0 < side <= 2**12 or stride > 2**12:
            raise ValueError(f"a window of {side} with the stride {stride}")
        missing = max((-(-size // stride) - 1) * stride + side - size, 0) if padding == b"SAME" else 0
        around.append((missing // 2, missing - missing // 2))
    padded = np.pad(value, (*around, (0, 0)))
    windows = sliding_window_view(padded, tuple(sides), axis=(1, 2))[:, :: strides[1], :: strides[2]]
    values.allow(windows.shape, value.dtype)
    count, rows, columns = windows.shape[:3]
    return windows.transpose(0, 1, 2, 4, 5, 3).reshape(count, rows, columns, -1)


def _convolved(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    _same_types(inputs)
    value, kernel = inputs
    height, width, channels, units = kernel.shape
    if value.shape[-1] != channels:
        raise ValueError(f"{value.shape[-1]} channels for a kernel of {channels}")
    patches = _patches(values, node, value, sides=(height, width))
    shape = (*patches.shape[:3], units)
    values.allow(shape, value.dtype, products=math.prod(shape) * patches.shape[-1])
    return patches @ kernel.reshape(-1, units)


def _cut_into_patches(values: GraphValues, node, inputs: _Inputs) -> np.ndarray:
    sides = list(node.attr["ksizes"].list.i)
    if len(sides) != 4 or sides[0] != 1 or sides[3] != 1:
        raise ValueError(f"windows of {sides}")
    return _patches(values, node, inputs[0], sides=sides[1:3])


_OPERATIONS: dict[str, Callable[[GraphValues, Any, _Inputs], np.ndarray]] = {
    "Const": _constant,
    "Identity": _view(lambda node, value: value), "StopGradient": _view(lambda node, value: value),
    "Squeeze": _view(lambda node, value: np.squeeze(value, tuple(node.attr["squeeze_dims"].list.i) or None)),
    "ExpandDims": _view(lambda node, value, axis: np.expand_dims(value, tuple(_whole(axis)))),
    "Transpose": _view(lambda node, value, axes: np.transpose(value, _whole(axes))),
    "Shape": _view(lambda node, x: np.array(x.shape, _type(node, "out_type") if "out_type" in node.attr else np.int32)),
    "ArgMax": _view(lambda node, value, axis: np.argmax(value, _whole(axis)[0]).astype(np.int64)),
    "Slice": _view(_sliced), "Prod": _view(_product),
    "Reshape": _reshaped, "Cast": _cast, "StridedSlice": _strided, "Pack": _packed, "ConcatV2": _joined,
    "Fill": _filled, "Range": _range, "Gather": _gathered, "GatherV2": _gathered,
    "Relu": _unary(lambda x: np.maximum(x, 0)), "Tanh": _unary(np.tanh), "Sqrt": _unary(np.sqrt),
    "Rsqrt": _unary(lambda x: 1 / np.sqrt(x)), "Square": _unary(np.square), "Neg": _unary(np.negative),
    "Add": _binary(np.add), "AddV2": _binary(np.add), "BiasAdd": _binary(np.add), "Sub": _binary(np.subtract),
    "Mul": _binary(np.multiply), "RealDiv": _binary(_divided), "Maximum": _binary(np.maximum),
    "Minimum": _binary(np.minimum),
    "MatMul": _matrix_product, "BatchMatMul": _matrix_product, "BatchMatMulV2": _matrix_product,
    "Conv2D": _convolved, "ExtractImagePatches": _cut_into_patches,
}  # fmt: skip
