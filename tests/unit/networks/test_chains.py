import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import NETWORKS, get_network

ATARI, CARTPOLE, MAZE = (84, 84, 4), (1, 1, 4), (1, 1, 11)
RGB, GREY, OBJECTS = (20, 20, 3), (20, 20, 1), (20, 20, 6)  # the river crossing task
UNPADDED = ("nature", "simple_dqn")  # whose kernels do not fit into the river crossing task


@pytest.mark.parametrize(
    ("models", "shape", "actions", "count"),
    [
        # Stated in section 3 of the specification.
        ("large large_dqn large_glorot", ATARI, 3, 4_044_963),
        ("large large_dqn large_glorot", ATARI, 4, 4_045_476),
        ("large large_dqn large_glorot", ATARI, 6, 4_046_502),
        ("large large_dqn large_glorot", ATARI, 9, 4_048_041),
        ("large large_dqn large_glorot virtual_bn_large", ATARI, 18, 4_052_658),
        ("small small_dqn small_glorot small_normalised virtual_bn", ATARI, 3, 1_004_595),
        ("small small_dqn small_glorot small_normalised virtual_bn", ATARI, 4, 1_004_852),
        ("small small_dqn small_glorot small_normalised virtual_bn", ATARI, 6, 1_005_366),
        ("small small_dqn small_glorot small_normalised virtual_bn", ATARI, 9, 1_006_137),
        ("small small_dqn small_glorot small_normalised virtual_bn", ATARI, 18, 1_008_450),
        ("recurrent_large", ATARI, 3, 4_054_179),
        ("recurrent_large", ATARI, 18, 4_061_874),
        ("recurrent_large_iotas recurrent_large_iotas_linear recurrent_large_evolved", ATARI, 18, 4_061_906),
        ("linear", ATARI, 18, 508_050),
        ("linear", CARTPOLE, 2, 10),
        ("simple", ATARI, 18, 452_178),
        ("simple", CARTPOLE, 2, 386),
        ("simple", MAZE, 2, 498),
        ("cshenton", (210, 160, 3), 18, 4_439_552),
        # Specification of DQN, section 6; biases by hand: 32 + 64 + 64 + 512 and one for each action
        ("simple_dqn", ATARI, 3, 1_684_992),
        ("simple_dqn", ATARI, 4, 1_685_504),
        ("simple_dqn", ATARI, 6, 1_686_528),
        ("simple_dqn", ATARI, 18, 1_692_672),
        ("nature", ATARI, 4, 1_685_504 + 672 + 4),
        ("nature", ATARI, 18, 1_692_672 + 672 + 18),
        # That of the river crossing task, section 1.7.
        ("small", RGB, 18, 89_922),
        ("small", GREY, 18, 87_874),
        ("small", OBJECTS, 18, 92_994),
        ("recurrent_large", RGB, 18, 389_810),
        ("recurrent_large", GREY, 18, 385_714),
        ("recurrent_large", OBJECTS, 18, 395_954),
        # By hand. Gain and a second offset of 16 + 32 + 256 channels each:
        ("es_atari", ATARI, 18, 1_008_450 + 2 * 304),
        # 3*3*3*3, then 1,200 * 256 + 256, then 256 * 18 + 18
        ("river_test", RGB, 18, 81 + 307_456 + 4_626),
        # 3*3*6*32 + 32, twice 3*3*32*32 + 32, 12,800 * 256 + 256, 256 * 18 + 18
        ("cells", OBJECTS, 18, 1_760 + 2 * 9_248 + 3_277_056 + 4_626),
        # 376 * 256 + 256, 256 * 256 + 256, 256 * 17 + 17
        ("dense_tanh mujoco", (1, 1, 376), 17, 96_512 + 65_792 + 4_369),
        # The specification of the river crossing task, section 2; 4-10-8-2 by hand
        ("modular", OBJECTS, 18, 44),
        ("modular_evolved", OBJECTS, 18, 44 + 9),
        ("modular_movement", OBJECTS, 18, 44 + 64),
        ("modular_evolved_movement", OBJECTS, 18, 44 + 9 + 64),
        ("modular_rgb", OBJECTS, 18, 40 + 80 + 16),
        ("modular_rgb_evolved", OBJECTS, 18, 136 + 9),
        ("modular_rgb_movement", OBJECTS, 18, 136 + 64),
        ("modular_rgb_evolved_movement", OBJECTS, 18, 136 + 9 + 64),
    ],
)
def test_networks_have_the_published_numbers_of_parameters(models, shape, actions, count):
    assert {get_network(model).layout(actions, shape).parameter_count for model in models.split()} == {count}


