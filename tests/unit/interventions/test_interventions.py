import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.interventions.activations import ErasedModel, IntervenedModel, replacement_of
from neurozoo.interventions.intervention import INPUT, Intervention
from neurozoo.interventions.weights import intervened_weights
from neurozoo.networks.catalogue import NETWORKS
from neurozoo.networks.chains import Network
from neurozoo.networks.layers import Layer
from neurozoo.networks.numpy_networks import plain_network

CHAIN = Network(
    "chain",
    (),
    (
        Layer("conv1", "conv", 4, kernel=3, stride=2),
        Layer("conv2", "conv", 3, kernel=2, gain=0.5),
        Layer("fc", "dense", 6, activation="tanh"),
        Layer("out", "dense", activation="linear"),
    ),
)
LAYOUT = CHAIN.layout(3, (9, 8, 4))
RANDOM = np.random.default_rng(3)
THETA = RANDOM.normal(0, 0.5, LAYOUT.parameter_count).astype(np.float32)
SEEN = RANDOM.random((5, 9, 8, 4), np.float32)


def activations_of(layer):
    """Activations on `SEEN`, by a model that ends there."""
    import keras

    model = LAYOUT.keras_model(THETA)
    return np.asarray(keras.Model(model.input, model.get_layer(layer).output)(SEEN))


@pytest.mark.parametrize(
    "intervention",
    [
        Intervention("conv1", (0, 2)),
        Intervention("conv1", (3,), with_="mean"),
        Intervention("conv2", (1,), with_="scale", factor=-2.5),
        Intervention("conv2", with_="mean"),
        Intervention("fc", (0, 1, 5), with_="mean"),
        Intervention("fc", with_="zero"),
        Intervention("out", (1,), with_="zero"),
        Intervention("out", (0, 2), with_="mean"),
        Intervention(INPUT, (0, 1), with_="scale", factor=0.25),
        Intervention(INPUT),
    ],
    ids=str,
)
def test_weights_and_activations_make_the_same_agent(intervention):
    layer = intervention.layer
    recorded = SEEN if layer == INPUT else activations_of(layer)
    means = {layer: recorded.mean(axis=tuple(range(recorded.ndim - 1)))}
    theta = intervened_weights(LAYOUT, THETA, [intervention], means=means)
    by_weights = np.stack([plain_network(LAYOUT, theta)(one) for one in SEEN])
    factor, value = replacement_of(intervention, recorded.shape[1:], recorded)(RANDOM)
    if layer == INPUT:
        by_activations = LAYOUT.keras_model(THETA)(SEEN * factor + value)
    else:
        changed = IntervenedModel(LAYOUT.keras_model(THETA), layer)
        changed.replace((factor, value))
        by_activations = changed.model(SEEN)
    np.testing.assert_allclose(by_weights, by_activations, rtol=1e-5, atol=1e-5)
    if intervention.channels is None:  # all of a layer: whatever the agent sees, the outputs are the same
        assert np.ptp(by_weights, axis=0).max() < 1e-6
    else:
        assert np.ptp(by_weights, axis=0).max() > 0.01


def test_no_intervention_changes_no_bit():
    assert intervened_weights(LAYOUT, THETA, []).tobytes() == THETA.tobytes()
    model = LAYOUT.keras_model(THETA)
    same = IntervenedModel(model, "conv2").model
    assert np.asarray(same(SEEN)).tobytes() == np.asarray(model(SEEN)).tobytes()


def test_an_erasure_changes_no_bit_before_it_is_set_and_then_one_direction():
    import keras

    model, layer = LAYOUT.keras_model(THETA), "conv2"
    erased, recorded = ErasedModel(model, layer), activations_of(layer)
    assert np.asarray(erased.model(SEEN)).tobytes() == np.asarray(model(SEEN)).tobytes()
    mean, read, write = RANDOM.normal(size=(3, recorded[0].size)).astype(np.float32)
    erased.erase((mean, read, write))
    flat = recorded.reshape(len(SEEN), -1)
    changed = (flat - np.outer((flat - mean) @ read, write)).reshape(recorded.shape)
    tail = keras.Model(model.get_layer(layer).output, model.output)
    np.testing.assert_allclose(erased.model(SEEN), tail(changed), rtol=1e-4, atol=1e-4)


def test_a_patch_of_all_channels_makes_the_outputs_of_the_recorded_step():
    recorded = activations_of("conv2")
    changed = IntervenedModel(LAYOUT.keras_model(THETA), "conv2")
    changed.replace(replacement_of(Intervention("conv2", with_="patch", step=3), (5, 4, 3), recorded)(RANDOM))
    expected = np.asarray(LAYOUT.keras_model(THETA)(SEEN[3:4]))
    np.testing.assert_allclose(changed.model(SEEN), np.repeat(expected, 5, axis=0), rtol=1e-5)


