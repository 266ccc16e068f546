import hashlib

import pytest
from neurozoo.native.sources import hash_sources


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "native" / "core").mkdir(parents=True)
    (tmp_path / "native" / "CMakeLists.txt").write_text("project(x)")
    (tmp_path / "native" / "core" / "a.cc").write_text("int a;\n")
    return tmp_path / "native"


def test_the_hash_is_that_of_names_lengths_and_contents_in_order(folder):
    text = b"CMakeLists.txt\n10\nproject(x)core/a.cc\n7\nint a;\n"
    assert hash_sources(folder) == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("name", ["core/a.cc", "b.h", "ale_patch/b.inc", "ale_patch/b.patch", "CMakeLists.txt"])
def test_every_kind_of_source_counts(folder, name):
    before = hash_sources(folder)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("other")
    assert hash_sources(folder) != before


def test_what_the_compiler_does_not_see_does_not_count(folder):
    before = hash_sources(folder)
    (folder / "README.md").write_text("about")
    (folder / "core" / "a.cc~").write_text("an editor's copy")
    (folder / "core" / ".#a.cc").symlink_to("nobody@nowhere")  # how Emacs locks a file
    assert hash_sources(folder) == before


def test_without_sources_there_is_no_hash(tmp_path):
    assert hash_sources(tmp_path / "nowhere") is None
    assert hash_sources(tmp_path) is None
