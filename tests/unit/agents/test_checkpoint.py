import dataclasses
import json
import zipfile

import numpy as np
import pytest
from neurozoo.agents.checkpoint import Checkpoint, read_checkpoint, read_facts, write_checkpoint
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import ARCHITECTURES, architecture_digest, get_network

COUNT = get_network("small").layout(4).parameter_count


def checkpoint(**changes):
    facts = {
        "theta": np.arange(COUNT, dtype=np.float32),
        "algo": "ga",
        "game": "breakout",
        "model": "small",
        "run": 3,
        "protocol": get_protocol("uber2018", action_set="minimal"),
        "num_actions": 4,
    }
    return Checkpoint(**facts | changes)


def about(**changes):
    facts = {key: value for key, value in vars(checkpoint()).items() if key not in ("theta", "reference")}
    own = {"format": 1, "protocol": dataclasses.asdict(facts["protocol"]), "architecture": architecture_digest("small")}
    return facts | own | changes


def write(path, *, facts=None, theta=None, **arrays):
    np.savez(
        path,
        theta=checkpoint().theta if theta is None else theta,
        about=np.array(json.dumps(about() if facts is None else facts)),
        **arrays,
    )


def test_a_checkpoint_comes_back_as_it_was_written(tmp_path):
    original = checkpoint(protocol=get_protocol("machado2018", action_set="minimal"))
    write_checkpoint(tmp_path / "checkpoint.npz", original)
    loaded = read_checkpoint(tmp_path / "checkpoint.npz")
    np.testing.assert_array_equal(loaded.theta, original.theta)
    assert dataclasses.replace(loaded, theta=None) == dataclasses.replace(original, theta=None)
    assert loaded.layout.parameter_count == COUNT


def test_equal_checkpoints_are_equal_files_at_any_time(tmp_path, monkeypatch):
    write_checkpoint(tmp_path / "a.npz", checkpoint())
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))
    write_checkpoint(tmp_path / "b.npz", checkpoint())
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    dates = {entry.date_time for entry in zipfile.ZipFile(tmp_path / "a.npz").infolist()}
    assert dates == {(1980, 1, 1, 0, 0, 0)}


