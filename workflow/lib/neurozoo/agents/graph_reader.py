"""Reads the network in a frozen TensorFlow 1 graph by following its operations from the output back to the input.

It understands chains of convolutions and dense layers with affine operations between them: convolutions as `Conv2D` or
as image patches times a matrix, policy axes of length 1, biases, constant normalisation, scaled inputs. A graph may
come from a stranger, so TensorFlow runs no part of it: `graph_values` computes what is needed, within limits.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neurozoo.agents.frozen import first_line
from neurozoo.agents.graph_values import GraphValues, data_inputs
from neurozoo.errors import NeurozooError
from neurozoo.files import open_file

if TYPE_CHECKING:
    import tensorflow as tf

MOST_FILE = 2**31  # bytes of a file, which is what protobuf can read

# Operations that only reshape the data, which is their input 0. If one does more, the check on an episode finds it.
_KEEP = {
    "Reshape", "Squeeze", "ExpandDims", "Identity", "StopGradient", "Transpose", "Cast", "StridedSlice", "Pack",
}  # fmt: skip
_ACTIVATIONS = {"Relu": "relu", "Tanh": "tanh"}
_AFFINE = {"Add", "AddV2", "BiasAdd", "Sub", "Mul", "RealDiv"}
_PRODUCTS = {"MatMul", "BatchMatMul", "BatchMatMulV2"}
_LAYERS = {"Conv2D", "ExtractImagePatches", *_PRODUCTS}
# Operations that compute constants and shapes.
_HARMLESS = {
    "Const", "Placeholder", "NoOp", "Slice", "Shape", "Prod", "Fill", "ConcatV2", "Range", "Gather", "GatherV2", "Sqrt",
    "Rsqrt", "Square", "Neg", "Maximum", "Minimum", "ArgMax",
}  # fmt: skip


@dataclass
class ReadLayer:
    """A layer that was read from a graph."""

    kind: str  # `conv` or `dense`
    weights: np.ndarray  # float32, shape (kernel, kernel, in, out) or (in, out)
    bias: np.ndarray  # float32, shape (out,)
    stride: int = 1  # stride of a convolution
    padding: str = "same"  # padding of a convolution: `same` or `valid`
    activation: str = "linear"  # `relu`, `tanh` or `linear`

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.weights.shape))
        stride = f", stride {self.stride}, {self.padding}" if self.kind == "conv" else ""
        return f"{self.kind} {shape}{stride}, {self.activation}"


def read_graph(path: str | os.PathLike) -> "tf.compat.v1.GraphDef":
    """Parses a frozen graph.

    Raises:
        NeurozooError: The file is missing, empty or not a frozen graph.
    """
    import tensorflow as tf

    definition = tf.compat.v1.GraphDef()
    try:
        with open_file(path) as file:
            if (size := os.fstat(file.fileno()).st_size) >= MOST_FILE:
                raise NeurozooError(f"{path} should have less than {MOST_FILE:,} bytes, but has {size:,}.")
            definition.ParseFromString(file.read())
    except NeurozooError:
        raise
    except OSError as error:
        raise NeurozooError(f"{path} cannot be read ({error.strerror}).") from error
    except Exception as error:  # protobuf raises its own kinds
        raise NeurozooError(f"{path} is not a frozen TensorFlow graph ({first_line(error)}).") from error
    if not definition.node:
        raise NeurozooError(f"{path} is an empty graph.")
    return definition


class GraphReader:
    """The part of a graph between its input and its output node; messages call it `source`.

    Raises:
        NeurozooError: A node is missing, or the graph has an operation that such a network does not need.
    """

    def __init__(
        self, definition: "tf.compat.v1.GraphDef", *, input_node: str, output_node: str, source: str | os.PathLike
    ):
        self._source = source
        self._input, self._output = input_node, output_node
        self._nodes = {node.name: node for node in definition.node}
        if len(self._nodes) < len(definition.node):
            raise NeurozooError(f"{source} is damaged: two of its nodes have the same name.")
        needed = self._ancestors(output_node)
        self._nodes = {name: node for name, node in self._nodes.items() if name in needed}
        if input_node not in self._nodes:
            raise NeurozooError(f"The outputs {output_node!r} of {source} do not depend on its input {input_node!r}.")
        known = _KEEP | set(_ACTIVATIONS) | _AFFINE | _LAYERS | _HARMLESS
        if strange := sorted({node.op[:80] for node in self._nodes.values()} - known):
            raise NeurozooError(
                f"{source} has operations that a chain of convolutions and dense layers does not need: "
                f"{', '.join(strange[:8])}. Only such chains can be imported."
            )
        self._values = GraphValues(self._nodes, input_node=input_node, source=source)

    def function(self, shape: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
        """Returns the graph as a function from one observation (float32, this shape) to its outputs, (outputs,).

        Raises:
            NeurozooError: It does not take such observations.
        """
        axes = len(self._nodes[self._input].attr["shape"].shape.dim)
        batch = (1, 1) if axes == len(shape) + 2 else (1,)  # with a policy axis, or without

        def outputs_of(observation: np.ndarray) -> np.ndarray:
            given = np.asarray(observation, np.float32).reshape(*batch, *shape)
            return self._values.output(self._output, given).reshape(-1)

        try:
            outputs_of(np.zeros(shape, np.float32))
        except NeurozooError as error:
            raise NeurozooError(f"{self._source} does not take observations {shape}: {error}") from error
        return outputs_of

    @property
    def takes_bytes(self) -> bool:
        """Whether the graph first divides by about 255, so that its pixels go from 0 to 255."""
        factor = 1.0
        for node, constant in reversed(list(self._chain())):
            if node.op in _LAYERS or node.op in _ACTIVATIONS:
                break
            if constant is not None and constant.size == 1:
                factor *= float(self._affine(node, constant, units=1)[0][0])
        return 1 / 257 < factor < 1 / 254

    def layers(self, *, scale: float = 1.0) -> list[ReadLayer]:
        """Returns the layers from the first to the outputs.

        `scale` is the factor of the observations before the graph; it becomes part of the first layer's weights.

        Raises:
            NeurozooError: The graph is not a plain chain of layers.
        """
        try:
            return self._layers(scale)
        except (ValueError, TypeError, IndexError, ZeroDivisionError, UnicodeDecodeError) as error:
            raise NeurozooError(
                f"{self._source} is damaged: its layers do not fit together ({str(error)[:200]})."
            ) from error

    def _layers(self, scale: float) -> list[ReadLayer]:
        found: list[ReadLayer] = []
        patches, factor = None, scale
        for node, constant in reversed(list(self._chain())):
            is_open = bool(found) and found[-1].activation == "linear"  # this layer absorbs affine operations
            if node.op == "ExtractImagePatches":
                patches = node
            elif node.op in _LAYERS:
                found.append(self._layer(node, constant, patches))
                found[-1].weights = np.asarray(found[-1].weights * factor, np.float32)
                patches, factor = None, 1.0
            elif node.op in _ACTIVATIONS:
                if not is_open:
                    raise self._no_chain(node, "two activations without a layer between them")
                found[-1].activation = _ACTIVATIONS[node.op]
            else:
                slope, offset = self._affine(node, constant, units=len(found[-1].bias) if is_open else 1)
                if is_open:
                    layer = found[-1]
                    if (slope != 1).any():
                        layer.weights = np.asarray(layer.weights * slope, np.float32)
                    layer.bias = np.asarray(layer.bias * slope + offset, np.float32)
                elif (offset != 0).any():
                    raise self._no_chain(node, "something added before a layer")
                else:
                    factor = factor * float(slope[0])
        if not found or patches is not None or factor != 1.0:
            raise NeurozooError(f"{self._source} ends before a layer is complete.")
        return found

    def _chain(self) -> Iterator[tuple[Any, np.ndarray | None]]:
        """Yields the operations on the data's path from output back to input, each with its constant operand."""
        name = self._output
        path = []
        while name != self._input:
            node = self._nodes[name]
            inputs = data_inputs(node)
            if node.op in _KEEP | set(_ACTIVATIONS) | {"ExtractImagePatches"}:
                if not inputs or inputs[0] not in self._values.dependent:
                    raise self._no_chain(node, "no data as its first operand")
                data, operand = inputs[0], None
            else:
                dependent = [each for each in inputs if each in self._values.dependent]
                if len(dependent) != 1 or len(inputs) != 2:
                    raise self._no_chain(node, f"{len(dependent)} data paths that meet")
                data, operand = dependent[0], next(each for each in inputs if each != dependent[0])
                if node.op in _LAYERS | {"Sub", "RealDiv"} and inputs[0] != data:
                    raise self._no_chain(node, "the data as second operand")
            if node.op not in _KEEP:
                path.append((node, operand))
            name = data
        values = self._values.constants([operand for _, operand in path if operand])
        for node, operand in path:
            yield node, np.asarray(values[operand], np.float32) if operand else None

    def _ancestors(self, name: str) -> set[str]:
        """Returns the names of a node and of all nodes that it depends on."""
        seen, waiting = set(), [name]
        while waiting:
            here = waiting.pop()
            if here not in self._nodes:
                raise NeurozooError(f"{self._source} is incomplete: the node {here[:80]!r} is missing.")
            if here not in seen:
                seen.add(here)
                waiting += data_inputs(self._nodes[here]) if here != self._input else []
        return seen

    def _layer(self, node, weights: np.ndarray, patches) -> ReadLayer:
        if node.op in _PRODUCTS:
            transposed = [key for key in ("transpose_a", "transpose_b", "adj_x", "adj_y") if node.attr[key].b]
            if transposed or any(side != 1 for side in weights.shape[:-2]):
                raise self._no_chain(node, f"weights of shape {weights.shape} {' '.join(transposed)}".rstrip())
            inputs, outputs = weights.shape[-2:]
            if patches is None:
                return ReadLayer("dense", weights.reshape(inputs, outputs), np.zeros(outputs, np.float32))
            side = patches.attr["ksizes"].list.i[1]
            weights = weights.reshape(side, side, -1, outputs)
            node = patches
        strides = list(node.attr["strides"].list.i)
        padding = node.attr["padding"].s.decode().lower()
        is_plain = (
            (padding in ("same", "valid") and strides[0] == strides[3] == 1 and strides[1] == strides[2])
            and (node.attr["data_format"].s in (b"", b"NHWC") and set(node.attr["dilations"].list.i) <= {1})
            and (weights.ndim == 4 and weights.shape[0] == weights.shape[1])
        )
        if not is_plain:
            raise self._no_chain(node, "a convolution that is not square, SAME or VALID, and NHWC")
        return ReadLayer("conv", weights, np.zeros(weights.shape[3], np.float32), stride=strides[1], padding=padding)

    def _affine(self, node, constant: np.ndarray, *, units: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the factor and the summand of an affine operation, both of shape (units,)."""
        if constant.size not in (1, units):
            raise self._no_chain(node, f"a constant of shape {constant.shape} for {units} units")
        value = np.broadcast_to(constant.reshape(-1).astype(np.float64), (units,))
        if node.op == "Mul":
            return value, np.zeros(units)
        if node.op == "RealDiv":
            return 1 / value, np.zeros(units)
        return np.ones(units), -value if node.op == "Sub" else value

    def _no_chain(self, node, reason: str) -> NeurozooError:
        return NeurozooError(
            f"{self._source} is not a plain chain of convolutions and dense layers: the node {node.name[:80]!r} "
            f"({node.op}) has {reason}. Only such chains can be imported."
        )
