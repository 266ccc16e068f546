import math

import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.saliency import (
    METHODS,
    ExplainedNetwork,
    Question,
    integrated_gradients,
    perturb,
    saliency,
    sarfa_scores,
)
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.chains import Network
from neurozoo.networks.layers import Layer

ATARI = ObservationShape(84, 84, 1, 4)


@pytest.fixture(scope="module")
def seen():
    return np.random.default_rng(0).random((2, 84, 84, 4), np.float32)


def one_pixel(arrays):
    """The second output is twice the newest frame's pixel (10, 25) minus the older one's; the others are 0."""
    weights = arrays["out/w"].reshape(84, 84, 4, 3)
    for array in arrays.values():
        array[:] = 0
    weights[10, 25, 3, 1], weights[10, 25, 2, 1] = 2, -1


def one_channel(arrays):
    """Only channel 2 of the convolution, which copies the newest frame, decides: the output is its sum."""
    for array in arrays.values():
        array[:] = 0
    arrays["conv/w"][0, 0, 3, 2] = 1
    arrays["conv/w"][0, 0, 3, 0] = 1
    arrays["out/w"].reshape(9, 8, 3, 3)[:, :, 2, 1] = 1


COPYING = Network(
    "copying",
    (),
    (Layer("conv", "conv", 3, kernel=1, stride=1), Layer("out", "dense", activation="linear")),
)


def test_integrated_gradients_sum_to_what_the_output_gained(make_frozen, seen):
    model = make_frozen(get_network("small"), ATARI).load_keras()
    question = Question(ExplainedNetwork(model), seen, np.array([0, 2]))
    maps = integrated_gradients(question, points=1024)
    at = np.asarray(model(seen)) - np.asarray(model(np.zeros_like(seen)))
    gained = at[[0, 1], [0, 2]]
    assert (np.abs(gained) > 0.05).all()
    np.testing.assert_allclose(maps.sum(axis=(1, 2, 3)), gained, atol=1e-3)


def test_perturbation_peaks_where_the_network_looks_and_falls_as_the_published_mask(make_frozen, seen):
    model = make_frozen(get_network("linear"), ATARI, change=one_pixel).load_keras()
    (found,) = saliency(model, seen[:1], method="perturbation", target=[1])
    from scipy.ndimage import gaussian_filter

    blurred = [gaussian_filter(seen[0, :, :, frame], 3)[10, 25] for frame in (2, 3)]
    change = 2 * (blurred[1] - seen[0, 10, 25, 3]) - (blurred[0] - seen[0, 10, 25, 2])
    assert found.argmax() == 10 * 84 + 25
    assert found[10, 25] == pytest.approx(change**2 / 2, rel=1e-4)
    beside, diagonal = math.exp(-25 / 50), math.exp(-50 / 50)  # the mask one place away, sigma^2 = 25
    assert found[10, 30] == pytest.approx((change * beside) ** 2 / 2, rel=1e-4)
    assert found[15, 20] == pytest.approx((change * diagonal) ** 2 / 2, rel=1e-4)
    assert found[10, 27] == pytest.approx(0.6 * found[10, 25] + 0.4 * found[10, 30], rel=1e-4)


def test_a_perturbed_place_is_blurred_and_the_rest_stays(seen):
    perturbed = perturb(seen[0])
    assert perturbed.shape == (17 * 17, 84, 84, 4)
    np.testing.assert_allclose(perturbed[0][40:, 40:], seen[0][40:, 40:], atol=1e-6)
    assert np.abs(perturbed[0][:5, :5] - seen[0][:5, :5]).max() > 0.1


