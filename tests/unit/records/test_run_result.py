import json

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.records.run_result import describe_result, read_run_result

NEW, OLD = {"algo": "dqn", "iteration": 4, "frames": 640}, {"algo": "dqn", "iteration": 2, "frames": 384}


def write_checkpoint(folder, facts=None):
    said = {} if facts is None else {"facts": np.array(json.dumps(facts))}
    np.savez(folder / "checkpoint.npz", theta=np.zeros(3, np.float32), **said)


def test_a_genome_that_version_0_1_left_beside_a_newer_network_means_nothing(tmp_path):
    write_checkpoint(tmp_path, NEW)
    (tmp_path / "genome.json").write_text(json.dumps(OLD | {"genome": None}))
    record = describe_result(tmp_path)
    assert record == {"kind": "network", **NEW, "files": record["files"]}
    assert list(record["files"]) == ["checkpoint.npz"]
    assert describe_result(tmp_path) == read_run_result(tmp_path) == record


def test_a_run_of_before_is_described_by_its_genome(tmp_path):
    write_checkpoint(tmp_path)
    (tmp_path / "genome.json").write_text(json.dumps(OLD | {"genome": [1]}))
    record = describe_result(tmp_path)
    assert record == {"kind": "network", **OLD, "files": record["files"]}
    assert list(record["files"]) == ["checkpoint.npz", "genome.json"]


def test_a_record_of_another_checkpoint_is_written_again(tmp_path):
    write_checkpoint(tmp_path, OLD)
    describe_result(tmp_path)
    write_checkpoint(tmp_path, NEW)
    assert describe_result(tmp_path)["frames"] == 640


def test_a_folder_without_a_result_gives_the_command_that_makes_one(tmp_path):
    with pytest.raises(NeurozooError, match=r"should hold checkpoint\.npz or archive\.npz, but holds neither"):
        describe_result(tmp_path)
    with pytest.raises(NeurozooError, match=r"has neither result\.json nor genome\.json"):
        read_run_result(tmp_path)


def test_a_damaged_checkpoint_is_a_sentence(tmp_path):
    (tmp_path / "checkpoint.npz").write_bytes(b"PK")
    with pytest.raises(NeurozooError, match=r"checkpoint\.npz is damaged .* train the run again"):
        describe_result(tmp_path)