def test_the_table_above_knows_every_network():
    (table,) = (mark for mark in test_networks_have_the_published_numbers_of_parameters.pytestmark)
    assert {model for row in table.args[1] for model in row[0].split()} == set(NETWORKS)


def test_parameters_of_the_large_network_are_at_the_published_places():
    layout = get_network("large").layout(18)
    assert [(placed.layer.name, placed.offset("w"), placed.offset("b")) for placed in layout.layers] == [
        ("conv1", 0, 8192),
        ("conv2", 8224, 40992),
        ("conv3", 41056, 77920),
        ("fc", 77984, 4042912),
        ("out", 4043424, 4052640),
    ]
    assert [placed.in_shape for placed in layout.layers[-2:]] == [(1, 1, 11 * 11 * 64), (1, 1, 512)]


@pytest.mark.parametrize(
    ("model", "scales"),
    [
        ("large", [0.0625, 0.044194174, 0.041666667, 0.011363636, 0.0044194174]),
        ("small", [0.0625, 0.0625, 0.016070609, 0.00625]),
        ("recurrent_large", [0.0625, 0.0058925565, 0.044194174, 0.041666667, 0.011363636, 0.0044194174]),
        ("recurrent_large_iotas", [0.0625, 0.058925565, 0.044194174, 0.041666667, 0.011363636, 0.0044194174]),
        ("recurrent_large_iotas_linear", [0.0625, 0.058925565, 0.044194174, 0.041666667, 0.011363636, 0.0044194174]),
        ("recurrent_large_evolved", [0.0625, 0.0058925565, 0.044194174, 0.041666667, 0.011363636, 0.0044194174]),
        ("virtual_bn", [0.0625, 0.0625, 0.016070609, 0.0625]),
    ],
)
def test_initial_weights_have_the_published_scale_and_biases_none(model, scales):
    layout = get_network(model).layout(18)
    theta = layout.initialise(np.ones(layout.parameter_count, np.float32))
    assert theta.dtype == np.float32
    for placed, scale in zip(layout.layers, scales, strict=True):
        weights = theta[placed.places["w"]]
        assert (weights == weights[0]).all()
        assert weights[0] == pytest.approx(scale, rel=1.2e-7)  # stated with eight digits; test_genomes knows all bits
        if placed.layer.has_bias:
            assert not theta[placed.places["b"]].any()


@pytest.mark.parametrize(
    ("model", "scales"),
    [
        # Section 7.2 of the specification: sqrt(1.3 * 2 / fan in).
        ("cshenton", [0.116368667, 0.100778222, 0.0122663345, 0.100778222]),
        ("large_dqn", [33.94, 27.71, 24, 64.25, 1.628]),  # stated with four digits
        ("small_dqn", [25.30, 19.60, 45.43, 1.170]),
        # By hand: sqrt(2 / ((4 + 16) * 64)), sqrt(2 / ((16 + 32) * 16)), sqrt(2 / (3,872 + 256)), sqrt(2 / 274)
        ("small_glorot", [0.0395285, 0.0510310, 0.0220113, 0.1 * 0.0854358]),
        ("es_atari", [0.0395285, 0.0510310, 0.0220113, 0.0854358]),
        # sqrt(2 / ((4 + 32) * 64)), sqrt(2 / (96 * 16)), sqrt(2 / (128 * 9)), sqrt(2 / 8,256), sqrt(2 / 530)
        ("large_glorot", [0.0294628, 0.0360844, 0.0416667, 0.0155643, 0.1 * 0.0614295]),
    ],
)
def test_other_initial_weights_have_the_stated_scale(model, scales):
    placed = get_network(model).layout(18, (210, 160, 3) if model == "cshenton" else ATARI).layers
    assert [float(layer.scale) for layer in placed] == pytest.approx(scales, rel=5e-4)


