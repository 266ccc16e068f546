import json
import shutil
import sys

import numpy as np
import pytest
from neurozoo.comparison import embed_states, ram_to_bits
from neurozoo.comparison.compared_runs import spread
from neurozoo.errors import NeurozooError
from neurozoo.rollouts.rollout import record_rollout


def embedded(path):
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    return json.loads(arrays.pop("about").tobytes()), arrays


def test_ram_becomes_bits_the_most_significant_first():
    bits = ram_to_bits(np.array([[0b10000001, 3], [0, 255]], np.uint8))
    assert bits.tolist() == [[1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1], [0] * 8 + [1] * 8]
    assert ram_to_bits(np.zeros((3, 128), np.uint8)).shape == (3, 1024)


def test_records_of_all_runs_are_thinned_with_one_stride():
    assert [numbers.tolist() for numbers in spread([5, 3], 4)] == [[0, 3], [0]]
    assert [len(numbers) for numbers in spread([5, 3], 8)] == [5, 3]
    assert sum(map(len, spread([1000, 10], 100))) <= 100


def test_points_are_the_runs_records_in_order(run_folder, tmp_path):
    runs = [run_folder("ga", episodes=(20, 10)), run_folder("es", episodes=(15,))]
    embed_states(runs, tmp_path / "e.npz", keys=["ram"], methods=["pca"], max_points=23)
    about, arrays = embedded(tmp_path / "e.npz")
    assert arrays["run"].tolist() == [0] * 15 + [1] * 8
    assert arrays["step"].tolist() == [*range(0, 30, 2), *range(0, 15, 2)]
    assert arrays["episode"].tolist() == [0] * 10 + [1] * 5 + [0] * 8
    assert arrays["score"].tolist()[9:12] == [18, 0, 2]
    assert (about["stride"], about["game"]) == (2, "pong")
    assert [run["title"] for run in about["runs"]] == ["ga/pong/small/1", "es/pong/small/1"]
    assert about["runs"][0]["protocol"] == "uber2018"


def test_principal_components_are_those_of_the_covariance(run_folder, tmp_path):
    runs = [run_folder("ga"), run_folder("es", shift=3.0)]
    embed_states(runs, tmp_path / "e.npz", keys=["representation"], methods=["pca"])
    about, arrays = embedded(tmp_path / "e.npz")
    states = np.concatenate([np.load(run / "rollout.npz")["representation"] for run in runs]).astype(float)
    values, vectors = np.linalg.eigh(np.cov(states.T))
    expected = (states - states.mean(0)) @ vectors[:, ::-1][:, :2]
    assert np.abs(arrays["representation_pca"]) == pytest.approx(np.abs(expected), rel=1e-4, abs=1e-4)
    assert about["explained"]["representation"] == pytest.approx(values[::-1][:2] / values.sum(), abs=1e-4)


@pytest.mark.long(seconds=30)
def test_every_method_keeps_unlike_runs_apart_and_gives_the_same_bytes_again(run_folder, tmp_path):
    runs = [run_folder("ga", episodes=(40,)), run_folder("es", episodes=(40,), shift=200)]
    before = sys.modules.get("tensorflow")
    for name in ("a.npz", "b.npz"):
        embed_states(runs, tmp_path / name, keys=["ram_bits"])
    assert sys.modules.get("tensorflow") is before  # UMAP would import it
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    about, arrays = embedded(tmp_path / "a.npz")
    assert about["methods"] == ["pca", "pca_tsne", "umap"]
    for method in about["methods"]:
        plane = arrays[f"ram_bits_{method}"]
        assert np.isfinite(plane).all()
        distances = np.linalg.norm(plane[:, None] - plane[None], axis=-1) + 1e9 * np.eye(80)
        assert (arrays["run"][distances.argmin(axis=1)] == arrays["run"]).mean() > 0.95, method
    embed_states(runs, tmp_path / "c.npz", keys=["ram_bits"], methods=["pca_tsne"], seed=1, max_points=20)
    assert embedded(tmp_path / "c.npz")[1]["ram_bits_pca_tsne"].shape == (20, 2)


def test_states_that_never_differ_fall_into_one_point(run_folder, tmp_path):
    run = run_folder(ram=np.full((30, 128), 7, np.uint8))
    embed_states([run], tmp_path / "e.npz", keys=["ram"], methods=["pca"])
    assert np.abs(embedded(tmp_path / "e.npz")[1]["ram_pca"]).max() < 1e-6


