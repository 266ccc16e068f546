"""Backups on S3: a node that is lost with its disk loses no training. The storage is a stand-in on this machine."""

import json
import os
import shutil
import signal

import pytest
import training_processes
from botocore.exceptions import EndpointConnectionError
from neurozoo.compute.aws import aws_client
from neurozoo.errors import NeurozooError
from neurozoo.training import loop
from neurozoo.training.backup import PART, Backup, TakenOver
from training_processes import PATIENCE, assert_same_results

ADDRESS = "s3://zoo/runs/1/backup"
CARTPOLE = {"algo": "ga", "game": "gym.CartPole-v1", "model": "simple"}


@pytest.fixture
def bucket(aws):
    client = aws_client("s3")
    client.create_bucket(Bucket="zoo", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})

    class Bucket:
        def keys(self):
            entries = client.list_objects_v2(Bucket="zoo").get("Contents", ())
            return {entry["Key"].removeprefix("runs/1/backup/") for entry in entries}

        def read(self, key):
            return client.get_object(Bucket="zoo", Key=f"runs/1/backup/{key}")["Body"].read()

        def write(self, key, data):
            client.put_object(Bucket="zoo", Key=f"runs/1/backup/{key}", Body=data)

        def delete(self):
            for entry in client.list_objects_v2(Bucket="zoo").get("Contents", ()):
                client.delete_object(Bucket="zoo", Key=entry["Key"])
            client.delete_bucket(Bucket="zoo")

    return Bucket()


def make_run(folder, *, state="{}", journal="one\n"):
    (folder / "state" / "arrays").mkdir(parents=True, exist_ok=True)
    (folder / "state" / "state.json").write_text(state)
    (folder / "state" / "journal.jsonl").write_text(journal)
    return folder


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "crash",
    [
        "after the second backup",
        pytest.param("between the first parts and their index", marks=pytest.mark.long(seconds=30)),
    ],
)
def test_a_run_whose_node_is_lost_ends_elsewhere_with_the_same_bytes(runner, aws, bucket, tmp_path, crash):
    settings = training_processes.SETTINGS | {"frames": 600, "snapshot_frames": 100}
    lost, elsewhere, whole = tmp_path / "lost", tmp_path / "elsewhere", tmp_path / "whole"
    process = runner.start(lost, crash=crash, whole_settings=settings, variables=aws, backup=ADDRESS, **CARTPOLE)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    shutil.rmtree(lost)
    runner.finish(elsewhere, whole_settings=settings, variables=aws, backup=ADDRESS, **CARTPOLE)
    is_restored = "it comes from the backup s3://zoo" in (elsewhere / "train.log").read_text()
    assert is_restored == (crash == "after the second backup")
    runner.finish(whole, whole_settings=settings, **CARTPOLE)
    assert_same_results(elsewhere, whole)
    # The last backup is that of the finished run: another node has nothing left to play.
    third = tmp_path / "third"
    runner.finish(third, whole_settings=settings, variables=aws, backup=ADDRESS, **CARTPOLE)
    assert_same_results(third, whole)
    assert (third / "state" / "log.jsonl").read_bytes() == (elsewhere / "state" / "log.jsonl").read_bytes()


def test_a_backup_brings_back_what_the_run_needs_and_nothing_else(bucket, tmp_path):
    run = make_run(tmp_path / "run")
    (run / "state" / "process.json").write_text("of this node")
    (run / "state" / ".state.12.json").write_text("half")
    (run / "state" / "arrays" / "empty.npy").write_bytes(b"")
    (run / "state" / "arrays" / "ring.npy").write_bytes(bytes(2 * PART) + b"end")
    (run / "train.log").write_text("Snakemake's")
    (run / "tags").mkdir()
    (run / "tags" / "human.npz").write_bytes(b"agent")
    (run / "population").mkdir()
    (run / "population" / "00001.npz").write_bytes(b"points")
    backup = Backup(run, ADDRESS)
    assert not backup.open()
    backup.keep()
    there = tmp_path / "there"
    assert "had no state" in Backup(there, ADDRESS).open()
    expected = content(run)
    for name in ("state/process.json", "state/.state.12.json", "train.log"):
        del expected[name]
    assert content(there) == expected


