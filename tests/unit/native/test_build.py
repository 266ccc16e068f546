"""The build's failures are real ones: an empty PATH, headers that are hidden, no network, a broken source.

What is compiled here is a library of one line; the real one takes minutes, and all other tests use it.
"""

import ctypes
import errno
import io
import json
import os
import shutil
import tarfile

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.files import sha256_of
from neurozoo.native import build, image
from neurozoo.native.build import ALE_VERSION, build_native, check_package, fetch_ale, find_compiler
from neurozoo.native.image import LIBRARIES
from neurozoo.native.sources import hash_sources

PACKAGE = f"ale_py-{ALE_VERSION}"
CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES CXX)
if(NOT EXISTS ${NEUROZOO_ALE_SOURCE}/src/ale.hpp)
  message(FATAL_ERROR "The emulator's sources are not there")
endif()
add_library(neurozoo_core SHARED tiny.cc)
set_target_properties(neurozoo_core PROPERTIES NO_SONAME TRUE)  # the real one has this name in the same process
target_compile_options(neurozoo_core PRIVATE -march=${NEUROZOO_MARCH})
add_library(neurozoo_ops SHARED ops.cc)
target_compile_options(neurozoo_ops PRIVATE ${NEUROZOO_TF_COMPILE_FLAGS})
"""
PATCH = """\
--- a/src/ale.hpp
+++ b/src/ale.hpp
@@ -1 +1,2 @@
 // the emulator
