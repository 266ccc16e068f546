"""Keras networks have the published sizes, start as published, remember, forget, and open without this package."""

import numpy as np
import pytest
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.environments.game_networks import any_layout_of, layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import KERAS_NETWORKS, get_architecture, get_keras_network, get_network

TINY = (12, 10, 2)  # an observation small enough for slow twins


@pytest.mark.parametrize(
    ("model", "actions", "count"),
    [
        # Section 3.3 of the specification.
        ("impala_gym_simple", 3, 4_045_492),
        ("impala_gym_simple", 4, 4_046_014),
        ("impala_gym_simple", 6, 4_047_064),
        ("impala_gym_simple", 18, 4_053_532),
        ("impala_gym_deep", 3, 1_619_668),
        ("impala_gym_deep", 4, 1_620_949),
        ("impala_gym_deep", 6, 1_623_511),
        ("impala_gym_deep", 18, 1_638_883),
        ("impala_deep_lstm", 18, 1_638_883),
        # By hand: 8*8*4*16 + 16, 4*4*16*32 + 32, 11*11*32 * 256 + 256, then 263 * 7 + 7
        ("impala_shallow", 6, 4_112 + 8_224 + 991_488 + 1_848),
        # ... and two for each of 21*21*16, 11*11*32 and 256
        ("impala_shallow_layer_norm", 6, 1_005_672 + 2 * (7_056 + 3_872 + 256)),
        # impala_shallow, then an LSTM of (263 + 256) * 1024 + 1024, then 256 * 7 + 7
        ("impala_shallow_lstm", 6, 4_112 + 8_224 + 991_488 + 532_480 + 1_799),
        # That of impala_gym_deep without its LSTM: 263 * 7 + 7 instead of 532_480 + 1_799
        ("impala_deep", 6, 1_623_511 - 534_279 + 1_848),
        # Section 4.4 of the description of DSAGE; PyTorch has the LSTM's 1,024 biases twice
        ("maze_recurrent", 7, 433_953 - 1_024),
        # conv1 8*8*4*32 + 32, two per output of 20*20*32; conv2 4*4*32*64 + 64, 9*9*64; conv3 3*3*64*64 + 64, 7*7*64;
        # fc 3136*512 + 512, 512; 512*6 + 6
        ("nature_layer_norm", 6, (8_224 + 25_600) + (32_832 + 10_368) + (36_928 + 6_272) + (1_606_144 + 1_024) + 3_078),
        # conv1 8*8*4*16 + 16, two for each of 20*20*16; conv2 4*4*16*32 + 32, 9*9*32; fc 2592*256 + 256, 256; 256*6 + 6
        ("small_layer_norm", 6, (4_112 + 12_800) + (8_224 + 5_184) + (663_808 + 512) + 1_542),
    ],
)
def test_keras_networks_have_the_published_numbers_of_parameters(model, actions, count):
    layout = get_keras_network(model).layout(actions)
    assert layout.parameter_count == count
    assert layout.keras_model().count_params() == count


def test_the_table_above_knows_every_keras_network():
    (table,) = (mark for mark in test_keras_networks_have_the_published_numbers_of_parameters.pytestmark)
    assert {row[0] for row in table.args[1]} == set(KERAS_NETWORKS)


@pytest.mark.parametrize(
    ("model", "shapes"),
    [
        # Sections 3.1 and 3.2 of the specification.
        (
            "SimpleConvNetAgent",
            {"conv1": (21, 21, 32), "conv2": (11, 11, 64), "conv3": (11, 11, 64), "fc": (512,), "policy": (6,)},
        ),
        (
            "ResNetLSTMAgent",
            {
                "section1": (42, 42, 16),
                "section2": (21, 21, 32),
                "section3": (11, 11, 32),
                "fc": (256,),
                "lstm": (256,),
                "policy": (6,),
            },
        ),
    ],
)
def test_layers_have_the_published_shapes(model, shapes):
    layout = get_architecture(model).layout(6)
    keras_model = layout.keras_model()
    assert [placed.layer.name for placed in layout.layers] == list(shapes)
    for placed in layout.layers:
        name = placed.layer.name
        assert keras_model.get_layer(name).output.shape[1:] == shapes[name]
        shown = placed.out_shape if len(shapes[name]) == 3 else placed.out_shape[2:]
        assert shown == shapes[name]


