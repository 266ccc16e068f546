import numpy as np
import pytest
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.layers import check_pictures, find_convolution, find_layer, kernel_of, model_to
from neurozoo.networks.catalogue import get_network

RIVER = ObservationShape(20, 20, 3)


@pytest.mark.parametrize("network", ["virtual_bn", "dense_tanh", "river_test"])
def test_a_model_stops_before_or_behind_the_activation_function(make_frozen, network):
    frozen = make_frozen(get_network(network), RIVER)
    seen = np.random.default_rng(0).random((3, 20, 20, 3), np.float32)
    for layer in frozen.layers[:2]:
        expected = frozen.activations_model([layer.name])(seen)
        expected = np.asarray(expected[0] if isinstance(expected, list) else expected)
        before, behind = (np.asarray(model_to(frozen, layer, stops=stops)(seen)) for stops in ("before", "behind"))
        assert np.array_equal(behind, expected)
        function = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}[layer.activation]
        np.testing.assert_allclose(function(before), expected, rtol=1e-5, atol=1e-6)
        assert (before < 0).any()


@pytest.mark.parametrize("network", ["es_atari", "recurrent_large_evolved", "linear"])
def test_kernels_are_the_layer_s_own_weights(make_frozen, network):
    frozen = make_frozen(get_network(network), RIVER)
    for layer in frozen.layers[:2]:
        assert np.array_equal(kernel_of(frozen, layer), frozen.weights[f"{layer.name}/w"])


def test_a_signal_is_rescued_only_if_no_other_gets_back(make_frozen, tiny, tiny_shape):
    import tensorflow as tf

    def slopes(frozen, relu):
        seen = tf.ones((1, *tiny_shape.observation))
        with tf.GradientTape() as tape:
            tape.watch(seen)
            loss = -tf.reduce_sum(model_to(frozen, find_layer(frozen, "conv2"), relu=relu)(seen))
        return tape.gradient(loss, seen).numpy()

    def silence(arrays):
        arrays["conv1/b"][:] = -100

    awake, silent = make_frozen(tiny, tiny_shape), make_frozen(tiny, tiny_shape, change=silence)
    assert np.array_equal(slopes(awake, "rescued"), slopes(awake, "plain"))
    assert not slopes(silent, "plain").any()
    assert slopes(silent, "rescued").any()


def test_a_dense_layer_has_no_filters_and_a_vector_no_pictures(make_frozen):
    frozen = make_frozen(get_network("small"), RIVER)
    with pytest.raises(NeurozooError, match=r"'fc'.*is dense.*conv1, conv2"):
        find_convolution(frozen, "fc")
    with pytest.raises(NeurozooError, match="Layers with filters: none"):
        find_convolution(make_frozen(get_network("simple"), RIVER), "fc1")
    with pytest.raises(NeurozooError, match="sees 11 numbers, not a picture"):
        check_pictures(make_frozen(get_network("simple"), ObservationShape(1, 1, 11)))
