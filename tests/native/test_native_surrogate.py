"""The core computes what the surrogate of DSAGE computes in Keras, and the same on every processor."""

import keras
import numpy as np
import pytest
from neurozoo.algorithms.quality_diversity.native_surrogate import NativeSurrogate
from neurozoo.algorithms.quality_diversity.settings import DsageSettings
from neurozoo.algorithms.quality_diversity.surrogate import Surrogate
from neurozoo.environments.level_domains import get_level_domain
from neurozoo.errors import NeurozooError


def surrogate(kind, domain, *, predicts_occupancy=True, settings, **choices):
    keras.utils.clear_session()
    rng = np.random.default_rng(3)
    return kind(domain, DsageSettings(**settings), predicts_occupancy=predicts_occupancy, rng=rng, **choices)


def data(domain, count, *, seed=0):
    rng = np.random.default_rng(seed)
    levels = rng.integers(domain.num_tiles, size=(count, *domain.shape)).astype(np.uint8)
    targets = np.stack([np.ones(count), (levels == 1).sum(axis=(1, 2)), rng.uniform(0, 60, count)], 1)
    return levels, targets.astype(np.float32), rng.random((count, *domain.shape)).astype(np.float32)


def distance(ours, theirs):
    """Returns the largest difference, relative to the largest number."""
    return float(np.abs(ours - theirs).max() / (np.abs(theirs).max() + 1e-12))


def arrays_of(network):
    """Returns weights, statistics and moments by name."""
    network.get_arrays()
    moments = network._trainer.optimizer.variables[2:]
    return {each.path: np.asarray(each) for each in [*network.model.weights, *moments]}


class Tall:
    """Levels of more tiles than a panel has columns, in a corner of their canvas, as platform levels are.

    In those, most tiles are empty, and Keras adds up so many equal numbers in float32 that 4 digits are left.
    """

    name, num_tiles, spare_channels, shape = "tall", 17, 0, (16, 13)


DOMAINS = {"maze": get_level_domain("maze"), "tall": Tall()}
SMALL = {"channels": 8, "occupancy_channels": 20, "residual_blocks": 1, "learning_rate": 1e-4}
ROUNDED = {"channels": 8, "occupancy_channels": 64, "residual_blocks": 2, "dtype": "mixed_bfloat16"}
NETWORKS = [
    ("maze", True, {"channels": 20, "occupancy_channels": 24, "residual_blocks": 2}),
    ("maze", True, {"channels": 16, "occupancy_channels": 8, "residual_blocks": 0, "standardises_heads": True}),
    ("maze", False, {"channels": 5}),
    ("tall", True, {"channels": 4, "occupancy_channels": 6, "residual_blocks": 1}),
]


@pytest.mark.parametrize(("name", "predicts_occupancy", "settings"), NETWORKS)
def test_predictions_and_gradients_are_those_of_keras(core, name, predicts_occupancy, settings):
    domain = DOMAINS[name]
    chosen = {"predicts_occupancy": predicts_occupancy, "settings": settings}
    theirs = surrogate(Surrogate, domain, **chosen)
    own = surrogate(NativeSurrogate, domain, core=core, threads=2, **chosen)
    for network in (own, theirs):  # away from the first statistics and gains
        arrays, random = network.get_arrays(), np.random.default_rng(0)
        weights = arrays["weights"][: sum(each.numpy().size for each in network.model.weights)]
        weights *= random.uniform(0.5, 1.5, weights.shape)
        weights[weights == 0] = random.uniform(-0.2, 0.2, np.sum(weights == 0))
        network.set_arrays(arrays)
    batch = data(domain, 9)
    for ours, expected in zip(own.predict(batch[0]), theirs.predict(batch[0]), strict=True):
        assert (ours is None) == (expected is None)
        assert ours is None or distance(ours, expected) < 1e-5
    losses = [each.train_epoch(*batch, np.random.default_rng(0)) for each in (own, theirs)]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    found, expected = map(arrays_of, (own, theirs))  # the first step of Adam keeps a tenth of each gradient
    statistics = [name for name in expected if "moving" in name]
    gradients = [name for name in expected if name.endswith("_momentum")]
    assert len(gradients) == len(own.model.trainable_weights)
    assert max(distance(found[name], expected[name]) for name in gradients + statistics) < 1e-5


def test_either_engine_continues_what_the_other_began(core):
    domain = DOMAINS["maze"]
    theirs, own = (
        surrogate(Surrogate, domain, settings=SMALL),
        surrogate(NativeSurrogate, domain, settings=SMALL, core=core),
    )
    for number in range(6):
        losses = [each.train_epoch(*data(domain, 20, seed=number), np.random.default_rng(0)) for each in (own, theirs)]
        np.testing.assert_allclose(*losses, rtol=1e-3)
        arrays = [each.get_arrays() for each in (own, theirs)]
        assert arrays[0]["updates"] == arrays[1]["updates"] == number + 1
        assert distance(*(each["weights"] for each in arrays)) < 1e-3
        if number == 2:
            own.set_arrays(arrays[1])
            theirs.set_arrays(arrays[0])


def test_bytes_depend_neither_on_threads_nor_on_vectors_nor_on_the_number_of_levels(core):
    domain, found = DOMAINS["maze"], []
    levels, targets, occupancy = data(domain, 70)
    for choices in ({"threads": 1}, {"threads": 2}, {"threads": 5}, {"threads": 2, "is_narrow": True}):
        network = surrogate(NativeSurrogate, domain, settings=SMALL, core=core, **choices)
        losses = network.train_epoch(levels, targets, occupancy, np.random.default_rng(0))
        found.append([np.array(losses), network.get_arrays()["weights"], *network.predict(levels)])
    for other in found[1:]:
        for ours, expected in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(ours, expected)
    for count in (1, 33):
        for few, all_of_them in zip(network.predict(levels[:count]), network.predict(levels), strict=True):
            np.testing.assert_array_equal(few, all_of_them[:count])


def test_predictions_in_bfloat16_have_its_digits_and_do_not_depend_on_threads(bfloat16_core):
    levels, targets, occupancy = data(DOMAINS["maze"], 70)
    found = []
    for dtype, threads in (("float32", 1), ("mixed_bfloat16", 1), ("mixed_bfloat16", 2)):
        network = surrogate(
            NativeSurrogate, DOMAINS["maze"], settings={**ROUNDED, "dtype": dtype}, core=bfloat16_core, threads=threads
        )
        network.train_epoch(levels, targets, occupancy, np.random.default_rng(0))
        found.append([*network.predict(levels), network.get_arrays()["weights"]])
    for exact, rounded, again in zip(*found, strict=True):
        np.testing.assert_array_equal(rounded, again)
        assert 0 < distance(rounded, exact) < 5e-2


def test_only_the_core_predicts_in_bfloat16():
    with pytest.raises(NeurozooError, match="dtype mixed_bfloat16 needs engine native, but engine is keras"):
        DsageSettings(**ROUNDED, engine="keras")