def test_initial_weights_are_truncated_normal_and_biases_zero():
    layout = get_keras_network("impala_gym_deep").layout(6)
    arrays = layout.split(layout.draw(np.random.default_rng(1)))
    weights = arrays["fc/w"]  # 3872 x 256
    deviation = 1 / np.sqrt(3872)
    assert np.abs(weights).max() <= 2 * deviation
    # The standard deviation of a normal distribution cut off at 2 is 0.8796 (by numerical integration).
    numbers = np.linspace(-2, 2, 100_001)
    density = np.exp(-(numbers**2) / 2)
    assert weights.std() / deviation == pytest.approx(np.sqrt((numbers**2 * density).sum() / density.sum()), rel=5e-3)
    bound = np.sqrt(6 / (263 + 256 + 1024))
    for part in ("w", "u"):
        assert np.abs(arrays[f"lstm/{part}"]).max() == pytest.approx(bound, rel=1e-3)
    assert arrays["lstm/b"].tolist() == [0.0] * 256 + [1.0] * 256 + [0.0] * 512
    assert all(not array.any() for name, array in arrays.items() if name.endswith("/b") and name != "lstm/b")


def test_orthogonal_weights_are_orthonormal_vectors_with_the_gains_of_cleanrl():
    layout = get_keras_network("impala_shallow_lstm").layout(6, (36, 36, 1))
    arrays = layout.split(layout.draw(np.random.default_rng(1), "orthogonal"))
    for name, gain in (("conv1/w", 2**0.5), ("fc/w", 2**0.5), ("lstm/u", 1), ("policy/w", 0.01), ("baseline/w", 1)):
        matrix = arrays[name].reshape(-1, arrays[name].shape[-1]).astype(np.float64)
        shorter = matrix if len(matrix) <= matrix.shape[1] else matrix.T
        np.testing.assert_allclose(shorter @ shorter.T, gain**2 * np.eye(len(shorter)), atol=1e-5)
    assert not any(array.any() for name, array in arrays.items() if name.endswith("/b"))


def test_a_q_network_is_the_nature_network_with_layer_normalisation():
    """Against a slow twin: conv, normalise over all outputs, ReLU; the largest value is the baseline."""
    layout = get_keras_network("nature_layer_norm").layout(3, (36, 36, 1))
    random = np.random.default_rng(3)
    theta = layout.draw(random, "orthogonal") + random.normal(0, 0.1, layout.parameter_count).astype(np.float32)
    arrays = {name: array.astype(np.float64) for name, array in layout.split(theta).items()}
    model, seen = layout.keras_model(theta), random.random((1, 36, 36, 1), np.float32)

    def normalised(value, name):
        value = (value - value.mean()) / np.sqrt(value.var() + 1e-5)
        return np.maximum(value * arrays[f"{name}_norm/gain"] + arrays[f"{name}_norm/offset"], 0)

    value = seen[0].astype(np.float64)
    for name, stride in (("conv1", 4), ("conv2", 2), ("conv3", 1)):
        kernel = arrays[f"{name}/w"]
        side = kernel.shape[0]
        size = (value.shape[0] - side) // stride + 1
        windows = [
            [value[stride * y : stride * y + side, stride * x : stride * x + side] for x in range(size)]
            for y in range(size)
        ]
        value = normalised(np.einsum("yxabc,abcd->yxd", np.array(windows), kernel) + arrays[f"{name}/b"], name)
    value = normalised(value.ravel() @ arrays["fc/w"] + arrays["fc/b"], "fc")
    expected = value @ arrays["q_values/w"] + arrays["q_values/b"]
    values, largest = map(np.asarray, model([seen, np.int32([2]), np.float32([5])]))
    np.testing.assert_allclose(values[0], expected, rtol=1e-4, atol=1e-5)
    assert largest.tolist() == [[values.max()]]
    again = map(np.asarray, model([seen, np.int32([0]), np.float32([0])]))  # it does not see action and reward
    np.testing.assert_array_equal(next(again), values)


def test_gains_start_at_one_and_offsets_at_zero():
    layout = get_keras_network("nature_layer_norm").layout(3, (36, 36, 1))
    for rule in ("fan_in", "orthogonal"):
        arrays = layout.split(layout.draw(np.random.default_rng(1), rule))
        for name, array in arrays.items():
            if not name.endswith("/w"):
                assert np.unique(array).tolist() == [1.0 if name.endswith("/gain") else 0.0]
    matrix = arrays["q_values/w"].astype(np.float64)
    np.testing.assert_allclose(matrix.T @ matrix, 2 * np.eye(3), atol=1e-5)


