"""Builds and loads `model.pb`: a network as a TensorFlow 1 GraphDef with the node names of the Atari Zoo.

Viewers, Lucid and the zoo's own tools look for these names: input `X_t`, activations `<algo>/<layer>/relu`
(or `tanh`) and `<algo>/out/signal`, weights `<algo>/<layer>/w` with a leading policy axis of length 1.

Source: Atari Zoo, Such et al. 2018, arXiv:1812.07069, and its model files.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neurozoo.agents.frozen import REMEDY, FrozenModel, LayerRecord, first_line
from neurozoo.errors import NeurozooError
from neurozoo.files import open_file
from neurozoo.networks.chains import Layout
from neurozoo.networks.layers import EPSILON, MODULAR, PlacedLayer
from neurozoo.networks.modular import modular_tensors, steps_of

if TYPE_CHECKING:
    import tensorflow as tf

INPUT_NODE = "X_t"
_NODES = {"relu": "relu", "tanh": "tanh", "linear": "signal"}  # by activation


def layer_record(placed: PlacedLayer, scope: str | None) -> LayerRecord:
    """Returns the names of a layer in every form of a frozen model; without a scope, it has no graph."""
    layer = placed.layer
    return LayerRecord(
        name=layer.name,
        kind=layer.kind,
        shape=placed.out_shape[2:] if layer.kind in ("dense", "lstm", "climb") else placed.out_shape,
        activation=layer.activation,
        cycles=layer.cycles,
        keras_layer=layer.name,
        node="" if scope is None else f"{scope}/{layer.name}/{_NODES[layer.activation]}",
        weight_node="" if scope is None else f"{scope}/{layer.name}/w",
    )


def build_graph(
    layout: Layout, theta: np.ndarray, *, scope: str, reference: np.ndarray | None = None
) -> "tf.compat.v1.GraphDef":
    """Builds the network as a graph whose weights are constants, so that a single file holds the whole agent.

    Weights and `reference` are those of a `Checkpoint`; the scope is the algorithm's name.

    Returns:
        The graph, from `X_t`, float32, (batch, height, width, channels), to `<scope>/out/signal`, (batch, actions).

    Raises:
        NeurozooError: The network needs a reference and it is missing or has another shape.
    """
    import tensorflow as tf

    arrays = layout.split(theta)
    has_statistics = layout.needs_statistics
    moments = layout.normalisation(theta, reference) if layout.needs_reference and not has_statistics else {}
    with tf.Graph().as_default() as graph:
        value = tf.compat.v1.placeholder(tf.float32, (None, *layout.observation_shape), name=INPUT_NODE)
        if (clip := layout.network.observation_clip) is not None:
            mean, deviation = layout.check_reference(reference)
            value = tf.clip_by_value((value - tf.constant(mean)) / tf.constant(deviation), -clip, clip)
        for placed in layout.layers:
            layer, name = placed.layer, placed.layer.name

            def constant(part: str, array: np.ndarray):
                return tf.constant(array[np.newaxis], name=part)[0]

            def per_channel(part: str, array: np.ndarray, rank: int):
                return constant(part, array.reshape((1,) * (rank - 1) + (-1,)))

            with tf.name_scope(f"{scope}/{name}/"):
                own = {part: arrays[f"{name}/{part}"] for part in layer.parts}
                if layer.kind in MODULAR:
                    steps = steps_of(placed, {part: constant(part, array) for part, array in own.items()})
                    value = tf.identity(modular_tensors(placed, value, steps), name=_NODES[layer.activation])
                    continue
                weights = constant("w", own["w"])
                if layer.kind == "dense":
                    value = tf.reshape(value, (-1, placed.in_shape[2])) @ weights
                elif layer.kind == "conv":
                    value = tf.nn.conv2d(value, weights, layer.stride, layer.padding.upper())
                else:
                    value = _cycles(placed, value, weights, own)
                rank = value.shape.rank
                if layer.has_bias and layer.normalisation != "before_bias":
                    value = value + per_channel("b", own["b"], rank)
                if layer.normalisation:
                    mean, variance = moments[name]
                    value = (value - per_channel("mean", mean, rank)) * per_channel(
                        "inverse_deviation", 1 / np.sqrt(variance + np.float32(EPSILON)), rank
                    )
                    if layer.normalisation == "after_bias":
                        value = value * per_channel("gain", own["gain"], rank)
                    offset = "b" if layer.normalisation == "before_bias" else "offset"
                    value = value + per_channel(offset, own[offset], rank)
                if layer.gain != 1.0:
                    value = value * np.float32(layer.gain)
                finish = {"relu": tf.nn.relu, "tanh": tf.nn.tanh, "linear": tf.identity}[layer.activation]
                value = finish(value, name=_NODES[layer.activation])
    return graph.as_graph_def()


def _cycles(placed: PlacedLayer, value, weights, own: dict[str, np.ndarray]):
    """Adds the cycles of a recurrent layer, see `Layer.skip`."""
    import tensorflow as tf

    layer = placed.layer
    cycles = layer.cycles
    if layer.skip == "input":
        iotas = value * tf.constant(own["iotas"][np.newaxis], name="iotas")[0]
    if layer.skip == "gated":
        cycles_of = placed.gate_cycles(own["gates"])
        cycles = cycles_of.max()
    for cycle in range(cycles):
        convolved = tf.nn.conv2d(value, weights, 1, "SAME")
        if layer.skip == "gated":
            convolved = convolved * tf.constant(np.float32(cycle < cycles_of))
        value = convolved + (iotas if layer.skip == "input" else value)
        if layer.inner_relu:
            value = tf.nn.relu(value, name=f"cycle{cycle + 1}")
    return value


def load_graph(frozen: FrozenModel, path: Path) -> Callable[[np.ndarray], np.ndarray]:
    """Opens a frozen graph as a function from observations, (batch, height, width, channels), to (batch, outputs).

    Raises:
        NeurozooError: The file is missing, damaged, or lacks a node.
    """
    import tensorflow as tf

    definition = tf.compat.v1.GraphDef()
    try:
        with open_file(path) as file:
            definition.ParseFromString(file.read())
        wrapped = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(definition, name=""), [])
        function = wrapped.prune(f"{INPUT_NODE}:0", f"{frozen.layers[-1].node}:0")
    except Exception as error:  # protobuf and TensorFlow raise many kinds
        raise NeurozooError(f"{path} is missing or not a frozen graph ({first_line(error)}). {REMEDY}") from error
    return lambda observations: function(tf.constant(observations)).numpy()
