"""The frozen graph: a network as a TensorFlow 1 GraphDef with the node names of the Atari Zoo.

Viewers, Lucid and the zoo's own tools find their way by these names: input `X_t`, activations `<algo>/<layer>/relu`
and `<algo>/out/signal`, weights `<algo>/<layer>/w` with a leading policy axis of length 1.

Source: Atari Zoo, Such et al. 2018, arXiv:1812.07069, and its model files.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.inspection.frozen import REMEDY, FrozenModel, LayerRecord, first_line
from neurozoo.networks import Layout, PlacedLayer

if TYPE_CHECKING:
    import tensorflow as tf

INPUT_NODE = "X_t"


def layer_record(placed: PlacedLayer, scope: str) -> LayerRecord:
    """Names a layer in every form of a frozen model."""
    layer = placed.layer
    return LayerRecord(
        name=layer.name,
        kind=layer.kind,
        shape=placed.out_shape[2:] if layer.kind == "dense" else placed.out_shape,
        activation=layer.activation,
        cycles=layer.cycles,
        keras_layer=layer.name,
        node=f"{scope}/{layer.name}/{'relu' if layer.activation == 'relu' else 'signal'}",
        weight_node=f"{scope}/{layer.name}/w",
    )


def build_graph(layout: Layout, theta: np.ndarray, *, scope: str) -> "tf.compat.v1.GraphDef":
    """Builds the network as a graph whose weights are constants, so that there is nothing left to freeze.

    Args:
        layout: The network's layers and shapes.
        theta: float32, shape (parameters,).
        scope: First part of the node names, which is the algorithm's name.

    Returns:
        The graph, from `X_t` (batch, 84, 84, 4) float32 in [0, 1] to `<scope>/out/signal` (batch, actions).
    """
    import tensorflow as tf

    arrays = layout.split(theta)
    with tf.Graph().as_default() as graph:
        value = tf.compat.v1.placeholder(tf.float32, (None, *layout.observation_shape), name=INPUT_NODE)
        for placed in layout.layers:
            layer = placed.layer
            with tf.name_scope(f"{scope}/{layer.name}/"):
                weights = tf.constant(arrays[f"{layer.name}/w"][np.newaxis], name="w")[0]
                if layer.kind == "dense":
                    value = tf.reshape(value, (-1, placed.in_shape[2])) @ weights
                elif layer.kind == "conv":
                    value = tf.nn.conv2d(value, weights, layer.stride, "SAME")
                else:
                    for _ in range(layer.cycles):
                        value = tf.nn.conv2d(value, weights, 1, "SAME") + value
                if layer.has_bias:
                    bias = arrays[f"{layer.name}/b"].reshape((1,) * value.shape.rank + (-1,))
                    value = value + tf.constant(bias, name="b")[0]
                if layer.activation == "relu":
                    value = tf.nn.relu(value, name="relu")
                else:
                    value = tf.identity(value, name="signal")
    return graph.as_graph_def()


def load_graph(frozen: FrozenModel, path: Path) -> Callable[[np.ndarray], np.ndarray]:
    """Opens a frozen graph as a function from observations to outputs.

    Args:
        frozen: Says which node holds the outputs.
        path: The GraphDef file.

    Returns:
        A function from (batch, 84, 84, 4) float32 to (batch, actions) float32.

    Raises:
        NeurozooError: The file is missing, damaged, or lacks a node.
    """
    import tensorflow as tf

    definition = tf.compat.v1.GraphDef()
    try:
        definition.ParseFromString(path.read_bytes())
        wrapped = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(definition, name=""), [])
        function = wrapped.prune(f"{INPUT_NODE}:0", f"{frozen.layers[-1].node}:0")
    except Exception as error:  # protobuf and TensorFlow raise many kinds
        raise NeurozooError(f"{path} is missing or not a frozen graph ({first_line(error)}). {REMEDY}") from error
    return lambda observations: function(tf.constant(observations)).numpy()
