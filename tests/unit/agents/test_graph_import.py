"""Graphs in the layouts of the Atari Zoo, made here with TensorFlow 1's functions, and our own."""

import resource
import time

import numpy as np
import pytest
from neurozoo.agents import graph_import
from neurozoo.agents.export import zoo_graph
from neurozoo.agents.frozen import open_frozen
from neurozoo.agents.graph import build_graph
from neurozoo.agents.graph_import import fitted, import_graph, recognise
from neurozoo.agents.graph_reader import GraphReader, read_graph
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_network

STRIDES = {"conv1": 4, "conv2": 2}


@pytest.fixture(scope="module")
def weights(agent):
    """Weights of the network small for breakout (4 actions) by name."""
    checkpoint = agent("small")
    return checkpoint.layout.split(checkpoint.theta)


@pytest.fixture
def saved(tmp_path):
    """Writes a graph: `saved(build)`, where `build(tf1)` adds its nodes."""
    import tensorflow as tf

    def save(build, name="model1_final.pb"):
        with tf.Graph().as_default() as graph:
            build(tf)
        path = tmp_path / name
        path.write_bytes(graph.as_graph_def().SerializeToString())
        return path

    return save


def read(path, **choices):
    """Reads a graph as `import_graph` does; returns theta, and the graph as a function."""
    definition = read_graph(path)
    form, output = recognise(definition, path)
    reader = GraphReader(definition, input_node=form.input_node, output_node=output, source=path)
    protocol = protocol_of("breakout", form.protocol, action_set=form.action_set)
    layers = reader.layers(scale=form.scale)
    layout, theta = fitted(layers, game="breakout", protocol=protocol, source=path, **{"model": None, **choices})
    outputs_of = reader.function(layout.observation_shape)
    return layout, theta, lambda observation: outputs_of(observation * np.float32(form.scale))


def policy_conv(tf, x, w, b, stride):
    """A convolution as the published code writes it: patches times a matrix, for a policy axis of length 1."""
    side, _, _, units = w.shape
    w = tf.reshape(tf.constant(w[None], name="w"), [-1, w[..., 0].size, units])
    flat = tf.reshape(x, (-1, *x.shape[2:]))
    patches = tf.compat.v1.extract_image_patches(
        flat, [1, side, side, 1], [1, stride, stride, 1], rates=[1, 1, 1, 1], padding="SAME"
    )
    shape = (tf.shape(x)[0], tf.shape(x)[1], patches.shape[1], patches.shape[2], units)
    product = tf.matmul(tf.reshape(patches, [tf.shape(x)[0], -1, side * side * int(x.shape[-1])]), w)
    return tf.reshape(product, shape) + tf.constant(b.reshape(1, 1, 1, 1, -1), name="b")


def build_ga(weights, *, relu, out):
    def build(tf):
        x = tf.compat.v1.placeholder(tf.float32, (None, 84, 84, 4), name="X_t")
        value = tf.expand_dims(x, 1) if out is None else x[None]
        with tf.name_scope("ga/"):
            for name, stride in STRIDES.items():
                with tf.name_scope(f"ga/{name}/"):
                    value = policy_conv(tf, value, weights[f"{name}/w"], weights[f"{name}/b"], stride)
                    value = tf.nn.relu(value, name=relu)
            value = tf.reshape(value, [-1, tf.shape(value)[1], np.prod(value.shape[2:])])
            for name in ("fc", "out"):
                with tf.name_scope(f"ga/{name}/"):
                    w, b = weights[f"{name}/w"][None], weights[f"{name}/b"].reshape(1, 1, -1)
                    value = tf.matmul(value, tf.constant(w, name="w")) + tf.constant(b, name="b")
                    if name == "fc":
                        value = tf.nn.relu(value, name=relu)
                    elif out:
                        tf.identity(value, name=out)
            if out is None:
                tf.reshape(value, (-1, 4), name="Reshape_1")

    return build


