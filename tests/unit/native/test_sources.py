import hashlib
import os
import shutil

import pytest
from neurozoo.native.sources import SOURCES, hash_sources


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "native" / "core").mkdir(parents=True)
    (tmp_path / "native" / "CMakeLists.txt").write_text("project(x)")
    (tmp_path / "native" / "core" / "a.cc").write_text("int a;\n")
    return tmp_path / "native"


def test_the_hash_is_that_of_names_lengths_and_contents_in_order(folder):
    text = b"CMakeLists.txt\n10\nproject(x)core/a.cc\n7\nint a;\n"
    assert hash_sources(folder) == hashlib.sha256(text).hexdigest()


def test_the_hash_depends_neither_on_the_place_nor_on_times(folder, tmp_path):
    before = hash_sources(folder)
    copy = shutil.copytree(folder, tmp_path / "elsewhere" / "native")
    os.utime(copy / "core" / "a.cc", (1, 1))
    assert hash_sources(copy) == before


@pytest.mark.parametrize("name", ["core/a.cc", "b.h", "ale_patch/b.inc", "ale_patch/b.patch", "CMakeLists.txt"])
def test_every_kind_of_source_counts(folder, name):
    before = hash_sources(folder)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("other")
    assert hash_sources(folder) != before


def test_a_source_under_another_name_is_another_source(folder):
    before = hash_sources(folder)
    (folder / "core" / "a.cc").rename(folder / "core" / "b.cc")
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


def test_the_sources_of_the_project_are_found():
    assert (SOURCES / "CMakeLists.txt").exists()
