import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.agents.graph import build_graph, layer_record, load_graph
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import NETWORKS, get_network
from neurozoo.networks.chains import OBJECTS_SHAPE


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


def networks():
    """All networks; a network whose kinds of layers others have, too, is a long test."""
    seen = set()
    for name, network in NETWORKS.items():
        facts = ("kind", "normalisation", "skip", "activation", "padding", "has_bias")
        kinds = {tuple(getattr(layer, fact) for fact in facts) for layer in network.layers}
        kinds.add((network.observation_clip is None,))
        yield pytest.param(name, marks=[pytest.mark.long] if kinds <= seen else [])
        seen |= kinds


@pytest.mark.parametrize("model", networks())
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


@pytest.mark.parametrize(("model", "halves", "ramp"), [
    ("large", 17, 17), ("small", 7, 7), pytest.param("recurrent_large", 5, 6, marks=pytest.mark.long(seconds=4)),
])  # fmt: skip
def test_the_published_check_genome_gives_the_published_outputs(noise, tmp_path, model, halves, ramp, frozen_folder):
    # Specification of the published code, section 2.5.
    from neurozoo.genomes.genome import Genome, decode

    layout = get_network(model).layout(18)
    genome = Genome(148462608).mutated(219531121, 0.002).mutated(172882699, 0.002)
    graph = build_graph(layout, decode(genome, noise=noise, layout=layout), scope="ga")
    (tmp_path / "model.pb").write_bytes(graph.SerializeToString())
    outputs_of = load_graph(open_frozen(frozen_folder(model)), tmp_path / "model.pb")

    index = np.arange(84 * 84 * 4).reshape(1, 84, 84, 4)
    outputs = outputs_of(np.concatenate([np.full_like(index, 0.5, np.float32), np.float32(index % 256) / 255]))
    assert outputs.argmax(axis=-1).tolist() == [halves, ramp]
    if model == "large":
        np.testing.assert_allclose(outputs[0, :4], [-0.004879, 0.00478, 0.011457, 0.006059], atol=1e-6)
        np.testing.assert_allclose(outputs[1, :4], [-0.0092, 0.012557, 0.002708, 0.010076], atol=1e-6)


def test_a_missing_or_damaged_graph_is_refused(own_copy):
    frozen = open_frozen(own_copy)
    path = own_copy / "model.pb"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(NeurozooError, match="missing or not a frozen graph"):
        load_graph(frozen, path)
    path.unlink()
    with pytest.raises(NeurozooError, match="missing or not a frozen graph"):
        load_graph(frozen, path)