def build_es(weights):
    def build(tf):
        value = tf.compat.v1.placeholder(tf.float32, (None, 84, 84, 4), name="X_t")
        random = np.random.default_rng(3)
        for number, name in enumerate(("conv1", "conv2", "fc", "out"), 1):
            w = tf.constant(weights[f"{name}/w"][None], name=f"es/layer{number}/{name}/w")[0]
            if name in STRIDES:
                value = tf.nn.conv2d(value, w, STRIDES[name], "SAME")
            else:
                value = tf.matmul(tf.reshape(value, (-1, w.shape[0])), w)
            if name == "out":
                tf.add(value, weights["out/b"], name="es/layer4/out/out")
                return
            mean, deviation = random.standard_normal(w.shape[-1]), 1 / random.uniform(0.5, 2, w.shape[-1])
            value = (value - np.float32(mean)) * np.float32(deviation) + weights[f"{name}/b"]
            value = tf.nn.relu(value, name=f"es/layer{number}/Relu")

    return build


def build_dqn(weights):
    def build(tf):
        state = tf.compat.v1.placeholder(tf.uint8, (1, 84, 84, 4), name="state_ph")
        value = tf.cast(state, tf.float32, name="Online/Cast") / 255.0
        for name, scope in (("conv1", "Conv"), ("conv2", "Conv_1")):
            w = tf.constant(weights[f"{name}/w"], name=f"Online/{scope}/weights")
            value = tf.nn.conv2d(value, tf.identity(w), STRIDES[name], "SAME")
            value = tf.nn.relu(tf.nn.bias_add(value, weights[f"{name}/b"]), name=f"Online/{scope}/Relu")
        value = tf.reshape(value, (-1, int(np.prod(value.shape[1:]))))
        value = tf.nn.relu(tf.nn.bias_add(tf.matmul(value, weights["fc/w"]), weights["fc/b"]))
        tf.nn.bias_add(tf.matmul(value, weights["out/w"]), weights["out/b"], name="Online/fully_connected_1/BiasAdd")

    return build


@pytest.mark.parametrize("form", ["ga", "toolbox", "dqn"])
def test_published_layouts_give_back_the_weights(form, saved, weights):
    build = {
        "ga": build_ga(weights, relu="relu", out="signal"),
        "toolbox": build_ga(weights, relu=None, out=None),
        "dqn": build_dqn(weights),
    }[form]
    layout, theta, _ = read(saved(build))
    assert layout.network.name == "small"
    np.testing.assert_array_equal(theta, np.concatenate([part.ravel() for part in weights.values()]))


def test_convolutions_without_padding_are_those_of_nature(tmp_path):
    layout = get_network("nature").layout(4)
    theta = layout.initialise(np.random.default_rng(0).standard_normal(layout.parameter_count).astype(np.float32))
    (tmp_path / "model.pb").write_bytes(build_graph(layout, theta, scope="dqn").SerializeToString())
    read_layout, read_theta, _ = read(tmp_path / "model.pb")
    assert read_layout.network.name == "nature"
    np.testing.assert_array_equal(read_theta, theta)
    with pytest.raises(NeurozooError, match=r"'large' does not have the layers .*: conv 8 x 8 x 4 x 32, stride 4, val"):
        read(tmp_path / "model.pb", model="large")


def test_constant_normalisation_becomes_part_of_the_weights(saved, weights):
    layout, theta, outputs_of = read(saved(build_es(weights)))
    observation = np.random.default_rng(0).random((84, 84, 4), np.float32)
    outputs = layout.keras_model(theta)(observation[None]).numpy()[0]
    np.testing.assert_allclose(outputs, outputs_of(observation), rtol=1e-4, atol=1e-4)
    assert not np.array_equal(layout.split(theta)["conv1/w"], weights["conv1/w"])


