import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.agents.graph import build_graph, layer_record, load_graph
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.chains import OBJECTS_SHAPE

from tests.unit.networks.kinds import of_each_kind


def nodes_of(checkpoint):
    graph = build_graph(checkpoint.layout, checkpoint.theta, scope=checkpoint.algo)
    return {node.name: node for node in graph.node}


def test_the_nodes_bear_the_names_of_the_atari_zoo(agent):
    nodes = nodes_of(agent("large"))
    zoo = ["X_t", "ga/conv1/relu", "ga/conv2/relu", "ga/conv3/relu", "ga/fc/relu", "ga/out/signal"]
    assert set(zoo) <= set(nodes)
    assert [dim.size for dim in nodes["X_t"].attr["shape"].shape.dim] == [-1, 84, 84, 4]
    assert nodes["X_t"].op == "Placeholder"
    assert [node for node, layer in nodes.items() if layer.op == "Relu"] == zoo[1:5]
    assert nodes["ga/out/signal"] == list(nodes.values())[-1]


@pytest.mark.parametrize("model", of_each_kind())
def test_the_graph_of_every_network_gives_what_keras_gives_in_every_layer(model):
    import keras
    import tensorflow as tf

    random = np.random.default_rng(6)
    shape = OBJECTS_SHAPE if get_network(model).is_modular else (44, 36, 3)
    layout = get_network(model).layout(5, shape)
    noise = random.standard_normal(layout.parameter_count).astype(np.float32)
    theta = layout.initialise(noise) + np.float32(0.01) * noise  # biases, too
    rows = 2 if layout.needs_statistics else 9  # mean and deviation, or a batch
    reference = np.float32(0.1) + random.random((rows, *shape), np.float32) if layout.needs_reference else None
    keras_model = layout.keras_model(theta, reference)
    definition = build_graph(layout, theta, scope="es", reference=reference)

    records = [layer_record(placed, "es") for placed in layout.layers]
    wrapped = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(definition, name=""), [])
    function = wrapped.prune("X_t:0", [f"{record.node}:0" for record in records])
    probe = keras.Model(keras_model.input, [keras_model.get_layer(record.keras_layer).output for record in records])
    observations = tf.constant(random.random((2, *shape), np.float32))
    for value, expected in zip(function(observations), tf.nest.flatten(probe(observations)), strict=True):
        assert value.shape == expected.shape
        # Both err, and the recurrent layer's 20 cycles and large_dqn's weights make the values large.
        np.testing.assert_allclose(value, expected, rtol=0, atol=2e-5 * float(tf.reduce_max(tf.abs(expected))))


def test_a_missing_or_damaged_graph_is_refused(own_copy):
    frozen = open_frozen(own_copy)
    path = own_copy / "model.pb"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(NeurozooError, match="missing or not a frozen graph"):
        load_graph(frozen, path)
    path.unlink()
    with pytest.raises(NeurozooError, match="missing or not a frozen graph"):
        load_graph(frozen, path)
