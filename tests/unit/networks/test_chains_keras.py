import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome, Mutation, decode
from neurozoo.networks.catalogue import NETWORKS, get_network
from neurozoo.networks.chains import OBJECTS_SHAPE, Network
from neurozoo.networks.layers import Layer

from tests.unit.networks.kinds import of_each_kind

# Section 2.5 of the specification.
VECTOR = Genome(148462608, (Mutation(219531121, 0.002), Mutation(172882699, 0.002)))
OUT = Layer("out", "dense", activation="linear")
HALVES = np.full((1, 84, 84, 4), 0.5, np.float32)
RAMP = (np.arange(84 * 84 * 4) % 256 / 255).astype(np.float32).reshape(1, 84, 84, 4)
ATARI = (84, 84, 4)
RGB = (20, 20, 3)  # the river crossing task
UNPADDED = ("nature", "simple_dqn")  # whose kernels do not fit into the river crossing task


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


def initialised(model, actions, shape):
    """(layout, initial weights, reference batch or None)."""
    random = np.random.default_rng(4)
    layout = get_network(model).layout(actions, shape)
    theta = layout.initialise(random.standard_normal(layout.parameter_count).astype(np.float32))
    rows = 2 if layout.needs_statistics else 7  # mean and deviation, or a batch
    return layout, theta, random.random((rows, *shape), np.float32) if layout.needs_reference else None


@pytest.mark.parametrize("model", of_each_kind())
def test_a_keras_file_loads_in_safe_mode_and_gives_the_same(tmp_path, model):
    import keras

    shape = OBJECTS_SHAPE if NETWORKS[model].is_modular else (36, 36, 4) if model in UNPADDED else RGB
    layout, theta, reference = initialised(model, 3, shape)
    original = layout.keras_model(theta, reference)
    original.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)
    observations = np.random.default_rng(5).random((2, *shape), np.float32)
    np.testing.assert_array_equal(loaded(observations), original(observations))


def test_a_dense_layer_is_normalised_over_the_batch_and_a_convolution_over_space_too():
    # 1 x 2 images of one channel; a 1-channel kernel would see its neighbours, so all but its middle is zero.
    layout = Network("two", (), (Layer("conv", "conv", 1, kernel=3, normalisation="before_bias"), OUT)).layout(
        1, (1, 2, 1)
    )
    theta = np.zeros(layout.parameter_count, np.float32)
    layout.split(theta)["conv/w"][1, 1] = 2.0
    reference = np.array([[1, 2], [3, 6]], np.float32).reshape(2, 1, 2, 1)
    mean, variance = layout.normalisation(theta, reference)["conv"]
    assert mean.tolist() == [6.0]  # of 2, 4, 6, 12
    assert variance.tolist() == [(16 + 4 + 0 + 36) / 4]
    layout = Network("two", (), (Layer("fc", "dense", 1, normalisation="before_bias"), OUT)).layout(1, (1, 2, 1))
    theta = np.zeros(layout.parameter_count, np.float32)
    layout.split(theta)["fc/w"][:] = [[1.0], [10.0]]
    mean, variance = layout.normalisation(theta, reference)["fc"]
    assert mean.tolist() == [42.0]  # of 21 and 63
    assert variance.tolist() == [441.0]


def test_a_missing_or_wrong_reference_batch_is_refused():
    layout, theta, reference = initialised("virtual_bn", 3, RGB)
    expected = r"The network 'virtual_bn' needs a reference batch of shape \(batch, 20, 20, 3\), but"
    with pytest.raises(NeurozooError, match=f"{expected} got none"):
        layout.keras_model(theta)
    with pytest.raises(NeurozooError, match=rf"{expected} got one of shape \(7, 20, 20, 2\)"):
        layout.keras_model(theta, reference[..., :2])
    with pytest.raises(NeurozooError, match=rf"{expected} got one of shape \(0, 20, 20, 3\)"):
        layout.normalisation(theta, reference[:0])
    assert layout.keras_model().count_params() == layout.parameter_count + 2 * (16 + 32 + 256)