def test_iotas_and_gates_start_as_noise_gains_at_one_and_offsets_at_zero():
    def initial(model):
        layout = get_network(model).layout(18)
        return layout.split(layout.initialise(np.full(layout.parameter_count, -3, np.float32)))

    assert set(initial("recurrent_large_iotas")["recu1/iotas"]) == {-3.0}
    assert set(initial("recurrent_large_evolved")["recu1/gates"]) == {-1.5}
    arrays = initial("es_atari")
    for layer in ("conv1", "conv2", "fc"):
        assert set(arrays[f"{layer}/gain"]) == {1.0}
        assert set(arrays[f"{layer}/offset"]) == set(arrays[f"{layer}/b"]) == {0.0}


@pytest.mark.parametrize(
    ("model", "sides"), [("large", (21, 11, 11, 1, 1)), ("nature", (20, 9, 7, 1, 1)), ("simple_dqn", (20, 9, 7, 1, 1))]
)
def test_pictures_of_84_pixels_shrink_as_published(model, sides):
    shapes = [placed.out_shape for placed in get_network(model).layout(18).layers]
    assert shapes == [(side, side, units) for side, units in zip(sides, (32, 64, 64, 512, 18), strict=True)]


@pytest.mark.parametrize("model", ["small_normalised", "dense_tanh"])
def test_the_weights_of_each_unit_are_scaled_to_one_length(model):
    layout = get_network(model).layout(5, RGB)
    noise = np.random.default_rng(3).standard_normal(layout.parameter_count).astype(np.float32)
    arrays, noises = layout.split(layout.initialise(noise)), layout.split(noise)
    for placed in layout.layers:
        name, units = placed.layer.name, placed.out_shape[2]
        columns, before = (part[f"{name}/w"].reshape(-1, units).astype(float) for part in (arrays, noises))
        lengths = np.linalg.norm(columns, axis=0)
        np.testing.assert_allclose(
            lengths, {"small_normalised": 0.1, "dense_tanh": 0.01}[model] if name == "out" else 1
        )
        cosines = (columns * before).sum(0) / lengths / np.linalg.norm(before, axis=0)
        np.testing.assert_allclose(cosines, 1)
        assert not arrays[f"{name}/b"].any()


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("virtual_bn", "conv1/w conv1/b conv2/w conv2/b fc/w fc/b out/w out/b"),
        (
            "es_atari",
            "conv1/w conv1/b conv1/offset conv1/gain conv2/w conv2/b conv2/offset conv2/gain "
            "fc/w fc/b fc/offset fc/gain out/w out/b",
        ),
        ("cshenton", "conv1/w conv2/w fc/w out/w"),
        ("simple_dqn", "conv1/w conv2/w conv3/w fc/w out/w"),
        ("recurrent_large", "conv1/w conv1/b recu1/w conv2/w conv2/b conv3/w conv3/b fc/w fc/b out/w out/b"),
        ("river_test", "recu1/w fc/w fc/b out/w out/b"),
        (
            "recurrent_large_iotas",
            "conv1/w conv1/b recu1/iotas recu1/w conv2/w conv2/b conv3/w conv3/b fc/w fc/b out/w out/b",
        ),
        (
            "recurrent_large_evolved",
            "conv1/w conv1/b recu1/gates recu1/w conv2/w conv2/b conv3/w conv3/b fc/w fc/b out/w out/b",
        ),
    ],
)
def test_parameters_come_in_the_stated_order_without_gap(model, names):
    layout = get_network(model).layout(4)
    theta = np.arange(layout.parameter_count, dtype=np.float32)
    arrays = layout.split(theta)
    assert list(arrays) == names.split()
    np.testing.assert_array_equal(np.concatenate([array.ravel() for array in arrays.values()]), theta)


