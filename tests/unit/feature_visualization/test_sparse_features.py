import numpy as np
import pandas as pd
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization import linear_probes, sparse_features
from neurozoo.feature_visualization.sparse_autoencoder import ACTIVE, FEATURES, SparseAutoencoder
from neurozoo.feature_visualization.sparse_features import COLUMNS, measure_sparse_features


@pytest.fixture(scope="module")
def planted():
    """States that are sums of two of 40 directions in 60 units, and an autoencoder of them."""
    random = np.random.default_rng(1)
    directions = random.standard_normal((40, 60)).astype(np.float32)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    strengths = random.uniform(1, 2, (3_000, 40)) * (random.permuted(np.arange(40) < 2 * np.ones((3_000, 1)), axis=1))
    states = (strengths @ directions).astype(np.float32)
    return directions, states, SparseAutoencoder.fit(states[:2_500], seed=0, updates=1_000)


def test_features_that_were_planted_are_found(planted):
    directions, states, found = planted
    nearest = (directions @ found.decoder.T).max(axis=1)
    assert np.median(nearest) > 0.95
    assert found.explained(states[2_500:]) > 0.9
    assert (np.count_nonzero(found.activations(states), axis=1) <= ACTIVE).all()
    np.testing.assert_allclose(np.linalg.norm(found.decoder, axis=1), 1, rtol=1e-5)


def test_the_same_seed_finds_the_same_bytes(planted):
    _, states, _ = planted
    one, other = (SparseAutoencoder.fit(states, seed=3, updates=20) for _ in range(2))
    assert one.decoder.tobytes() == other.decoder.tobytes()
    assert one.decoder.shape == (FEATURES, 60)


def test_an_erasure_takes_away_what_a_feature_adds_where_it_is_active(planted):
    _, states, found = planted
    activations = found.activations(states)
    feature = (activations > 0).sum(axis=0).argmax()
    active = activations[:, feature] > 0
    mean, read, write = found.erasure(feature)
    erased = states - ((states - mean) @ read)[:, None] * write
    expected = states - found.scale * activations[:, [feature]] * found.decoder[feature]
    np.testing.assert_allclose(erased[active], expected[active], atol=1e-4)


@pytest.fixture
def short(monkeypatch):
    """Lets 40 steps be enough."""
    monkeypatch.setattr(linear_probes, "GAP", 0)
    monkeypatch.setattr(sparse_features, "LEAST", 1)


@pytest.mark.parametrize("layer", ["conv1", "fc"])
def test_a_layer_has_a_sheet_and_a_table(short, frozen_folder, rollout_file, tmp_path, layer):
    files = tmp_path / "sparse.png", tmp_path / "sparse.csv"
    measure_sparse_features(
        frozen_folder("small"), rollout_file("small"), *files, layer=layer, replications=500, updates=30
    )
    table = pd.read_csv(files[1])
    assert tuple(table) == COLUMNS
    assert table["actions"].dropna().between(0, 1).all()
    assert table["actions_excess"].dropna().is_monotonic_decreasing
    assert table["active"].between(0, 1, inclusive="right").all()
    assert files[0].stat().st_size > 5_000


def test_the_sheet_begins_with_features_that_were_found_twice():
    row = {"active": 0.125, "actions": 0.4, "actions_noise": 0.1}
    measured = (0, 0.8, 90, 0.2), (1, 0.95, 90, 0.1), (2, 0.99, 19, 0.1), (3, 0.9, 20, -0.1)
    names = ("feature", "found_twice", "active_states", "actions_excess_low")
    rows = [row | dict(zip(names, values, strict=True)) for values in measured]
    assert [row["feature"] for row in sparse_features._drawn(rows)] == [1, 3, 0]
    assert sparse_features._label(rows[1]) == "feature 1\nin 12.5 % of states\nactions 40 % (10)*\nagain 0.95"
    assert sparse_features._label(rows[3]).splitlines()[2] == "actions 40 % (10)"
    assert len(sparse_features._drawn(rows * 9)) == sparse_features.ROWS


@pytest.mark.parametrize(
    ("layer", "sentence"),
    [
        ("out", "'out' gives the outputs"),
        ("conv9", "'conv9' is unknown"),
        ("fc", "recording has 40 steps. Record more: probes"),
    ],
)
def test_what_has_no_sparse_features_is_refused_with_a_reason(frozen_folder, rollout_file, tmp_path, layer, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        measure_sparse_features(
            frozen_folder("small"), rollout_file("small"), tmp_path / "a.png", tmp_path / "a.csv", layer=layer
        )
    assert not list(tmp_path.iterdir())


def test_an_agent_with_a_memory_is_refused(policy_folder, tmp_path):
    frozen = policy_folder()
    with pytest.raises(NeurozooError, match="has a memory"):
        measure_sparse_features(frozen, tmp_path / "none.npz", tmp_path / "a.png", tmp_path / "a.csv", layer="fc")
