import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.linear_probes import (
    GAP,
    Erasures,
    Folds,
    Ridge,
    errors_of,
    kernel_of,
    left_after_erasing,
    r2_of,
)

RANDOM = np.random.default_rng(1)


def walk(steps, columns):
    """Smooth series, as a game's: neighbours are nearly equal."""
    return np.cumsum(RANDOM.normal(size=(steps, columns)), axis=0) % 20


@pytest.fixture(scope="module")
def planted():
    """A layer of (3, 4) units, of which one holds a variable; the others hold other things. Another variable is not
    there.
    """
    steps = np.arange(0, 6_000, 20)
    states = walk(len(steps), 12).astype(np.float32)
    targets = np.stack([40 - 3 * states[:, 5], walk(len(steps), 1)[:, 0]], axis=1)
    return states.reshape(-1, 3, 4), targets, Folds.of(steps, np.arange(0, 6_000, 400), 6_000)


def r2(kernel, targets, folds):
    return r2_of(*errors_of(kernel, targets, folds)[:2])


@pytest.mark.parametrize("starts", [[0], [0, 900, 1_700], [*range(0, 3_000, 250)]])
def test_folds_split_no_block_and_keep_training_away_from_tests(starts):
    steps = np.arange(0, 3_000, 7)
    folds = Folds.of(steps, np.array(starts), 3_000)
    episode = np.searchsorted(starts, steps, side="right")
    for group in range(folds.count):
        inside = folds.groups == group
        assert len(set(folds.fold[inside])) == 1
        assert len(set(episode[inside])) == 1
        assert (np.diff(np.flatnonzero(inside)) == 1).all()  # one stretch of time
    assert folds.count == (12 if len(starts) >= 10 else pytest.approx(20, abs=3))
    for fold in range(5):
        distance = np.abs(steps[folds.training([fold])][:, None] - steps[folds.fold == fold])
        assert distance.min() > GAP


def test_a_recording_that_is_too_short_is_refused():
    with pytest.raises(NeurozooError, match=r"has 300 steps. Record more"):
        Folds.of(np.arange(300), np.array([0]), 300)


def test_a_probe_finds_the_unit_that_holds_a_variable_and_nothing_else(planted):
    states, targets, folds = planted
    shuffled = RANDOM.permutation(targets)
    found = r2(kernel_of(states), np.concatenate([targets, shuffled], axis=1), folds)
    assert found[0] > 0.99
    assert np.abs(found[1:]).max() < 0.15


def test_ridge_from_inner_products_is_that_of_the_units(planted):
    states, targets, _ = planted
    flat = states.reshape(len(states), -1).astype(float)
    train, test = np.arange(200), np.arange(200, 300)
    centred = flat[train] - flat[train].mean(axis=0)
    penalty = 0.01 * (centred**2).sum(axis=1).mean()
    gram = centred.T @ centred + penalty * np.eye(12)
    weights = np.linalg.solve(gram, centred.T @ (targets[train] - targets[train].mean(axis=0)))
    expected = targets[train].mean(axis=0) + (flat[test] - flat[train].mean(axis=0)) @ weights
    probe = Ridge(flat @ flat.T, targets, train)
    np.testing.assert_allclose(probe.predict(test, np.array([0.01, 0.01])), expected, rtol=1e-8)


def test_an_erased_variable_is_found_no_more_and_erased_noise_changes_as_much(planted):
    states, targets, folds = planted
    states = states + 50 * (np.arange(12).reshape(3, 4) == 0) * walk(len(states), 1)[:, :, None]  # a large component
    erasures = Erasures(states, targets[:, :1], np.array([1e-3]))
    flat = states.reshape(len(states), -1)

    def without(erasure):
        mean, read, write = erasure
        return flat - np.outer((flat - mean) @ read, write)

    erased = without(erasures.of(0))
    assert np.abs(erased.T @ (targets[:, 0] - targets[:, 0].mean())).max() < 1e-3 * np.abs(flat.T @ targets[:, 0]).max()
    assert r2(kernel_of(erased), targets[:, :1], folds)[0] < 0.01
    size = ((erased - flat) ** 2).mean()
    noise = erasures.noise(0, 20)
    for erasure in noise:
        assert ((without(erasure) - flat) ** 2).mean() == pytest.approx(size, rel=1e-3)
    # What is read from the layer is not the large component.
    read = np.abs(np.stack([read * flat.std(axis=0) for _, read, _ in noise]))
    assert np.median(read[:, 0] / read.max(axis=1)) < 0.7


def test_a_variable_that_other_states_still_hold_is_not_gone(planted):
    states, targets, folds = planted
    before, after = left_after_erasing(states, targets[:, :1], np.array([1e-3]), folds)
    assert before > 0.99
    assert after < 0.5
    # A variable that never changes in the tested states has no R2.
    still = np.where(folds.fold >= 2, 7, targets[:, 0])[:, None]
    assert np.isnan(left_after_erasing(states, still, np.array([1e-3]), folds)).all()
    # What never changes where the erasure is fitted, nothing erases.
    still = np.where(folds.fold >= 2, targets[:, 0], 0)[:, None]
    before, after = left_after_erasing(states, still, np.array([1e-3]), folds)
    assert after == before > 0.99
    # In the later half, other units hold it: what is erased from the first half is not all.
    moved = np.where((folds.fold >= 2)[:, None], states.reshape(-1, 12)[:, ::-1], states.reshape(-1, 12))
    before, after = left_after_erasing(moved, targets[:, :1], np.array([1e-3]), folds)
    assert before > 0.99
    assert after > 0.9