@pytest.mark.parametrize("model", ["small", "recurrent_large", "small_normalised", "modular_rgb_evolved_movement"])
def test_every_parameter_belongs_to_one_unit(model):
    shape = OBJECTS if get_network(model).is_modular else (84, 84, 4)
    layout = get_network(model).layout(18, shape)
    assert np.array_equal(np.sort(np.concatenate(layout.neurons)), np.arange(layout.parameter_count))


def test_a_unit_has_its_incoming_weights_and_its_bias():
    layout = get_network("small").layout(18)
    parts = layout.split(np.arange(layout.parameter_count, dtype=np.float32))
    last = layout.neurons[-1]
    assert last.tolist() == [*parts["out/w"][:, -1], parts["out/b"][-1]]
    assert len(get_network("modular").layout(18, OBJECTS).neurons) == 4 + 5
    assert len(get_network("modular_evolved").layout(18, OBJECTS).neurons) == 4 + 5 + 1


def test_gates_round_halves_to_even_and_stop_at_the_width_of_the_map():
    recurrent = get_network("recurrent_large_evolved").layout(4, (64, 64, 4)).layers[1]
    gates = np.array([0, 0.5, 1.5, 2.5, -3.5, 3.4, 15.4, 15.6, 99], np.float32) / 16
    assert recurrent.gate_cycles(gates).tolist() == [0, 0, 2, 2, 4, 3, 15, 16, 16]


def test_an_observation_smaller_than_the_kernels_is_refused():
    assert get_network("nature").layout(3, (36, 36, 1)).layers[2].out_shape == (1, 1, 64)
    for shape in ((36, 35, 1), (20, 20, 3), (4, 84, 1)):
        with pytest.raises(
            NeurozooError, match=f"observation of {shape[0]} x {shape[1]}. Choose a network with padding"
        ):
            get_network("nature").layout(3, shape)


def test_weights_of_another_network_are_not_split():
    with pytest.raises(
        ValueError, match=r"small with 3 actions has 1,004,595 parameters, but got an array of shape \(7,\)"
    ):
        get_network("small").layout(3).split(np.zeros(7, np.float32))


def test_only_virtual_batch_normalisation_and_statistics_need_a_reference():
    layouts = {name: network.layout(3) for name, network in NETWORKS.items()}
    assert {name for name, layout in layouts.items() if layout.needs_statistics} == {"mujoco"}
    assert {name for name, layout in layouts.items() if layout.needs_reference} == {
        "virtual_bn", "virtual_bn_large", "es_atari", "mujoco",
    }  # fmt: skip


def test_networks_are_found_by_our_name_and_by_the_published_one():
    assert get_network("large") is get_network("LargeModel") is NETWORKS["large"]
    assert get_network("small") is get_network("Model") is get_network("RiverModel")
    assert get_network("virtual_bn") is get_network("ModelVirtualBN")
    assert NETWORKS["small"].published_name == "Model"
    assert NETWORKS["cells"].published_name is None
    assert get_network("recurrent_large") is get_network("RecurrentLargeModel")


@pytest.mark.parametrize(("name", "hint"), [("recurent_large", "; did you mean 'recurrent_large'"), (3, "")])
def test_an_unknown_network_is_refused_with_the_nearest(name, hint):
    with pytest.raises(NeurozooError, match=f"network {name!r} is unknown{hint}.* Known: .*, "):
        get_network(name)
