import dataclasses
import math

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.genomes import Genome, Mutation, decode
from neurozoo.networks import NETWORKS, PLAN_FIELDS, get_network

# Section 2.5 of the specification.
VECTOR = Genome(148462608, (Mutation(219531121, 0.002), Mutation(172882699, 0.002)))
HALVES = np.full((1, 84, 84, 4), 0.5, np.float32)
RAMP = (np.arange(84 * 84 * 4) % 256 / 255).astype(np.float32).reshape(1, 84, 84, 4)


@pytest.mark.parametrize(
    ("model", "actions", "count"),
    [
        ("large", 3, 4_044_963),
        ("large", 4, 4_045_476),
        ("large", 6, 4_046_502),
        ("large", 9, 4_048_041),
        ("large", 18, 4_052_658),
        ("small", 3, 1_004_595),
        ("small", 4, 1_004_852),
        ("small", 6, 1_005_366),
        ("small", 9, 1_006_137),
        ("small", 18, 1_008_450),
        ("recurrent_large", 3, 4_054_179),
        ("recurrent_large", 18, 4_061_874),
    ],
)
def test_networks_have_the_published_numbers_of_parameters(model, actions, count):
    assert get_network(model).layout(actions).parameter_count == count


def test_parameters_of_the_large_network_lie_where_they_were_published():
    layout = get_network("large").layout(18)
    assert [(placed.layer.name, placed.weight_offset, placed.bias_offset) for placed in layout.layers] == [
        ("conv1", 0, 8192),
        ("conv2", 8224, 40992),
        ("conv3", 41056, 77920),
        ("fc", 77984, 4042912),
        ("out", 4043424, 4052640),
    ]


def test_the_recurrent_layer_comes_second_and_has_no_bias():
    layout = get_network("recurrent_large").layout(18)
    recurrent = layout.layers[1]
    assert (recurrent.layer.name, recurrent.weight_offset, recurrent.bias_offset) == ("recu1", 8224, -1)
    assert recurrent.weight_shape == (3, 3, 32, 32)
    assert layout.layers[2].weight_offset == 8224 + 3 * 3 * 32 * 32