@pytest.fixture(scope="module")
def recurrent():
    layout = get_keras_network("impala_deep_lstm").layout(5, TINY)
    theta = layout.draw(np.random.default_rng(3))
    return layout, theta, layout.keras_model(theta)


def sequence(time, batch, actions=5):
    random = np.random.default_rng(7)
    observations = random.random((time, batch, *TINY), np.float32)
    taken = random.integers(actions, size=(time, batch)).astype(np.int32)
    rewards = random.normal(0, 2, (time, batch)).astype(np.float32)
    return observations, taken, rewards


def stepwise(model, inputs, is_first, state):
    """The slow twin of `unroll`: one call per step."""
    state, logits, baselines = list(state), [], []
    for step, first in enumerate(is_first):
        state = [np.where(first[:, None], 0, part).astype(np.float32) for part in state]
        said, baseline, *state = (np.asarray(each) for each in model([*(each[step] for each in inputs), *state]))
        logits.append(said)
        baselines.append(baseline[:, 0])
    return np.array(logits), np.array(baselines)


def test_an_unrolled_lstm_equals_a_stepwise_one_with_resets(recurrent):
    layout, _, model = recurrent
    inputs = sequence(7, 3)
    is_first = np.zeros((7, 3), bool)
    is_first[0, 0] = is_first[3, 1] = is_first[4, 1] = is_first[6, 2] = True
    random = np.random.default_rng(5)
    state = [random.normal(size=(3, *shape)).astype(np.float32) for shape in layout.state_shapes]
    logits, baseline = layout.unroll(model, inputs, is_first, state)
    expected_logits, expected_baseline = stepwise(model, inputs, is_first, state)
    np.testing.assert_allclose(np.asarray(logits), expected_logits, atol=1e-5)
    np.testing.assert_allclose(np.asarray(baseline), expected_baseline, atol=1e-5)


def test_the_inputs_of_the_heads_are_features_then_reward_then_action():
    layout = get_keras_network("impala_shallow").layout(4, TINY)
    theta = layout.draw(np.random.default_rng(3))
    model = layout.keras_model(theta)
    observations = sequence(1, 2)[0][0]
    logits, baseline = model([observations, np.int32([3, 0]), np.float32([-0.5, 7.0])])
    import keras

    features = np.asarray(keras.Model(model.inputs[0], model.get_layer("fc").output)(observations))
    added = np.float32([[-0.5, 0, 0, 0, 1], [1.0, 1, 0, 0, 0]])
    arrays = layout.split(theta)
    joined = np.concatenate([features, added], axis=-1)
    np.testing.assert_allclose(np.asarray(logits), joined @ arrays["policy/w"] + arrays["policy/b"], atol=1e-5)
    np.testing.assert_allclose(np.asarray(baseline), joined @ arrays["baseline/w"], atol=1e-5)


def test_the_parameter_vector_goes_in_and_out(recurrent):
    layout, theta, model = recurrent
    np.testing.assert_array_equal(layout.theta_of(model), theta)
    assert list(layout.split(theta))[:4] == [
        "section1_conv/w", "section1_conv/b", "section1_block1_conv1/w", "section1_block1_conv1/b",
    ]  # fmt: skip
    assert list(layout.split(theta))[-7:] == [
        "lstm/w", "lstm/u", "lstm/b", "policy/w", "policy/b", "baseline/w", "baseline/b",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="parameters"):
        layout.split(theta[1:])


def test_a_keras_network_is_refused_where_a_chain_is_needed():
    assert any_layout_of("pong", "impala_deep", protocol_of("pong", "machado2018")).num_actions == 18
    for ask in (lambda: get_network("impala_deep"), lambda: layout_of("pong", "impala_deep", protocol_of("pong"))):
        with pytest.raises(NeurozooError, match=r"'impala_deep' is a Keras network.*no native plan.*Choose a chain"):
            ask()


@pytest.mark.parametrize(
    "algo", [name for name, spec in ALGORITHMS.items() if spec.result == "network" and name != "impala"]
)
def test_algorithms_for_chains_refuse_keras_networks(algo):
    with pytest.raises(NeurozooError, match="algorithms for chains cannot train it"):
        ALGORITHMS[algo].check_variant("impala_shallow")


def test_a_chain_is_refused_where_two_heads_are_needed():
    with pytest.raises(NeurozooError, match=r"'large' has no policy head and no baseline head.*impala_shallow"):
        get_keras_network("large")


def test_vectors_are_refused():
    with pytest.raises(NeurozooError, match="no pictures as observations"):
        any_layout_of("hard_maze", "impala_shallow", protocol_of("hard_maze"))