def test_only_what_has_changed_is_sent_and_what_is_not_needed_goes(bucket, tmp_path):
    run = make_run(tmp_path / "run")
    (run / "state" / "ring.npy").write_bytes(bytes(PART) + b"first" + bytes(PART - 5))
    backup = Backup(run, ADDRESS)
    backup.open()
    backup.keep()
    before = bucket.keys()
    with open(run / "state" / "ring.npy", "r+b") as file:
        file.seek(PART)
        file.write(b"other")
    backup.keep()
    after = bucket.keys()
    assert (len(before - after), len(after - before)) == (1, 1)
    assert len(after) == len(before) == 5  # index, state, journal, and two parts


def test_a_training_on_a_node_that_seemed_lost_stops_and_changes_nothing(bucket, tmp_path):
    earlier = Backup(make_run(tmp_path / "earlier"), ADDRESS)
    earlier.open()
    earlier.keep()
    later = Backup(tmp_path / "later", ADDRESS)
    assert later.open()
    before = bucket.read("index.json")
    make_run(tmp_path / "earlier", journal="one\ntwo\n")
    with pytest.raises(TakenOver, match="Another training has taken over"):
        earlier.keep()
    assert bucket.read("index.json") == before
    later.keep()
    assert Backup(tmp_path / "third", ADDRESS).open()


@pytest.mark.parametrize("is_lost", ["the answer", "the request"])
def test_an_answer_that_is_lost_ends_no_training(bucket, tmp_path, monkeypatch, is_lost):
    run = make_run(tmp_path / "run")
    backup = Backup(run, ADDRESS)
    backup.open()
    put = backup._client.put_object

    def lose(**arguments):
        if is_lost == "the answer":
            put(**arguments)
        raise EndpointConnectionError(endpoint_url="http://s3")

    monkeypatch.setattr(backup._client, "put_object", lose)
    with pytest.raises(NeurozooError, match="nothing answers"):
        backup.keep()
    monkeypatch.setattr(backup._client, "put_object", put)
    (run / "state" / "journal.jsonl").write_text("one\ntwo\n")
    backup.keep()
    assert Backup(tmp_path / "there", ADDRESS).open()
    assert content(tmp_path / "there") == content(run)


def test_a_double_start_leaves_the_backup_to_the_training_that_runs(bucket, runner, tmp_path, monkeypatch):
    run = make_run(tmp_path / "run")
    running = Backup(run, ADDRESS)
    running.open()

    def refuse(folder, *, check):
        raise NeurozooError("This run is being trained")

    monkeypatch.setattr(loop, "wait_for_earlier_training", refuse)
    with pytest.raises(NeurozooError, match="being trained"):
        training_processes.train_run(**runner.arguments(run, backup=ADDRESS, **CARTPOLE))
    running.keep()


def state_of(settings, progress):
    return json.dumps({"identity": {"settings": settings}, "progress": progress})


def backed_up(folder, *, settings="a", progress=100, tag="one"):
    """Makes a run with its backup."""
    run = make_run(folder, state=state_of(settings, progress))
    (run / "tags").mkdir()
    (run / "tags" / f"{tag}.npz").write_text(tag)
    backup = Backup(run, ADDRESS)
    backup.open()
    backup.keep()
    return run


@pytest.mark.parametrize(("here", "is_kept"), [(50, False), (100, True), (150, True)])
def test_of_two_states_with_the_same_settings_the_further_one_is_preferred(bucket, tmp_path, here, is_kept):
    backed_up(tmp_path / "first", progress=100)
    second = make_run(tmp_path / "second", state=state_of("a", here))
    said = Backup(second, ADDRESS).open()
    assert json.loads((second / "state" / "state.json").read_text())["progress"] == max(here, 100)
    assert (second / "tags" / "one.npz").exists() != is_kept
    assert said == "" if is_kept else "further than the state in this folder (100 against 50)" in said
    assert not (second / "superseded").exists()


@pytest.mark.parametrize("is_older", [True, False])
def test_of_two_states_with_different_settings_the_later_one_is_preferred_and_none_is_lost(bucket, tmp_path, is_older):
    first = backed_up(tmp_path / "first", settings="a", tag="one")
    second = make_run(tmp_path / "second", state=state_of("b", 3))
    (second / "tags").mkdir()
    (second / "tags" / "two.npz").write_text("two")
    (second / "superseded" / "1").mkdir(parents=True)
    (second / "superseded" / "1" / "state.json").write_text("older")
    if is_older:
        os.utime(second / "state" / "state.json", (1e9, 1e9))
    else:
        os.utime(second / "state" / "state.json", (4e9, 4e9))
    parts = {"a": content(first), "b": content(second)}
    backup = Backup(second, ADDRESS)
    said = backup.open()
    assert said.endswith(f"is the later one; the other is now in {second / 'superseded' / '2'}")
    preferred, other = ("a", "b") if is_older else ("b", "a")
    for name in ("state/state.json", "state/journal.jsonl"):
        assert (second / name).read_bytes() == parts[preferred][name]
        assert (second / "superseded" / "2" / name.partition("/")[2]).read_bytes() == parts[other][name]
    tags = {"a": "tags/one.npz", "b": "tags/two.npz"}
    assert (second / tags[preferred]).exists()
    assert (second / "superseded" / "2" / tags[other]).exists()
    assert (second / "superseded" / "1" / "state.json").read_text() == "older"
    backup.keep()
    Backup(tmp_path / "third", ADDRESS).open()
    assert content(tmp_path / "third") == content(second)
    assert not list(second.glob(".restored*"))