def test_sarfa_has_the_value_of_a_hand_calculation():
    before = np.log([0.5, 0.25, 0.25])
    after = np.log([[0.2, 0.4, 0.4], [0.2, 0.6, 0.2], [0.6, 0.2, 0.2], [0.5, 0.25, 0.25]])
    # First: the others keep their order, so K is 1, and dp is 0.3. Second: they become 3/4 and 1/4.
    divergence = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)
    kept = 1 / (1 + divergence)
    expected = [2 * 0.3 / 1.3, 2 * kept * 0.3 / (kept + 0.3), 0, 0]
    np.testing.assert_allclose(sarfa_scores(before, after, 0), expected, rtol=1e-9, atol=1e-12)


def test_grad_cam_shows_the_channel_that_decides(make_frozen):
    shape = ObservationShape(9, 8, 1, 4)
    observation = np.zeros((1, 9, 8, 4), np.float32)
    observation[0, 2:4, 5, 3], observation[0, 6, 1, 2] = [0.5, 1], 1
    model = make_frozen(COPYING, shape, change=one_channel).load_keras()
    (found,) = saliency(model, observation, method="grad_cam", target=[1])
    np.testing.assert_allclose(found, observation[0, :, :, 3], atol=1e-6)  # the mean derivative is 1
    assert not saliency(model, observation, method="grad_cam", target=[0]).any()


def test_guided_backpropagation_stops_negative_signals(make_frozen):
    def change(arrays):
        one_channel(arrays)
        arrays["out/w"].reshape(9, 8, 3, 3)[4, 4, 2, 1] = -1

    shape = ObservationShape(9, 8, 1, 4)
    model = make_frozen(COPYING, shape, change=change).load_keras()
    (found,) = saliency(model, np.full((1, 9, 8, 4), 0.5, np.float32), method="guided_backpropagation", target=[1])
    expected = np.ones((9, 8))
    expected[4, 4] = 0
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_explains_a_network_with_memory(policy_folder, seen, method):
    frozen = open_frozen(policy_folder("impala_shallow_lstm"))
    model = frozen.load_keras()
    history = [np.array([1, 2], np.int32), np.array([0, 1], np.float32)]
    history += [np.random.default_rng(1).normal(size=(2, *shape)).astype(np.float32) for shape in frozen.state_shapes]
    maps = saliency(model, seen, method=method, target=[0, 1], history=history)
    other = saliency(
        model, seen, method=method, target=[0, 1], history=[*history[:2], *map(np.zeros_like, history[2:])]
    )
    assert (maps.shape, maps.dtype) == ((2, 84, 84), np.float32)
    assert np.isfinite(maps).all()
    assert not np.array_equal(maps, other)  # what it remembers counts


def test_the_value_of_a_policy_network_is_its_baseline(policy_folder, seen):
    model = open_frozen(policy_folder("impala_shallow")).load_keras()
    history = [np.zeros(2, np.int32), np.zeros(2, np.float32)]
    question = Question(ExplainedNetwork(model), seen, "value", history)
    maps = integrated_gradients(question, points=1024)
    gained = [np.asarray(model([each, *history])[1])[:, 0] for each in (seen, np.zeros_like(seen))]
    np.testing.assert_allclose(maps.sum(axis=(1, 2, 3)), gained[0] - gained[1], atol=1e-3)


def test_what_cannot_be_explained_is_refused(make_frozen, policy_folder, seen):
    model = make_frozen(get_network("linear"), ATARI).load_keras()
    for choices, sentence in (
        ({"method": "gradcam", "target": [0, 0]}, "method 'gradcam' is unknown; did you mean 'grad_cam'"),
        ({"method": "sarfa", "target": "value"}, "sarfa explains actions"),
        ({"method": "grad_cam", "target": [0, 0]}, "this network has none"),
        ({"method": "sarfa", "target": [0, 3]}, "an action from 0 to 2 for each of 2 observations"),
    ):
        with pytest.raises(NeurozooError, match=sentence):
            saliency(model, seen, **choices)
    with pytest.raises(NeurozooError, match=r"2 inputs beside the observation.*Give it previous_action"):
        saliency(open_frozen(policy_folder("impala_shallow")).load_keras(), seen, method="sarfa", target=[0, 0])
