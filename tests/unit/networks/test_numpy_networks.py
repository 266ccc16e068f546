"""Networks in NumPy, against Keras."""

import numpy as np
import pytest
from neurozoo.networks.chains import Network
from neurozoo.networks.layers import Layer
from neurozoo.networks.numpy_networks import dense_network, is_plain, plain_network

CHANGES = [{}, {"gain": 0.5}, {"bias": False}, {"bias": False, "gain": 2.0}]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("computed", [dense_network, plain_network])
def test_dense_layers_compute_what_keras_computes(computed, changes):
    layers = (
        Layer("fc", "dense", 8, activation="tanh", **changes),
        Layer("out", "dense", activation="linear", **changes),
    )
    layout = Network("two", (), layers).layout(3, (1, 1, 5))
    rng = np.random.default_rng(1)
    theta = rng.standard_normal(layout.parameter_count, np.float32)
    observation = rng.standard_normal((1, 1, 5), np.float32)
    expected = layout.keras_model(theta)(observation[None], training=False).numpy()[0]
    given = observation.reshape(-1) if computed is dense_network else observation
    assert is_plain(layout.network)
    np.testing.assert_allclose(computed(layout, theta)(given), expected, rtol=1e-5, atol=1e-6)