def test_resampling_draws_a_recorded_step_each_time_and_a_region_keeps_the_rest():
    recorded = activations_of("conv1")
    draw = replacement_of(Intervention("conv1", (2,), with_="resample", region=(1, 0, 2, 3)), (5, 4, 4), recorded)
    seen = set()
    for _ in range(60):
        factor, value = draw(RANDOM)
        inside = np.zeros((5, 4, 4), bool)
        inside[1:3, :, 2] = True
        assert (factor == ~inside).all()
        assert not value[~inside].any()
        (step,) = [i for i in range(5) if np.array_equal(value[inside], recorded[i][inside])]
        seen.add(step)
    assert seen == set(range(5))


@pytest.mark.parametrize(
    ("intervention", "network", "sentence"),
    [
        (Intervention("conv3"), CHAIN, "did you mean 'conv"),
        (Intervention("conv2", (3,)), CHAIN, "has channels 0 to 2, but got 3"),
        (Intervention("conv2", (1,), region=(0, 0, 1, 1)), CHAIN, "a region of 'conv2'"),
        (Intervention("conv2", with_="resample"), CHAIN, "resample of 'conv2'"),
        (Intervention(INPUT, (0,), with_="mean"), CHAIN, "The input has no bias"),
        (Intervention("fc", with_="mean"), NETWORKS["simple_dqn"], "'fc' has no bias"),
        (Intervention("conv1"), NETWORKS["recurrent_large"], r"'recu1' \(recurrent_conv\) also passes on"),
        (Intervention("conv1"), NETWORKS["virtual_bn"], "scales activations by statistics"),
    ],
)
def test_what_no_weights_do_is_refused_in_a_sentence(intervention, network, sentence):
    layout = network.layout(3, (9, 8, 4)) if network is CHAIN else network.layout(3)
    means = {"fc": np.zeros(512)}
    with pytest.raises(NeurozooError, match=sentence):
        intervened_weights(layout, np.zeros(layout.parameter_count, np.float32), [intervention], means=means)


def test_a_recurrent_layer_is_ablated_through_its_reader():
    layout = NETWORKS["recurrent_large"].layout(3)
    theta = np.ones(layout.parameter_count, np.float32)
    arrays = layout.split(intervened_weights(layout, theta, [Intervention("recu1", (5,))]))
    assert not arrays["conv2/w"][:, :, 5].any()
    assert np.delete(arrays["conv2/w"], 5, axis=2).all()
    assert sum(part.size - np.count_nonzero(part) for part in arrays.values()) == arrays["conv2/w"][:, :, 5].size


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"with_": "meen"}, "with 'meen' is unknown; did you mean 'mean'"),
        ({"channels": ()}, "numbers from 0"),
        ({"factor": 2.0}, "factor belongs to with: scale"),
        ({"step": 4}, "step belongs to with: patch"),
        ({"with_": "patch", "step": -1}, "step a whole number from 0"),
        ({"channels": 3}, r"numbers from 0, such as \[3, 7\], but are 3"),
        ({"channels": ("a",)}, "numbers from 0"),
        ({"channels": (1.5,)}, "numbers from 0"),
        ({"with_": "scale", "factor": "a"}, "factor and value should be numbers"),
        ({"with_": "constant", "value": 10**400}, "factor and value should be numbers"),
        ({"with_": "patch", "step": 1.5}, "step a whole number from 0"),
        ({"region": 3}, r"last column\], counted from 0, but is 3"),
        ({"region": (1, 2)}, "last column"),
        ({"region": tuple("abcd")}, "last column"),
        ({"region": (3, 0, 2, 5)}, "first row, first column, last row, last column"),
    ],
)
def test_an_intervention_that_makes_no_sense_is_refused(choices, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        Intervention("conv1", **choices)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"layer": "fc", "chanels": [1]}, "an intervention has no key 'chanels'; did you mean 'channels'"),
        ({"layer": "fc", "with_": "mean"}, "an intervention has no key 'with_'; did you mean 'with'"),
        ({"channels": [1]}, "An intervention needs a layer"),
    ],
)
def test_an_entry_with_an_unknown_key_or_without_a_layer_is_refused(entry, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        Intervention.from_config(entry)


def test_a_region_outside_the_map_is_refused():
    with pytest.raises(NeurozooError, match="a map of 5 x 4"):
        Intervention("conv1", region=(0, 0, 5, 0)).mask((5, 4, 4))
    with pytest.raises(NeurozooError, match="has no map"):
        Intervention("fc", region=(0, 0, 0, 0)).mask((6,))
