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


def test_a_sheet_shows_the_features_that_decide_most(short, frozen_folder, rollout_file, tmp_path):
    files = tmp_path / "sparse_fc.png", tmp_path / "sparse_fc.csv"
    measure_sparse_features(
        frozen_folder("small"), rollout_file("small"), *files, layer="fc", replications=500, updates=200
    )
    table = pd.read_csv(files[1])
    assert tuple(table) == COLUMNS
    assert table["actions"].dropna().between(0, 1).all()
    assert table["actions_excess"].dropna().is_monotonic_decreasing
    np.testing.assert_allclose(table["actions"] - table["actions_noise"], table["actions_excess"], atol=1e-5)
    assert table["active"].between(0, 1, inclusive="right").all()
    assert files[0].stat().st_size > 5_000


@pytest.mark.parametrize(
    ("layer", "sentence"),
    [
        ("out", "'out' gives the outputs"),
        ("conv9", "'conv9' is unknown"),
        ("fc", "Record more: probes"),  # 40 steps are too few
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