def test_a_key_that_differs_between_runs_is_left_out_with_the_reason(run_folder, tmp_path):
    river = [run_folder("ga", game="river_crossing"), run_folder("es", game="river_crossing", units=9)]
    with pytest.raises(NeurozooError, match=r"without RAM\. representation cannot be compared, .* has 16, .* has 9"):
        embed_states(river, tmp_path / "e.npz", methods=["pca"])
    left_out = embed_states(river[:1], tmp_path / "e.npz", methods=["pca"])
    assert list(left_out) == ["ram"]
    about, arrays = embedded(tmp_path / "e.npz")
    assert about["keys"] == ["representation"]
    assert about["left_out"] == left_out
    assert "ram_pca" not in arrays


def test_a_run_that_cannot_be_used_is_named_and_the_rest_is_embedded(run_folder, tmp_path):
    good, other = run_folder("ga"), run_folder("es", representation=np.zeros((30, 5), np.float32))
    cut, bare, old = run_folder("rs"), run_folder("ns_es"), run_folder("nsr_es", episodes=(10, 10), starts=None)
    (cut / "rollout.npz").write_bytes((cut / "rollout.npz").read_bytes()[:500])
    (bare / "frozen" / "model.json").unlink()
    left_out = embed_states([good, other, cut, bare, old], tmp_path / "e.npz", keys=["ram"], methods=["pca"])
    assert "but holds" in left_out[str(other)]
    assert "is damaged or cut off" in left_out[str(cut)]
    assert "model.json is missing" in left_out[str(bare)]
    assert "lacks starts" in left_out[str(old)]
    assert [run["title"] for run in embedded(tmp_path / "e.npz")[0]["runs"]] == ["ga/pong/small/1"]
    with pytest.raises(NeurozooError, match=r"at least one run .* is damaged or cut off"):
        embed_states([cut], tmp_path / "f.npz")


def test_the_rollout_of_another_agent_with_the_same_network_is_left_out(frozen_folder, tmp_path):
    own, other, noisy = folders = [tmp_path / name for name in ("own", "other", "noisy")]
    for run, (folder, choice) in enumerate(zip(folders, ({}, {"seed": 2}, {}), strict=True), start=1):
        shutil.copytree(frozen_folder("small", **choice), folder / "frozen")
        record = json.loads((folder / "frozen" / "model.json").read_text())
        (folder / "frozen" / "model.json").write_text(json.dumps(record | {"run": run}))
    record_rollout(own / "frozen", own / "rollout.npz", max_steps=10)
    shutil.copy(own / "rollout.npz", other / "rollout.npz")
    record_rollout(noisy / "frozen", noisy / "rollout.npz", max_steps=10, parameter_noise=0.5)
    left_out = embed_states([own, other, noisy], tmp_path / "e.npz", methods=["pca"])
    assert list(left_out) == [str(other)]
    assert "rollout.npz is not a rollout of the agent in" in left_out[str(other)]
    assert [run["run"] for run in embedded(tmp_path / "e.npz")[0]["runs"]] == [1, 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keys": ["rom"]}, "key 'rom' is unknown; did you mean 'ram'"),
        ({"methods": ["tsne"]}, "method 'tsne' is unknown"),
        ({"keys": []}, "needs keys, methods, at least 10 points"),
        ({"max_points": 5}, "5 points"),
        ({"methods": ["umap"], "seed": 2**32}, "a seed from 0 to 4294967295, but got .* seed 4294967296"),
    ],
)
def test_unusable_settings_are_refused(run_folder, tmp_path, changes, message):
    with pytest.raises(NeurozooError, match=message):
        embed_states([run_folder()], tmp_path / "e.npz", **changes)


def test_runs_of_two_games_or_one_run_twice_are_not_compared(run_folder, tmp_path):
    run = run_folder()
    with pytest.raises(NeurozooError, match=r"these are of 2: pong .*river_crossing"):
        embed_states([run, run_folder(game="river_crossing")], tmp_path / "e.npz")
    with pytest.raises(NeurozooError, match="these are repeated: ga/pong/small/1"):
        embed_states([run, run], tmp_path / "e.npz")