@pytest.mark.parametrize(
    ("model", "scales"),
    [
        ("large", [0.0625, 0.044194174, 0.041666667, 0.011363636, 0.0044194174]),
        ("small", [0.0625, 0.0625, 0.016070609, 0.00625]),
        ("recurrent_large", [0.0625, 0.0058925565, 0.044194174, 0.041666667, 0.011363636, 0.0044194174]),
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


def test_images_shrink_from_84_over_21_to_11():
    shapes = [placed.out_shape for placed in get_network("large").layout(18).layers]
    assert shapes == [(21, 21, 32), (11, 11, 64), (11, 11, 64), (1, 1, 512), (1, 1, 18)]


def test_a_plan_has_one_row_for_each_layer():
    rows = get_network("recurrent_large").layout(4).plan()
    assert rows.dtype == np.int64
    by_name = [dict(zip(PLAN_FIELDS, row.tolist(), strict=True)) for row in rows]
    assert by_name[1] == {
        "kind": 1,
        "in_height": 21,
        "in_width": 21,
        "in_channels": 32,
        "out_height": 21,
        "out_width": 21,
        "out_channels": 32,
        "kernel": 3,
        "stride": 1,
        "weight_offset": 8224,
        "bias_offset": -1,
        "activation": 1,
        "cycles": 20,
        "skip": 0,
        "inner_relu": 0,
        "vector_offset": -1,
        "normalisation": 0,
        "shift_offset": -1,
        "gain_offset": -1,
        "initialisation": 0,
    }
    # The last dense layer after 8,224 + 9,216 + 32,832 + 36,928 + 3,965,440 parameters.
    assert by_name[5] == {
        "kind": 2,
        "in_height": 1,
        "in_width": 1,
        "in_channels": 512,
        "out_height": 1,
        "out_width": 1,
        "out_channels": 4,
        "kernel": 0,
        "stride": 1,
        "weight_offset": 4_052_640 - 512 * 18 + 9216,
        "bias_offset": 4_052_640 - 512 * 18 + 9216 + 512 * 4,
        "activation": 0,
        "cycles": 1,
        "skip": 0,
        "inner_relu": 0,
        "vector_offset": -1,
        "normalisation": 0,
        "shift_offset": -1,
        "gain_offset": -1,
        "initialisation": 0,
    }


def test_a_parameter_vector_is_cut_into_arrays_without_gap_or_overlap():
    layout = get_network("recurrent_large").layout(6)
    theta = np.arange(layout.parameter_count, dtype=np.float32)
    arrays = layout.split(theta)
    assert list(arrays) == [
        "conv1/w", "conv1/b", "recu1/w", "conv2/w", "conv2/b", "conv3/w", "conv3/b", "fc/w", "fc/b", "out/w", "out/b",
    ]  # fmt: skip
    np.testing.assert_array_equal(np.concatenate([array.ravel() for array in arrays.values()]), theta)
    assert arrays["conv1/w"].shape == (8, 8, 4, 32)
    assert arrays["fc/w"].shape == (11 * 11 * 64, 512)
    assert arrays["out/b"].shape == (6,)


def test_weights_of_another_network_are_not_split():
    with pytest.raises(
        ValueError, match=r"small with 3 actions has 1,004,595 parameters, but an array of shape \(7,\)"
    ):
        get_network("small").layout(3).split(np.zeros(7, np.float32))


@pytest.mark.parametrize(
    ("model", "halves", "ramp", "first_of_halves", "first_of_ramp"),
    [
        ("large", 17, 17, [-0.004879, 0.00478, 0.011457, 0.006059], [-0.0092, 0.012557, 0.002708, 0.010076]),
        ("small", 7, 7, None, None),
        ("recurrent_large", 5, 6, None, None),
    ],
)
def test_keras_models_give_the_published_outputs(noise, model, halves, ramp, first_of_halves, first_of_ramp):
    layout = get_network(model).layout(18)
    keras_model = layout.keras_model(decode(VECTOR, noise=noise, layout=layout))
    logits = np.array(keras_model(np.concatenate([HALVES, RAMP]), training=False))
    assert logits.shape == (2, 18)
    assert logits.argmax(axis=1).tolist() == [halves, ramp]
    if first_of_halves:
        # Stated with six decimals, in which float32 sums of another order differ by less than one in the last.
        np.testing.assert_allclose(logits[0, :4], first_of_halves, rtol=0, atol=1e-6)
        np.testing.assert_allclose(logits[1, :4], first_of_ramp, rtol=0, atol=1e-6)


def test_the_output_of_a_keras_layer_is_the_activation_of_the_layer_of_its_name(noise):
    import keras

    layout = get_network("recurrent_large").layout(18)
    model = layout.keras_model(decode(VECTOR, noise=noise, layout=layout))
    probe = keras.Model(model.input, [model.get_layer(placed.layer.name).output for placed in layout.layers])
    outputs = [np.array(output) for output in probe(RAMP)]
    for placed, output in zip(layout.layers, outputs, strict=True):
        assert output.shape[1:] == (placed.out_shape if placed.layer.kind != "dense" else placed.out_shape[2:])
        assert (output.min() >= 0) == (placed.layer.activation == "relu")


def test_a_recurrent_layer_repeats_h_plus_conv_of_h_without_activation_inside(noise):
    # One output pixel in the middle of a constant image, far from the border for 1 cycle: h + sum of the kernel * h.
    import keras

    layout = get_network("recurrent_large").layout(18)
    theta = np.zeros(layout.parameter_count, np.float32)
    arrays = layout.split(theta)
    arrays["conv1/b"][:] = 1.0
    arrays["recu1/w"][1, 1] = np.diag(np.where(np.arange(32) < 16, -1.5, 0.1))  # h <- -h / 2 and h <- 1.1 h
    model = layout.keras_model(theta)
    output = np.array(keras.Model(model.input, model.get_layer("recu1").output)(HALVES))
    np.testing.assert_allclose(output[..., :16], 0.5**20, rtol=1e-6)  # a ReLU inside would have made zeros of it
    np.testing.assert_allclose(output[..., 16:], 1.1**20, rtol=1e-5)  # 20 roundings


@pytest.mark.parametrize("model", ["small", "large", "recurrent_large"])
def test_a_keras_file_loads_in_safe_mode_and_gives_the_same(noise, tmp_path, model):
    import keras

    layout = get_network(model).layout(3)
    original = layout.keras_model(decode(Genome(5), noise=noise, layout=layout))
    original.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)
    np.testing.assert_array_equal(loaded(RAMP), original(RAMP))


def test_networks_are_found_by_our_name_and_by_the_published_one():
    assert get_network("large") is get_network("LargeModel") is NETWORKS["large"]
    assert get_network("small") is get_network("Model")
    assert get_network("recurrent_large") is get_network("RecurrentLargeModel")


@pytest.mark.parametrize(("name", "hint"), [("recurent_large", "; did you mean 'recurrent_large'"), (3, "")])
def test_an_unknown_network_is_refused_with_the_nearest(name, hint):
    with pytest.raises(NeurozooError, match=f"network {name!r} is unknown{hint}.* Known: cells, .*large_dqn"):
        get_network(name)


def test_a_network_for_another_observation_keeps_its_layers():
    # The river world of the specification, section 3: 20 x 20 RGB over four frames, 18 actions.
    layout = get_network("small").layout(18, (20, 20, 12))
    # conv 8*8*12*16 + 16, conv 4*4*16*32 + 32 (20 -> 5 -> 3), dense 3*3*32*256 + 256, out 256*18 + 18
    assert layout.parameter_count == 12_304 + 8_224 + 73_984 + 4_626


def test_descriptions_cannot_be_changed_by_accident():
    with pytest.raises(dataclasses.FrozenInstanceError):
        NETWORKS["large"].layers[0].units = 7


def test_fan_in_counts_all_but_the_outputs():
    placed = get_network("large").layout(18).layers[1]
    assert placed.scale == np.float32(1 / math.sqrt(4 * 4 * 32))
