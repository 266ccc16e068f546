import keras
import numpy as np
import pytest
from neurozoo.algorithms.quality_diversity.native_surrogate import SurrogateEnsemble
from neurozoo.algorithms.quality_diversity.settings import DsageSettings
from neurozoo.algorithms.quality_diversity.surrogate import Surrogate
from neurozoo.environments.level_domains import get_level_domain

MAZE = get_level_domain("maze")
SMALL = {"channels": 8, "occupancy_channels": 8, "residual_blocks": 1}


class Mario:
    """The shape of a domain that is to come: 16 x 56 tiles of 17 kinds, on a canvas of 64 x 64."""

    name, num_tiles, spare_channels, shape = "mario", 17, 0, (16, 56)


def surrogate(domain=MAZE, *, predicts_occupancy=True, seed=0, **settings):
    # Layers get the names that they have in a new process: TensorFlow sorts by them, which changes the order of sums.
    keras.utils.clear_session()
    rng = np.random.default_rng(seed)
    return Surrogate(domain, DsageSettings(**settings), predicts_occupancy=predicts_occupancy, rng=rng)


def data(count, seed=0):
    rng = np.random.default_rng(seed)
    levels = rng.integers(4, size=(count, 16, 16)).astype(np.uint8)
    targets = np.stack([np.ones(count), (levels == 1).sum(axis=(1, 2)), rng.uniform(0, 60, count)], 1)
    return levels, targets.astype(np.float32), rng.random((count, 16, 16)).astype(np.float32)


def learn(network, data, epochs):
    """Trains for some epochs, given by their number or as a range, and returns their losses."""
    epochs = range(epochs) if isinstance(epochs, int) else epochs
    return [network.train_epoch(*data, np.random.default_rng(epoch)) for epoch in epochs]


@pytest.mark.parametrize(
    ("domain", "main_basic", "main_full", "predictor"),
    [(MAZE, 142_595, 142_595, 150_336), (Mario(), 2_796_291, 2_797_315, 157_824)],
)
def test_the_networks_have_the_published_numbers_of_parameters(domain, main_basic, main_full, predictor):
    assert surrogate(domain, predicts_occupancy=False).parameter_count == main_basic
    assert surrogate(domain).parameter_count == main_full + predictor


def test_initial_weights_are_those_of_torch():
    main = surrogate(predicts_occupancy=False, channels=16).main
    for layer in main.layers:
        if isinstance(layer, keras.layers.Conv2D | keras.layers.Dense):
            kernel = layer.get_weights()[0]
            bound = 1 / np.sqrt(np.prod(kernel.shape[:-1]))
            assert np.abs(kernel).max() <= bound
            assert kernel.std() == pytest.approx(bound / np.sqrt(3), rel=0.1)
    heads = [layer for layer in main.layers if isinstance(layer, keras.layers.Dense)]
    assert len({head.get_weights()[1][0] for head in heads}) == 3  # biases are drawn, too
    same, other = (surrogate(seed=seed, **SMALL).get_arrays()["weights"] for seed in (0, 1))
    np.testing.assert_array_equal(same, surrogate(seed=0, **SMALL).get_arrays()["weights"])
    assert not np.array_equal(same, other)


def test_the_occupancy_takes_the_place_of_the_last_channel():
    network = surrogate(**SMALL)
    levels = data(3)[0]
    outputs, occupancy = network.predict(levels)
    assert (outputs.shape, occupancy.shape) == ((3, 3), (3, 16, 16))
    tiles = np.eye(4, dtype=np.float32)[levels]
    np.testing.assert_allclose(np.asarray(network.predictor(tiles))[..., 0], occupancy, rtol=1e-5, atol=1e-6)
    seen = np.concatenate([tiles, occupancy[..., None]], axis=-1)
    np.testing.assert_allclose(np.asarray(network.main(seen)), outputs, rtol=1e-4, atol=1e-5)


def test_a_level_lies_in_the_upper_left_corner_of_a_canvas_of_empty_tiles():
    network = surrogate(Mario(), predicts_occupancy=False, channels=4)
    level = np.random.default_rng(0).integers(17, size=(1, 16, 56)).astype(np.uint8)
    canvas = np.zeros((1, 64, 64), int)
    canvas[:, :16, :56] = level
    expected = np.asarray(network.main(np.eye(17, dtype=np.float32)[canvas]))
    np.testing.assert_allclose(network.predict(level)[0], expected, rtol=1e-4, atol=1e-5)