def test_our_own_graphs_come_back_and_act_the_same(frozen_folder, agent, tmp_path, monkeypatch):
    monkeypatch.setattr(graph_import, "CHECKED_STEPS", 15)
    path = tmp_path / "BreakoutNoFrameskip-v4" / "model3_final.pb"
    path.parent.mkdir()
    path.write_bytes((frozen_folder("small") / "model.pb").read_bytes())
    folder = import_graph(path, runs=tmp_path / "runs")
    assert folder == tmp_path / "runs/imported/breakout/small/3"
    assert {file.name for file in folder.iterdir()} == {
        "config.yaml",
        "genome.json",
        "checkpoint.npz",
        "result.json",
        "frozen",
    }
    frozen = open_frozen(folder / "frozen")
    assert (frozen.title, frozen.protocol.name) == ("imported/breakout/small/3", "uber2018")
    layer = frozen.load_keras().get_layer("fc")
    np.testing.assert_array_equal(layer.get_weights()[0], agent("small").layout.split(agent("small").theta)["fc/w"])


def test_a_network_that_divides_its_pixels_itself_gets_them_undivided(saved, weights, tmp_path, monkeypatch):
    """As Keras models that begin with Rescaling(1 / 255) do; with pixels from 0 to 1 it would see nothing."""
    monkeypatch.setattr(graph_import, "CHECKED_STEPS", 15)

    def build(tf):
        value = tf.compat.v1.placeholder(tf.float32, (None, 84, 84, 4), name="X_t") * np.float32(1 / 255)
        for name, stride in STRIDES.items():
            value = tf.nn.relu(tf.nn.conv2d(value, weights[f"{name}/w"], stride, "SAME") + weights[f"{name}/b"])
        value = tf.reshape(value, (-1, int(np.prod(value.shape[1:]))))
        value = tf.nn.relu(tf.matmul(value, weights["fc/w"]) + weights["fc/b"])
        tf.add(tf.matmul(value, weights["out/w"]), weights["out/b"], name="net/out/signal")

    folder = import_graph(saved(build), game="breakout", runs=tmp_path / "runs")
    kernel = open_frozen(folder / "frozen").load_keras().get_layer("conv1").get_weights()[0]
    np.testing.assert_allclose(kernel, weights["conv1/w"], rtol=1e-5)


