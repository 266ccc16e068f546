import json

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.records.run_result import read_run_result, write_run_result

FACTS = {"algo": "dqn", "iteration": 4, "frames": 640}


def test_a_result_comes_back_with_the_hashes_of_its_files(tmp_path):
    (tmp_path / "checkpoint.npz").write_bytes(b"weights")
    written = write_run_result(tmp_path, kind="network", facts=FACTS, files=["checkpoint.npz"])
    assert read_run_result(tmp_path) == written
    assert written == {"format": 1, "kind": "network", **FACTS, "files": written["files"]}
    assert list(written["files"]) == ["checkpoint.npz"]


def test_a_result_needs_its_files(tmp_path):
    with pytest.raises(NeurozooError, match=r"checkpoint\.npz is missing, so result\.json cannot name it"):
        write_run_result(tmp_path, kind="network", facts=FACTS, files=["checkpoint.npz"])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, r"result\.json is missing, which describes the result"),
        (FACTS, r"result\.json has format 0, but this version reads format 1\. Make it again"),
        ({"format": 1, "frames": "many"}, "frames should be a number"),
    ],
)
def test_a_result_that_cannot_be_read_says_why(tmp_path, found, message):
    if found is not None:
        (tmp_path / "result.json").write_text(json.dumps(found))
    with pytest.raises(NeurozooError, match=message):
        read_run_result(tmp_path)