+#define PATCHED 1
"""
# pip asks a source package for its metadata, which this one makes by itself.
BACKEND = f"""
import os
def prepare_metadata_for_build_wheel(folder, settings=None):
    name = "{PACKAGE}.dist-info"
    os.makedirs(os.path.join(folder, name))
    with open(os.path.join(folder, name, "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\\nName: ale-py\\nVersion: {ALE_VERSION}\\n")
    return name
def build_wheel(*_): raise NotImplementedError
"""


def make_package(folder):
    """Writes a source package with the emulator's name and nothing in it."""
    path = folder / f"{PACKAGE}.tar.gz"
    files = {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": BACKEND,
        "PKG-INFO": f"Metadata-Version: 2.1\nName: ale-py\nVersion: {ALE_VERSION}\n",
        "src/ale.hpp": "// the emulator\n",
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{PACKAGE}/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Folder with a package and sources of one line; `build_native` takes them for the real ones."""
    tmp_path = tmp_path / "x{grid} a[1]%d"
    tmp_path.mkdir()
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "sources" / "tiny.cc").write_text('extern "C" int answer() { return 42; }\n')
    (tmp_path / "sources" / "ops.cc").write_text("int op;\n")
    (tmp_path / "sources" / "ale_patch").mkdir()
    (tmp_path / "sources" / "ale_patch" / "ale.patch").write_text(PATCH)
    package = make_package(tmp_path)
    monkeypatch.setattr(build, "SOURCES", tmp_path / "sources")
    real_check, digest = check_package, sha256_of(package)
    monkeypatch.setattr(build, "check_package", lambda path: real_check(path, sha256=digest))
    return tmp_path


def make(project, **changes):
    options = {"build_dir": project / "build", "march": "x86-64", "jobs": 2, "log": project / "logs" / "build.log"}
    build_native(project / f"{PACKAGE}.tar.gz", project, **options | changes)


def sources_of(project):
    return json.loads((project / "build.json").read_text())["sources_sha256"]


def answer_of(project):
    copy = project / f"copy{len(list(project.iterdir()))}.so"  # the loader keeps what it has loaded by its name
    shutil.copyfile(project / "libneurozoo_core.so", copy)
    return ctypes.CDLL(str(copy)).answer()


# ---- a build


def test_a_build_leaves_a_library_and_what_it_was_built_with(project):
    import tensorflow as tf

    make(project)
    assert answer_of(project) == 42
    facts = json.loads((project / "build.json").read_text())
    assert facts["tensorflow"] == tf.__version__
    assert (facts["ale"], facts["march"]) == (ALE_VERSION, "x86-64")
    assert facts["instructions"] == []
    assert facts["sha256"] == {name: sha256_of(project / name) for name in LIBRARIES}
    assert {"neurozoo", "commit", "ale_sha256", "compiler", "compile_flags"} <= set(facts)
    assert not any(flag.startswith("-I") for flag in facts["compile_flags"])
    assert (project / "logs" / "build.log").read_text()


def test_a_second_build_sees_what_changed(project):
    make(project)
    (project / "sources" / "tiny.cc").write_text('extern "C" int answer() { return 43; }\n')
    assert sources_of(project) != hash_sources(project / "sources")
    make(project)
    assert answer_of(project) == 43
    assert sources_of(project) == hash_sources(project / "sources")


def test_a_build_folder_that_was_moved_is_configured_anew(project):
    make(project)
    shutil.move(project / "build", project / "moved")
    make(project, build_dir=project / "moved")
    assert answer_of(project) == 42


def test_sources_that_a_kill_left_half_unpacked_are_never_built(project, monkeypatch):
    def killed(self, folder, **_):
        (project.__class__(folder) / PACKAGE).mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "extractall", killed)
        with pytest.raises(KeyboardInterrupt):
            make(project)
    assert not list((project / "build").rglob("ale_py*"))
    make(project)
    assert answer_of(project) == 42


def test_the_emulator_is_patched_and_a_new_patch_is_applied_to_fresh_sources(project):
    (project / "sources" / "tiny.cc").write_text('#include "ale.hpp"\nextern "C" int answer() { return PATCHED; }\n')
    includes = "target_include_directories(neurozoo_core PRIVATE ${NEUROZOO_ALE_SOURCE}/src)\n"
    (project / "sources" / "CMakeLists.txt").write_text(CMAKE + includes)
    make(project)
    assert answer_of(project) == 1
    (project / "sources" / "ale_patch" / "ale.patch").write_text(PATCH.replace("PATCHED 1", "PATCHED 2"))
    folder = project / "build"
    (folder / "old-ale_py-half").mkdir()  # a removal was killed
    (folder / "ale_py-of-somebody.tar.gz").touch()
    make(project)
    assert answer_of(project) == 2
    assert len([path for path in folder.glob("*ale_py*") if path.is_dir()]) == 1
    assert (folder / "ale_py-of-somebody.tar.gz").exists()


TRAINING = """
#include <fstream>
int main(int count, char**) {
  std::ofstream(RUNS, std::ios::app) << count - 1 << std::endl;
  return STATUS;
}
"""
TRAINED = """
target_compile_definitions(neurozoo_core PRIVATE PROFILE_${NEUROZOO_PROFILE}=1)
if(NEUROZOO_PROFILE STREQUAL "generate")
  add_executable(emulator_training train.cc)
  target_compile_definitions(emulator_training PRIVATE RUNS="${CMAKE_SOURCE_DIR}/runs.txt")
endif()
"""


@pytest.mark.parametrize("succeeds", [True, False])
def test_the_emulator_is_trained_once_and_a_training_that_fails_is_no_error(project, succeeds):
    (project / "sources" / "CMakeLists.txt").write_text(CMAKE + TRAINED)
    (project / "sources" / "train.cc").write_text(TRAINING.replace("STATUS", "0" if succeeds else "1"))
    profile = "PROFILE_use" if succeeds else "PROFILE_none"
    (project / "sources" / "tiny.cc").write_text(f'extern "C" int answer() {{ return {profile}; }}\n')
    make(project)
    assert answer_of(project) == 1
    assert json.loads((project / "build.json").read_text())["emulator_is_trained"] is succeeds
    make(project)
    runs = (project / "sources" / "runs.txt").read_text().split()
    assert runs == [str(len(build.TRAINING_GAMES))] * (1 if succeeds else 2)
    (project / "sources" / "ale_patch" / "more.inc").write_text("// other code, which is counted anew")
    (project / "sources" / "ale_patch" / "upstream").mkdir()  # beside the code, and no part of it
    make(project)
    assert len((project / "sources" / "runs.txt").read_text().split()) == len(runs) + 1


# ---- failures of a build


def test_a_patch_that_does_not_fit_is_told(project):
    (project / "sources" / "ale_patch" / "ale.patch").write_text(PATCH.replace("// the", "// another"))
    failure(project, "does not fit src/ale.hpp: line 1 should be '// another emulator'")
    assert not list((project / "build").rglob("ale_py*"))


def failure(project, complaint, **changes):
    """Builds, expects a failure, and returns its sentence; a library that was there before must be untouched."""
    for name in LIBRARIES:
        (project / name).write_bytes(b"old library")
    (project / "build.json").write_text("old facts")
    with pytest.raises(NeurozooError, match=complaint) as caught:
        make(project, **changes)
    assert {(project / name).read_bytes() for name in LIBRARIES} == {b"old library"}
    assert (project / "build.json").read_text() == "old facts"
    return str(caught.value)


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("tiny.cc", '#warning "error-free"\nint answer( { return 42; }\n', "tiny.cc:2"),
        ("CMakeLists.txt", CMAKE + 'message(FATAL_ERROR "Too old")\n', "Too old"),
    ],
)
def test_an_error_names_the_log_and_the_first_error(project, file, text, reason):
    (project / "sources" / file).write_text(text)
    sentence = failure(project, r"could not be compiled; the first error in .*build\.log: ")
    assert reason in sentence
    assert "error-free" not in sentence


def test_a_path_that_cmake_may_not_take_is_named(project):
    failure(project, r"CMake does not take every path, and this one has a '\"'", build_dir=project / 'a"b')


def test_another_package_is_not_built(project):
    with open(project / f"{PACKAGE}.tar.gz", "ab") as file:
        file.write(b"!")
    failure(project, r"has SHA-256 \w{64}, but \w{64} is pinned\. Do not build it; delete it")
    assert not (project / "build").exists()


def test_no_compiler_is_told_before_anything_is_unpacked(project, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("CXX", raising=False)
    failure(
        project, r"A C\+\+ compiler is needed, but c\+\+ or g\+\+ or clang\+\+ was not found\. Install one \(Debian"
    )
    assert not (project / "build").exists()


@pytest.mark.parametrize("missing", ["cmake", "ninja"])
def test_a_missing_tool_is_told_with_how_to_get_it(project, monkeypatch, tmp_path, missing):
    real = shutil.which
    monkeypatch.setattr(build.sysconfig, "get_path", lambda *_: str(tmp_path / "nowhere"))
    found = {missing: None}
    monkeypatch.setattr(build.shutil, "which", lambda name, *more: found.get(name, real(name, *more) or f"/bin/{name}"))
    failure(project, f"{missing} was not found. Install it: pip install {missing}")


def test_a_disk_that_fills_up_while_the_facts_are_written_leaves_the_old_library(project, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    make(project)
    monkeypatch.setattr(image, "write_json", full)
    failure(project, "could not be written: no space left on device")


# ---- compilers


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_the_compiler_is_the_systems_own_or_the_one_in_cxx(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    own = find_compiler()
    assert os.path.basename(own) in ("c++", "g++", "clang++")
    other = script(tmp_path / "my-compiler", f'exec {own} "$@"')
    monkeypatch.setenv("CXX", str(other))
    assert find_compiler() == str(other)


def test_a_compiler_in_cxx_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setenv("CXX", "/nowhere/g++")
    with pytest.raises(NeurozooError, match=r"A C\+\+ compiler is needed, but /nowhere/g\+\+ was not found.* set CXX"):
        find_compiler()


def test_missing_zlib_headers_are_told_with_how_to_get_them(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    own = find_compiler()
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "zlib.h").write_text("#error zlib.h is hidden\n")
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", f'exec {own} -I{tmp_path}/hidden "$@"')))
    with pytest.raises(
        NeurozooError, match=r"does not find zlib's headers \(zlib\.h\)\. Install: apt install zlib1g-dev"
    ):
        find_compiler()


def test_a_compiler_without_standard_library_is_told(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    own = find_compiler()
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", f'exec {own} -nostdinc "$@"')))
    with pytest.raises(NeurozooError, match=r"does not find its standard library\. Install: apt install g\+\+"):
        find_compiler()


def test_tools_of_this_environment_come_first(monkeypatch, tmp_path):
    monkeypatch.setattr(build.sysconfig, "get_path", lambda *_: str(tmp_path))
    cmake = script(tmp_path / "cmake", "exit 0")
    assert build.tool("cmake") == str(cmake)


# ---- the emulator's source package


def offline(folder):
    return ["--no-index", "--find-links", str(folder)]


def test_the_package_comes_through_pip_and_is_compared_with_the_hash(tmp_path):
    (tmp_path / "index").mkdir()
    package = make_package(tmp_path / "index")
    output, log = tmp_path / "out" / "ale.tar.gz", tmp_path / "logs" / "fetch.log"
    fetch_ale(output, log=log, sha256=sha256_of(package), pip_options=offline(tmp_path / "index"))
    assert output.read_bytes() == package.read_bytes()
    assert "Saved" in log.read_text()


def test_a_wrong_hash_is_told_and_nothing_appears(tmp_path):
    (tmp_path / "index").mkdir()
    make_package(tmp_path / "index")
    output = tmp_path / "out" / "ale.tar.gz"
    with pytest.raises(NeurozooError, match=rf"{PACKAGE}.tar.gz has SHA-256 \w+, but {build.ALE_SHA256} is pinned"):
        fetch_ale(output, log=tmp_path / "fetch.log", pip_options=offline(tmp_path / "index"))
    assert not output.exists()


def test_no_network_is_told_with_the_way_round_it(tmp_path):
    output = tmp_path / "out" / "ale.tar.gz"
    unreachable = ["--index-url", "http://127.0.0.1:9/simple", "--retries", "0", "--timeout", "2"]  # nobody listens
    with pytest.raises(NeurozooError) as caught:
        fetch_ale(output, log=tmp_path / "fetch.log", pip_options=unreachable)
    sentence = str(caught.value)
    assert f"The source package ale-py {ALE_VERSION} could not be downloaded" in sentence
    assert "No matching distribution found" in sentence
    assert f"Without network, put {PACKAGE}.tar.gz from another machine at {output}." in sentence
    assert not output.exists()