def test_the_export_of_an_evolution_strategy_has_the_zoos_names(frozen_folder, saved, tmp_path):
    folder = frozen_folder("virtual_bn", game="breakout", algo="es")
    definition = zoo_graph(open_frozen(folder))
    names = {node.name for node in definition.node}
    assert names >= {"X_t", "es/layer1/Relu", "es/layer1/conv1/w", "es/layer2/conv2/w", "es/layer4/out/out"}
    path = tmp_path / "es.pb"
    path.write_bytes(definition.SerializeToString())
    layout, theta, outputs_of = read(path)
    assert layout.network.name == "small"  # its normalisation is part of the weights
    observation = np.random.default_rng(0).random((84, 84, 4), np.float32)
    expected = open_frozen(folder).load_keras()(observation[None]).numpy()[0]
    np.testing.assert_allclose(outputs_of(observation), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(layout.keras_model(theta)(observation[None]).numpy()[0], expected, rtol=1e-3, atol=1e-3)


def observations(tf):
    return tf.compat.v1.placeholder(tf.float32, (1, 84, 84, 4), name="X_t")


def build_unknown(tf):
    tf.identity(observations(tf), name="other")


def build_spying(tf):
    secret = tf.strings.to_number(tf.io.read_file("/etc/passwd"))
    tf.add(observations(tf), secret, name="ga/out/signal")


@pytest.mark.parametrize(
    ("build", "answer"),
    [
        (build_unknown, "should have exactly one input and one output with these names"),
        (build_spying, "has operations that a chain .* does not need: ReadFile, StringToNumber"),
    ],
)
def test_a_graph_that_is_not_a_chain_of_layers_is_refused(saved, tmp_path, build, answer):
    with pytest.raises(NeurozooError, match=answer):
        import_graph(saved(build), game="breakout", run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_graph_that_lacks_a_node_is_named(frozen_folder, tmp_path):
    definition = read_graph(frozen_folder("small") / "model.pb")
    (index,) = [number for number, node in enumerate(definition.node) if node.name == "ga/fc/w"]
    del definition.node[index]
    (tmp_path / "x.pb").write_bytes(definition.SerializeToString())
    with pytest.raises(NeurozooError, match="is incomplete: the node 'ga/fc/w' is missing"):
        import_graph(tmp_path / "x.pb", game="breakout", run_dir=tmp_path / "run")


@pytest.mark.parametrize("content", [None, b"", b"this is no graph"])
def test_a_file_that_is_not_a_graph_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "x.pb").write_bytes(content)
    with pytest.raises(NeurozooError, match=r"cannot be read|is not a frozen TensorFlow graph|is an empty graph"):
        import_graph(tmp_path / "x.pb", game="breakout", run_dir=tmp_path / "run")


@pytest.mark.parametrize(
    ("choices", "answer"),
    [
        ({"game": "pong"}, "has 4 outputs, but 'pong' has 6 actions under 'uber2018'"),
        ({"game": "breakout", "model": "large"}, "'large' does not have the layers of .*: conv 8 x 8 x 4 x 16, "),
        ({}, "'frozen' is not the name of a game"),
    ],
)
def test_a_graph_of_something_else_is_named(frozen_folder, tmp_path, choices, answer):
    with pytest.raises(NeurozooError, match=answer):
        import_graph(frozen_folder("small") / "model.pb", run_dir=tmp_path / "run", **choices)


# ---- graphs that are meant to do harm


def constant(definition, name, value):
    """Adds a constant to a graph."""
    import tensorflow as tf

    tensor = tf.make_tensor_proto(value)
    node = definition.node.add(name=name, op="Const")
    node.attr["dtype"].type = tensor.dtype
    node.attr["value"].tensor.CopyFrom(tensor)
    return name


def add_to_output(nodes, name):
    nodes["ga/out/signal"].op = "AddV2"
    nodes["ga/out/signal"].input.append(name)


def with_cycle(nodes, definition):
    nodes["ga/fc/relu"].op = "AddV2"
    nodes["ga/fc/relu"].input.append("ga/out/signal")


def with_cycle_of_constants(nodes, definition):
    definition.node.add(name="a", op="Neg", input=["b"])
    definition.node.add(name="b", op="Neg", input=["a"])
    add_to_output(nodes, "a")


def with_another_type(nodes, definition):
    nodes["ga/fc/w"].attr["dtype"].type = 9  # its numbers stay float32


def with_text(nodes, definition):
    nodes["ga/fc/w"].attr["dtype"].type = nodes["ga/fc/w"].attr["value"].tensor.dtype = 7


def with_huge_fill(nodes, definition):
    sizes = [constant(definition, "size", [60_000, 60_000]), constant(definition, "one", np.float32(1))]
    definition.node.add(name="fill", op="Fill", input=sizes)
    add_to_output(nodes, "fill")


def with_huge_constant(nodes, definition):
    tensor = nodes["ga/fc/w"].attr["value"].tensor
    tensor.ClearField("tensor_content")
    tensor.float_val.append(1.0)
    tensor.tensor_shape.dim[0].size = 2**40


def with_much_arithmetic(nodes, definition):
    last = factor = constant(definition, "factor", np.ones((2_000, 2_000), np.float32))
    for number in range(5_000):
        last = definition.node.add(name=f"product{number}", op="MatMul", input=[last, factor]).name
    add_to_output(nodes, last)


def with_many_looks_at_much(nodes, definition):
    sizes = [constant(definition, "size", [16_000, 16_000]), constant(definition, "one", np.float32(1))]
    definition.node.add(name="fill", op="Fill", input=sizes)
    last, axis = "fill", constant(definition, "axis", np.int32(0))
    for number in range(1_000):
        name = f"largest{number}"
        definition.node.add(name=name, op="ArgMax", input=["fill", axis])
        definition.node.add(name=f"sum{number}", op="AddV2", input=[last, name] if number else [name, name])
        last = f"sum{number}"
    add_to_output(nodes, last)


def with_many_copies(nodes, definition):
    sizes = [constant(definition, "size", [2_000, 2_000]), constant(definition, "one", np.float32(1))]
    definition.node.add(name="fill", op="Fill", input=sizes)
    last, flat = "fill", constant(definition, "flat", [4_000_000])
    for number in range(1_000):
        definition.node.add(name=f"copy{number}", op="Reshape", input=["fill", flat])
        definition.node.add(name=f"sum{number}", op="AddV2", input=[f"copy{number}", last if number else "copy0"])
        last = f"sum{number}"
    add_to_output(nodes, last)


def with_other_sizes(nodes, definition):
    nodes["ga/fc/w"].attr["value"].tensor.tensor_shape.dim[1].size = 3


def with_a_name_twice(nodes, definition):
    definition.node.add().CopyFrom(nodes["ga/fc/w"])


def without_strides(nodes, definition):
    for node in nodes.values():
        if node.op == "Conv2D":
            del node.attr["strides"]


@pytest.mark.long(seconds=3)
@pytest.mark.parametrize(
    ("spoil", "answer"),
    [
        (with_cycle, "has a cycle: the node 'ga/"),
        (with_cycle_of_constants, "has a cycle: the node '[ab]' depends on itself"),
        (with_another_type, r"its node 'ga/fc/w' \(Const\) cannot be computed \(its value is of another type\)"),
        (with_text, r"its node 'ga/fc/w' \(Const\) cannot be computed \(the type 7\)"),
        (with_huge_fill, r"its node 'fill' \(Fill\) cannot be computed \(a value of 14,400,000,000 bytes\)"),
        (with_huge_constant, r"its node 'ga/fc/w' \(Const\) cannot be computed \(a value of"),
        (with_much_arithmetic, r"its node 'product\d+' \(MatMul\) cannot be computed \(more than"),
        (with_many_looks_at_much, r"its node 'largest\d+' \(ArgMax\) cannot be computed \(more than"),
        (with_many_copies, r"its node '(copy|sum)\d+' \(\w+\) cannot be computed \(more than"),
        (with_other_sizes, r"its node 'ga/fc/w' \(Const\) cannot be computed \(cannot reshape"),
        (with_a_name_twice, "two of its nodes have the same name"),
        (without_strides, "is damaged: its layers do not fit together"),
    ],
)
def test_a_hostile_graph_is_refused_before_it_takes_time_or_memory(frozen_folder, tmp_path, spoil, answer):
    definition = read_graph(frozen_folder("small") / "model.pb")
    spoil({node.name: node for node in definition.node}, definition)
    (tmp_path / "x.pb").write_bytes(definition.SerializeToString())
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(NeurozooError, match=rf"x\.pb.* {answer}"):
        import_graph(tmp_path / "x.pb", game="breakout", run_dir=tmp_path / "run")
    assert time.process_time() - start < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20  # kB
    assert not (tmp_path / "run").exists()


def test_no_operation_of_a_graph_is_run_by_tensorflow(frozen_folder, monkeypatch):
    import tensorflow as tf

    definition = read_graph(frozen_folder("small") / "model.pb")
    monkeypatch.setattr(tf.graph_util, "import_graph_def", None)
    monkeypatch.setattr(tf.compat.v1, "Session", None)
    reader = GraphReader(definition, input_node="X_t", output_node="ga/out/signal", source="x.pb")
    assert len(reader.layers()) == 4
    assert reader.function((84, 84, 4))(np.zeros((84, 84, 4), np.float32)).shape == (4,)


def test_values_are_those_that_tensorflow_computes(frozen_folder):
    import tensorflow as tf

    definition = read_graph(frozen_folder("small") / "model.pb")
    reader = GraphReader(definition, input_node="X_t", output_node="ga/out/signal", source="x.pb")
    observation = np.random.default_rng(0).random((84, 84, 4), np.float32)
    with tf.Graph().as_default() as graph:
        (outputs,) = tf.graph_util.import_graph_def(definition, return_elements=["ga/out/signal:0"], name="")
        with tf.compat.v1.Session(graph=graph) as session:
            expected = session.run(outputs, {"X_t:0": observation[None]})[0]
    np.testing.assert_allclose(reader.function((84, 84, 4))(observation), expected, rtol=1e-4, atol=1e-5)
