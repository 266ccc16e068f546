import json

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.files import read_json, write_json, write_text, written_whole


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_under_its_name_only_when_it_is_complete(tmp_path):
    path = tmp_path / "new" / "result.npz"
    with written_whole(path) as temporary:
        temporary.write_bytes(b"half")
        assert temporary.parent.samefile(path.parent)  # so that renaming is one step
        assert temporary.suffix == ".npz"
        assert not path.exists()
    assert path.read_bytes() == b"half"
    assert names(path.parent) == ["result.npz"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_half_way_leaves_the_old_file_and_no_temporary_one(tmp_path, failure):
    path = tmp_path / "result.txt"
    path.write_text("old")

    def write():
        with written_whole(path) as temporary:
            temporary.write_text("ne")
            raise failure

    with pytest.raises(failure):
        write()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["result.txt"]


def test_a_full_disk_leaves_the_old_file_and_says_what_to_do(small_disk):
    outcome = small_disk(
        """
from pathlib import Path
from neurozoo.files import write_text
path = Path(sys.argv[1]) / "result.txt"
write_text(path, "old")
message = refusal(lambda: write_text(path, "x" * 2_000_000))
print(json.dumps([message, path.read_text(), sorted(os.listdir(sys.argv[1]))]))
"""
    )
    assert "could not be written: no space left on device" in outcome[0]
    assert "free some space and start the same command again" in outcome[0]
    assert outcome[1:] == ["old", ["result.txt"]]


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ("file/a.txt", r"/file cannot be used, because a file is where a folder is needed"),
        ("file/deeper/a.txt", r"/file/deeper cannot be used, because a file is where a folder is needed"),
        ("folder", r"/folder cannot be used, because a folder is where a file is needed"),
        ("x" * 300, r"x has a name that is too long for its file system"),
        ("/proc/1/a.txt", r"/proc/1/a.txt is missing|/proc/1/a.txt may not be used"),
    ],
)
def test_what_the_system_refuses_is_explained(tmp_path, place, complaint):
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    with pytest.raises(NeurozooError, match=complaint):
        write_text(tmp_path / place, "text")
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file", "folder"]


def test_an_error_about_another_file_names_that_file(tmp_path):
    with pytest.raises(NeurozooError, match=r"input.txt is missing"), written_whole(tmp_path / "output.txt"):
        (tmp_path / "input.txt").read_text()
    assert names(tmp_path) == []


def test_json_is_written_for_strict_readers(tmp_path):
    write_json(tmp_path / "a.json", {"b": [1, 2.5, None]})
    assert json.loads((tmp_path / "a.json").read_text()) == {"b": [1, 2.5, None]}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"b": float("nan")})
    assert json.loads((tmp_path / "a.json").read_text()) == {"b": [1, 2.5, None]}


def test_text_is_utf8_whatever_the_locale_is(tmp_path):
    write_text(tmp_path / "a.txt", "θ")
    assert (tmp_path / "a.txt").read_bytes() == b"\xce\xb8"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'{"a": 1', "is damaged"),
        (b"", "is damaged"),
        (b"\xff\xfe", "is damaged"),
        (b"[" * 100_000, "is damaged"),
        (b"9" * 5_000, "is damaged"),
        (b"[1, 2]", "should hold a JSON object, but holds a list"),
    ],
    ids=["truncated", "empty", "binary", "deep", "huge number", "list"],
)
def test_a_file_without_a_json_object_is_refused_with_the_remedy(tmp_path, content, complaint):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(NeurozooError, match=f"a.json {complaint}.*Do this.") as caught:
        read_json(path, "Do this.")
    assert len(str(caught.value)) < 300 + len(str(path))