def test_the_loss_is_the_mean_of_three_errors_and_ten_times_that_of_the_occupancy():
    levels, targets, occupancy = data(5)
    network = surrogate(**SMALL)
    outputs, predicted = network.model(levels, training=True)
    main = sum(np.mean((np.asarray(outputs)[:, k] - targets[:, k]) ** 2) for k in range(3)) / 3
    other = np.mean((np.asarray(predicted) - occupancy) ** 2)
    batch = {"levels": levels, "targets": targets, "occupancy": occupancy}
    loss = network._trainer.compute_loss(batch, y_pred=network._trainer(batch))
    assert float(loss) == pytest.approx(main + 10 * other, rel=1e-5)


def test_the_loss_of_the_measures_reaches_the_occupancy_predictor():
    levels, targets, occupancy = data(8)
    network = surrogate(occupancy_weight=0.0, learning_rate=0.01, **SMALL)
    before = network.predictor.get_weights()[0].copy()
    learn(network, (levels, targets, occupancy), 1)
    assert not np.array_equal(before, network.predictor.get_weights()[0])


def test_the_statistics_of_the_predictor_move_as_far_as_with_two_updates():
    levels, targets, occupancy = data(6)
    network = surrogate(learning_rate=1e-12, **SMALL)
    slow = surrogate(learning_rate=1e-12, **SMALL).predictor
    for layer in slow.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.9
    for _ in range(2):
        slow(np.eye(4, dtype=np.float32)[levels], training=True)
    learn(network, (levels, targets, occupancy), 1)
    for fast, expected in zip(network.predictor.weights, slow.weights, strict=True):
        np.testing.assert_allclose(np.asarray(fast), np.asarray(expected), rtol=1e-4, atol=1e-6)


# ---- options beyond the paper


@pytest.mark.long(seconds=6)
def test_standardised_heads_predict_in_units_and_learn_in_ranges():
    raw, network = surrogate(**SMALL), surrogate(standardises_heads=True, **SMALL)
    levels, targets, occupancy = data(40)
    sizes = np.array([1, 256, 648])
    np.testing.assert_allclose(network.predict(levels)[0], raw.predict(levels)[0] * sizes, rtol=1e-4, atol=1e-4)
    still = surrogate(standardises_heads=True, learning_rate=1e-12, **SMALL)
    (losses,) = learn(still, (levels, targets, occupancy), 1)
    (in_raw_units,) = learn(surrogate(learning_rate=1e-12, **SMALL), (levels, targets, occupancy), 1)
    assert losses[0] < 2 < 500 < in_raw_units[0]
    assert losses[1] == pytest.approx(in_raw_units[1], rel=1e-5)


def ensemble(members, *, seed=0, **settings):
    keras.utils.clear_session()
    rng = np.random.default_rng(seed)
    return SurrogateEnsemble(MAZE, DsageSettings(ensemble=members, **settings), predicts_occupancy=True, rng=rng)


def test_an_ensemble_predicts_the_mean_of_members_that_differ():
    whole = ensemble(3, **SMALL)
    levels = data(5)[0]
    predicted, occupancy = whole.predict(levels)
    parts = [member.predict(levels) for member in whole.members]
    np.testing.assert_allclose(predicted, np.mean([part[0] for part in parts], axis=0), rtol=1e-6)
    np.testing.assert_allclose(occupancy, np.mean([part[1] for part in parts], axis=0), rtol=1e-6)
    assert np.ptp([part[0] for part in parts], axis=0).min() > 0
    assert whole.parameter_count == 3 * surrogate(**SMALL).parameter_count


def test_an_ensemble_of_one_is_the_surrogate():
    alone, whole = surrogate(**SMALL), ensemble(1, **SMALL)
    batch = data(20)
    assert learn(whole, batch, 2) == learn(alone, batch, 2)
    np.testing.assert_array_equal(whole.predict(batch[0])[0], alone.predict(batch[0])[0])