def test_a_reference_comes_back_with_its_weights(tmp_path):
    reference = np.random.default_rng(0).random((3, 84, 84, 4), np.float32)
    write_checkpoint(tmp_path / "checkpoint.npz", checkpoint(reference=reference))
    with np.load(tmp_path / "checkpoint.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) == {"theta", "reference", "about"}
        assert json.loads(str(arrays["about"])) == about()
    np.testing.assert_array_equal(read_checkpoint(tmp_path / "checkpoint.npz").reference, reference)


@pytest.mark.parametrize(
    "reference",
    [
        np.zeros((0, 84, 84, 4), np.float32),
        np.zeros((2, 84, 84), np.float32),
        np.zeros((2, 84, 84, 4)),
        np.full((2, 84, 84, 4), np.nan, np.float32),
        np.float32(1),
    ],
)
def test_a_reference_that_no_network_sees_is_refused(tmp_path, reference):
    write(tmp_path / "checkpoint.npz", reference=reference)
    with pytest.raises(NeurozooError, match=r"should hold a reference of finite numbers, .*\(batch, 84, 84, 4\)"):
        read_checkpoint(tmp_path / "checkpoint.npz")


def test_a_missing_checkpoint_says_how_to_get_it(tmp_path):
    path = tmp_path / "my $run" / "checkpoint.npz"
    with pytest.raises(NeurozooError, match=r"my \$run/checkpoint\.npz is missing\. Train first: snakemake .* '/.*'$"):
        read_checkpoint(path)
    (tmp_path / "archive.npz").touch()
    with pytest.raises(
        NeurozooError, match=r"it has an archive, and no network of its own\. Look at it in archive\.html"
    ):
        read_checkpoint(tmp_path / "checkpoint.npz")


def pickled(path):
    np.savez(path, theta=np.array([print], dtype=object), about=np.array("{}"))


def single_array(path):
    with open(path, "wb") as file:
        np.save(file, np.zeros(3))


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"PK\x03\x04 and no more"),
        lambda path: np.savez(path, theta=np.zeros(3)),
        lambda path: write(path, facts=[]),
        lambda path: write(path, facts={}),
        lambda path: write(path, facts=about(protocol="uber2018")),
        lambda path: write(path, facts=about(protocol={"name": "uber2018"})),
        lambda path: write(path, facts=about(surprise=1)),
        lambda path: write(path, facts=about(num_actions=5)),
        lambda path: write(path, facts=about(num_actions="4")),
        lambda path: write(path, facts=about(num_actions=0)),
        lambda path: write(path, facts=about(algo="../../../escaped")),
        lambda path: write(path, facts=about(algo=["ga"])),
        lambda path: write(path, facts=about(run=0)),
        lambda path: write(path, facts=about(run="../1")),
        lambda path: write(path, facts=about(model="smal")),
        lambda path: write(path, facts=about(model=["small"])),
        lambda path: write(path, facts=about(game="breakouts")),
        lambda path: write(path, theta=np.zeros(COUNT)),
        lambda path: write(path, theta=np.zeros(COUNT + 1, np.float32)),
        lambda path: write(path, theta=np.zeros((1, COUNT), np.float32)),
        pickled,
        single_array,
    ],
)
def test_a_file_that_is_not_a_checkpoint_is_refused_with_a_message(tmp_path, make):
    path = tmp_path / "checkpoint.npz"
    make(path)
    with pytest.raises(NeurozooError) as caught:
        read_checkpoint(path)
    assert len(str(caught.value)) < 1500  # where a game is unknown, all games are listed


def test_weights_of_a_network_that_was_edited_since_are_refused(tmp_path, monkeypatch):
    """The number of weights is the same, so that nothing else would tell."""
    write_checkpoint(tmp_path / "checkpoint.npz", checkpoint())
    small = get_network("small")
    first, *others = small.layers
    edited = dataclasses.replace(small, layers=(dataclasses.replace(first, activation="tanh"), *others))
    monkeypatch.setitem(ARCHITECTURES, "small", edited)
    with pytest.raises(NeurozooError, match="belongs to another network 'small' than networks/"):
        read_checkpoint(tmp_path / "checkpoint.npz")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused_with_the_layer(tmp_path, value):
    theta = checkpoint().theta.copy()
    theta[[-3, -1]] = value
    write_checkpoint(tmp_path / "checkpoint.npz", checkpoint(theta=theta))
    with pytest.raises(NeurozooError, match=r"NaN or infinite; the first are in out/b \(2\)\. .* the run diverged"):
        read_checkpoint(tmp_path / "checkpoint.npz")


def test_a_snapshot_is_a_checkpoint_with_its_facts_inside(tmp_path):
    write_checkpoint(tmp_path / "1000.npz", checkpoint(), facts={"test_score": 5.0, "genome": [1, [2, 0.1]]})
    np.testing.assert_array_equal(read_checkpoint(tmp_path / "1000.npz").theta, checkpoint().theta)
    assert read_facts(tmp_path / "1000.npz") == {"test_score": 5.0, "genome": [1, [2, 0.1]]}


def test_facts_that_are_missing_or_damaged_are_refused_with_a_message(tmp_path):
    write(tmp_path / "checkpoint.npz")
    with pytest.raises(NeurozooError, match="is damaged or not a snapshot"):
        read_facts(tmp_path / "checkpoint.npz")
    with pytest.raises(NeurozooError, match=r"nowhere\.npz is missing"):
        read_facts(tmp_path / "nowhere.npz")
    np.savez(tmp_path / "list.npz", facts=np.array("[1]"))
    with pytest.raises(NeurozooError, match="its facts are a list"):
        read_facts(tmp_path / "list.npz")