def test_a_state_that_this_folder_has_set_aside_itself_is_not_set_aside_again(bucket, tmp_path):
    """As after a change of settings, and a kill before the first backup of the new state."""
    run = backed_up(tmp_path / "run", settings="a")
    (run / "superseded").mkdir()
    (run / "state").rename(run / "superseded" / "1")
    make_run(run, state=state_of("b", 0))
    os.utime(run / "state" / "state.json", (4e9, 4e9))
    before = content(run)
    assert Backup(run, ADDRESS).open() == ""
    assert content(run) == before


def test_what_was_superseded_here_and_in_the_backup_is_kept_once(bucket, tmp_path):
    first = tmp_path / "first"
    for number in ("1", "2"):
        (first / "superseded" / number).mkdir(parents=True)
        (first / "superseded" / number / "state.json").write_text(number * 5)
    backed_up(first, progress=100)
    second = make_run(tmp_path / "second", state=state_of("a", 50))
    for number, text in (("1", "1" * 5), ("2", "mine")):
        (second / "superseded" / number).mkdir(parents=True)
        (second / "superseded" / number / "state.json").write_text(text)
    Backup(second, ADDRESS).open()
    found = {path.parent.name: path.read_text() for path in (second / "superseded").glob("*/state.json")}
    assert found == {"1": "11111", "2": "mine", "3": "22222"}


@pytest.mark.parametrize("damage", ["missing part", "wrong part", "path", "name", "no JSON"])
def test_a_damaged_backup_is_refused_in_a_sentence_and_writes_nothing(bucket, tmp_path, damage):
    backup = Backup(make_run(tmp_path / "run"), ADDRESS)
    backup.open()
    backup.keep()
    index = json.loads(bucket.read("index.json"))
    part = index["files"]["state/journal.jsonl"][0]
    if damage == "missing part":
        index["files"]["state/journal.jsonl"] = ["0" * 64 + part[64:]]
    elif damage == "wrong part":
        bucket.write(f"parts/{part}", b"other")
    elif damage == "path":
        index["files"]["state/../../evil"] = [part]
    elif damage == "name":
        index["files"]["state/journal.jsonl"] = ["../../index.json"]
    bucket.write("index.json", b"[" if damage == "no JSON" else json.dumps(index).encode())
    with pytest.raises(NeurozooError, match=r"is damaged: .* or delete it to train this run from the start: aws s3 rm"):
        Backup(tmp_path / "there", ADDRESS).open()
    assert not (tmp_path / "evil").exists()
    assert not list((tmp_path / "there").glob("*"))


def test_storage_that_goes_away_is_a_sentence_and_a_later_backup_succeeds(bucket, tmp_path, monkeypatch):
    backup = Backup(make_run(tmp_path / "run"), ADDRESS)
    backup.open()
    bucket.delete()
    with pytest.raises(NeurozooError, match="cannot be written: the bucket does not exist"):
        backup.keep()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(
        NeurozooError, match=r"nothing answers .* Check the network and AWS_ENDPOINT_URL, which is http"
    ):
        Backup(tmp_path / "there", ADDRESS).open()


def test_without_credentials_the_sentence_says_where_they_belong(aws, tmp_path, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(NeurozooError, match=r"there are no credentials. Run aws configure, or set AWS_ACCESS_KEY_ID"):
        Backup(tmp_path, ADDRESS).open()


@pytest.mark.parametrize("address", ["zoo/runs", "s3://", "s3://Zoo/x", "http://zoo"])
def test_an_address_that_is_not_on_s3_is_refused(address):
    with pytest.raises(NeurozooError, match="should look like s3://my-bucket/neurozoo"):
        Backup("run", address)
