"""Builds the core and TensorFlow's ops from source: the emulator's package, CMake, and TensorFlow's own flags."""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neurozoo.errors import NeurozooError, explained
from neurozoo.files import copy_file, open_to_append, open_to_write, sha256_of
from neurozoo.folders import delete, delete_folder, find, make_folder, move
from neurozoo.machine import provenance
from neurozoo.native.image import IMAGE, LIBRARIES, put_libraries, take_libraries
from neurozoo.native.patches import apply_patch
from neurozoo.native.processor import chosen_march, instructions_of
from neurozoo.native.sources import SOURCES, hash_sources

ALE_VERSION = "0.12.1"
ALE_SHA256 = "c503d574c5983e1063b451201ccb779d935919c0f6bf116fb0f4f8aa4c86d249"

# How compilers, linkers, CMake and Ninja begin what went wrong; not -Werror, and not a file called error.cc.
_ERROR = re.compile(r"\berror: |^CMake Error|undefined reference|cannot find -l|\bfatal: ")

# What the emulator plays while the compiler watches it: scrolling, flicker, large sprites, bank switching.
TRAINING_GAMES = ("space_invaders", "hero", "qbert", "asterix", "riverraid", "boxing", "amidar")


def fetch_ale(
    output: str | os.PathLike,
    *,
    log: str | os.PathLike,
    sha256: str = ALE_SHA256,
    pip_options: Sequence[str] = (),
) -> None:
    """Downloads the emulator's source package through pip, so that mirrors and proxies work as the user set them up.

    A container image of the project brings it.

    Raises:
        NeurozooError: pip could not download it, or the hash is wrong; nothing appears at `output` then.
    """
    if (kept := IMAGE / f"ale-py-{ALE_VERSION}.tar.gz").exists():
        check_package(kept, sha256=sha256)
        copy_file(kept, output)
        return
    with tempfile.TemporaryDirectory() as folder:
        # pip asks a source package for its metadata; its build requirements are not needed for that.
        command = [
            *(sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "ale-py", "--no-build-isolation"),
            *("--disable-pip-version-check", "--dest", folder, *pip_options, f"ale-py=={ALE_VERSION}"),
        ]
        if not _run(command, log=log):
            raise NeurozooError(
                f"The source package ale-py {ALE_VERSION} could not be downloaded; {log} ends: {_last_line(log)!r}. "
                f"Without network, put ale_py-{ALE_VERSION}.tar.gz from another machine at {output}."
            )
        (package,) = Path(folder).glob("*.tar.gz")
        check_package(package, sha256=sha256)
        copy_file(package, output)


def check_package(package: Path, *, sha256: str = ALE_SHA256) -> None:
    """Compares the source package with the pinned hash."""
    if (digest := sha256_of(package)) != sha256:
        raise NeurozooError(
            f"The source package {package.name} has SHA-256 {digest}, but {sha256} is pinned. "
            "Do not build it; delete it, and find out where it comes from."
        )


