import numpy as np
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.native_plan import PLAN_SCALES, LayerPlan, native_plan, plan_scales

OBJECTS = (20, 20, 6)  # the river crossing task


def test_the_scales_of_a_plan_are_those_of_weights_factors_and_outputs():
    scales = plan_scales(get_network("recurrent_large_evolved").layout(4))
    assert scales.dtype == np.float32
    np.testing.assert_allclose(scales[:2], [[0.0625, 1, 1], [0.0058925565, 0.5, 1]], rtol=1e-6)
    scales = plan_scales(get_network("cshenton").layout(4, (210, 160, 3)))
    np.testing.assert_allclose(scales[:, PLAN_SCALES.index("output_gain")], [0.99950037] * 3 + [1], rtol=1e-7)


def test_a_dense_first_layer_sees_the_observation_with_its_shape():
    plan = native_plan(get_network("simple").layout(4, OBJECTS))
    first = dict(zip(LayerPlan._fields, plan[0].tolist(), strict=True))
    assert (first["in_height"], first["in_width"], first["in_channels"]) == OBJECTS
    assert (first["out_channels"], first["bias_offset"]) == (16, 2400 * 16)


def test_a_gated_layer_has_as_many_cycles_as_the_map_is_wide():
    layout = get_network("recurrent_large_evolved").layout(4, (64, 64, 4))
    assert layout.layers[1].in_shape == (16, 16, 32)
    assert native_plan(layout)[1, LayerPlan._fields.index("cycles")] == 16


def test_a_plan_has_one_row_for_each_layer():
    rows = native_plan(get_network("recurrent_large").layout(4))
    assert rows.dtype == np.int64
    by_name = [dict(zip(LayerPlan._fields, row.tolist(), strict=True)) for row in rows]
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
