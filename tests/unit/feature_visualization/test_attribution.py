import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.attribution import integrated_gradients
from neurozoo.feature_visualization.layers import kernel_of
from neurozoo.networks.catalogue import get_network

ATARI = ObservationShape(84, 84, 1, 4)


@pytest.fixture(scope="module")
def seen(tiny_shape):
    return np.random.default_rng(5).random((3, *tiny_shape.observation), np.float32)


def test_contributions_add_up_to_what_the_output_gained(make_frozen):
    frozen = make_frozen(get_network("large"), ATARI)
    observations = np.random.default_rng(0).random((2, 84, 84, 4), np.float32)
    made = integrated_gradients(frozen, observations, [0, 2], points=128)
    gained = made.outputs - made.baselines
    assert (np.abs(gained) > 0.01).all()
    np.testing.assert_allclose(made.contributions.sum(axis=(1, 2, 3)), gained, rtol=0.02)
    np.testing.assert_allclose(made.gaps, gained - made.contributions.sum(axis=(1, 2, 3)), atol=1e-5)
    outputs = np.asarray(frozen.load_keras()(observations))
    np.testing.assert_allclose(made.outputs, outputs[[0, 1], [0, 2]], rtol=1e-5)


def test_in_a_linear_network_a_pixel_contributes_its_value_times_its_weight(make_frozen, tiny_shape, seen):
    frozen = make_frozen(get_network("linear"), tiny_shape)
    weights = kernel_of(frozen, frozen.layers[0])[:, 1].reshape(tiny_shape.observation)
    made = integrated_gradients(frozen, seen, [1, 1, 1], points=1)
    np.testing.assert_allclose(made.contributions, weights * seen, rtol=1e-5, atol=1e-7)


def test_gradients_are_those_of_finite_differences(make_frozen, tiny, tiny_shape, seen):
    """Contributions of single pixels against differences of outputs along the same path."""
    frozen = make_frozen(tiny, tiny_shape)
    points, step = 50, 1e-3
    made = integrated_gradients(frozen, seen[:1], [2], points=points)
    model = frozen.load_keras()
    path = ((np.arange(points) + 0.5) / points)[:, None, None, None].astype(np.float32) * seen[0]
    for pixel in ((0, 0, 3), (4, 4, 1), (8, 7, 0), (3, 6, 2)):
        nudge = np.zeros(tiny_shape.observation, np.float32)
        nudge[pixel] = step
        slopes = (np.asarray(model(path + nudge))[:, 2] - np.asarray(model(path - nudge))[:, 2]) / (2 * step)
        expected = slopes.mean() * seen[0][pixel]
        assert made.contributions[0][pixel] == pytest.approx(expected, rel=0.05, abs=2e-4)


def test_a_vector_can_be_explained_too(make_frozen):
    frozen = make_frozen(get_network("simple"), ObservationShape(1, 1, 11))
    seen = np.random.default_rng(0).normal(size=(1, 1, 1, 11)).astype(np.float32)
    made = integrated_gradients(frozen, seen, [0], points=4000)
    np.testing.assert_allclose(made.contributions.sum(), (made.outputs - made.baselines)[0], rtol=0.01)


def test_unknown_outputs_are_refused(make_frozen, tiny, tiny_shape, seen):
    frozen = make_frozen(tiny, tiny_shape)
    with pytest.raises(NeurozooError, match="outputs 0 to 2, but got 3"):
        integrated_gradients(frozen, seen[:1], [3])


def test_outputs_that_also_depend_on_earlier_actions_are_not_explained(policy_folder):
    seen = np.zeros((1, 84, 84, 4), np.float32)
    with pytest.raises(NeurozooError, match="cannot be computed from observations alone"):
        integrated_gradients(open_frozen(policy_folder("impala_shallow")), seen, [0])