def build_native(
    source: str | os.PathLike,
    folder: str | os.PathLike,
    *,
    build_dir: str | os.PathLike,
    march: str,
    jobs: int,
    log: str | os.PathLike,
) -> None:
    """Compiles the core and TensorFlow's ops (two to four minutes of a core; later builds only what changed).

    The emulator is patched (`native/ale_patch/ale.patch`), and compiled for what it does in a few games. Neither
    changes what is played. Where it cannot be watched (another compiler than GCC, no games, an instruction set that
    this machine lacks), it is compiled as usual. In a container image of the project, both are compiled already.

    Args:
        source: The emulator's source package.
        folder: Where `LIBRARIES` appear, and `build.json`: versions, flags and hashes, which `load_core` checks.
        build_dir: Folder for intermediate files; it may be deleted afterwards.
        march: Instruction set, such as `x86-64-v3` or `native`; `portable` is the one of this kind of processor with
            the same bits on all nodes of a mixed cluster.
        jobs: Compilers at once.
        log: File for the tools' messages.

    Raises:
        NeurozooError: A tool or header is missing, the package is not the pinned one, compilation failed, or the core
            of the container image does not fit. What stood in `folder` before is untouched.
    """
    source, folder, build_dir, march = Path(source), Path(folder), Path(build_dir), chosen_march(march)
    if take_libraries(folder, march=march):
        return
    import tensorflow as tf

    sources_sha256 = hash_sources(SOURCES)  # before they are read: what changes meanwhile may be missing in the core
    check_package(source)
    compiler = find_compiler()
    make_folder(build_dir)
    patch = (SOURCES / "ale_patch" / "ale.patch").read_text(encoding="utf-8")
    ale = build_dir / f"ale_py-{ALE_VERSION}-{hashlib.sha256(patch.encode()).hexdigest()[:12]}"
    if not ale.exists():
        _unpack(source, ale, patch=patch)
    _forget_moved_cache(build_dir)
    compile_flags, link_flags = tf.sysconfig.get_compile_flags(), tf.sysconfig.get_link_flags()
    configure = [
        *(tool("cmake"), "-G", "Ninja", "-S", str(SOURCES), "-B", str(build_dir / "cmake")),
        f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
        f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DNEUROZOO_ALE_SOURCE={ale.resolve()}",
        f"-DNEUROZOO_TF_COMPILE_FLAGS={';'.join(compile_flags)}",
        f"-DNEUROZOO_TF_LINK_FLAGS={';'.join(link_flags)}",
        f"-DNEUROZOO_MARCH={march}",
    ]
    build = [tool("cmake"), "--build", str(build_dir / "cmake"), "--parallel", str(jobs), "--target"]
    compiler_version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    # Counts hold only for the code that they were taken of.
    code = [sha256_of(file) for file in sorted((SOURCES / "ale_patch").iterdir()) if file.is_file()]
    key = "\n".join([march, compiler_version, *code])
    is_trained = _train(configure, build, build_dir=build_dir, key=key)
    configure.append(f"-DNEUROZOO_PROFILE={'use' if is_trained else 'none'}")
    if not (_run(configure, log=log) and _run([*build, "neurozoo_core", "neurozoo_ops"], log=log, append=True)):
        letter = re.search(r'["\\\n;|$]', f"{SOURCES}{build_dir.resolve()}")
        hint = f" CMake does not take every path, and this one has a {letter[0]!r}: move the project." if letter else ""
        raise NeurozooError(
            f"The native core could not be compiled; the first error in {log}: {_first_error(log)!r}.{hint}"
        )
    facts = {
        **provenance(),
        "tensorflow": tf.__version__,
        "ale": ALE_VERSION,
        "ale_sha256": ALE_SHA256,
        "compiler": compiler_version,
        "march": march,
        "instructions": instructions_of(compiler, march),
        "emulator_is_trained": is_trained,
        "compile_flags": [flag for flag in compile_flags if not flag.startswith("-I")],
        "sources_sha256": sources_sha256,
        "sha256": {name: sha256_of(build_dir / "cmake" / name) for name in LIBRARIES},
    }
    put_libraries(build_dir / "cmake", folder, facts)
    _remove_sources_except(ale)


def find_compiler() -> str:
    """Finds a C++ compiler (`CXX`, c++, g++ or clang++) that sees zlib's headers, and returns its path."""
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    compiler = next((path for name in names if (path := shutil.which(name))), None)
    if compiler is None:
        raise NeurozooError(
            f"A C++ compiler is needed, but {' or '.join(names)} was not found. Install one (Debian: apt install g++; "
            "conda: conda install cxx-compiler) or set CXX to its path."
        )
    for code, missing, remedy in (
        ("#include <vector>\nint main() {}", "its standard library", "apt install g++; conda: cxx-compiler"),
        ("#include <zlib.h>\nint main() {}", "zlib's headers (zlib.h)", "apt install zlib1g-dev; conda: zlib"),
    ):
        result = subprocess.run(
            [compiler, "-x", "c++", "-fsyntax-only", "-"], input=code, text=True, capture_output=True
        )
        if result.returncode != 0:
            raise NeurozooError(f"The C++ compiler {compiler} works, but does not find {missing}. Install: {remedy}.")
    return compiler


def tool(name: str) -> str:
    """Finds a program of this Python environment, or else of the system."""
    own = Path(sysconfig.get_path("scripts")) / name
    path = str(own) if own.exists() else shutil.which(name)
    if path is None:
        raise NeurozooError(f"{name} was not found. Install it: pip install {name}")
    return path


def _unpack(source: Path, target: Path, *, patch: str) -> None:
    # Whole or not at all: half a tree, left by a kill, would fail to compile for ever after.
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        unpacked = Path(folder) / f"ale_py-{ALE_VERSION}"
        try:
            # Python 3.11.2 of Debian 12 knows no filters; the package has the pinned hash.
            safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            with tarfile.open(source) as archive:
                archive.extractall(folder, **safely)
            apply_patch(patch, unpacked)
            os.replace(unpacked, target)
        except OSError as error:
            raise explained(error, target) from error


def _remove_sources_except(used: Path) -> None:
    # Those of other versions and patches. Renamed first, so that a kill leaves no half tree under a name that counts.
    with contextlib.suppress(OSError):
        for old in find(used.parent, "ale_py-*"):
            if old != used and old.is_dir():
                move(old, old.with_name(f"old-{old.name}"))
        for gone in find(used.parent, "old-ale_py-*"):
            delete_folder(gone)


def _train(configure: list[str], build: list[str], *, build_dir: Path, key: str) -> bool:
    # Profiles lie beside the object files, and are made anew when `key` changes. A failure is no error: profile.log
    # tells the reason, and the emulator is compiled as usual.
    stamp, log = build_dir / "cmake" / "profile.txt", build_dir / "profile.log"
    if stamp.exists():
        if stamp.read_text() == key:
            return True
        stamp.unlink()
    for old in find(build_dir, "**/*.gcda"):
        delete(old)
    try:
        from ale_py import roms

        games = [str(roms.get_rom_path(game)) for game in TRAINING_GAMES]
    except ImportError:
        return False
    is_trained = (
        _run([*configure, "-DNEUROZOO_PROFILE=generate"], log=log)
        and _run([*build, "emulator_training"], log=log, append=True)
        and _run([str(build_dir / "cmake" / "emulator_training"), *games], log=log, append=True)
    )
    if is_trained:
        stamp.write_text(key)
    return is_trained


def _forget_moved_cache(build_dir: Path) -> None:
    # CMake refuses a folder that was configured under another path or for other sources.
    cache = build_dir / "cmake" / "CMakeCache.txt"
    home = f"CMAKE_HOME_DIRECTORY:INTERNAL={SOURCES}\n"
    place = f"CMAKE_CACHEFILE_DIR:INTERNAL={(build_dir / 'cmake').resolve()}\n"
    if cache.exists() and not (home in (text := cache.read_text()) and place in text):
        delete_folder(build_dir / "cmake")


def _run(command: list[str], *, log: str | os.PathLike, append: bool = False) -> bool:
    with open_to_append(log) if append else open_to_write(log) as file:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT).returncode == 0


def _last_line(log: str | os.PathLike) -> str:
    return next((line for line in reversed(Path(log).read_text().splitlines()) if line.strip()), "")


def _first_error(log: str | os.PathLike) -> str:
    lines = [line.strip() for line in Path(log).read_text(errors="replace").splitlines() if line.strip()]
    first = next((i for i, line in enumerate(lines) if _ERROR.search(line)), len(lines) - 1)
    return " ".join(lines[first : first + 4])[:300]  # CMake says where in one line and what in the next
