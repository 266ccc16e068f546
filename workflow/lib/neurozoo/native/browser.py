"""Compiles worlds of the core to WebAssembly for pages that play in a browser: `make browser`.

The module is committed, so that only those who change its sources need Emscripten. `river.json` beside it says which
sources it was compiled from.
"""

import base64
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from neurozoo.errors import NeurozooError
from neurozoo.files import copy_file, read_json, write_json
from neurozoo.files.templates import STATIC
from neurozoo.native.sources import SOURCES

MODULE = STATIC / "river.wasm"
FACTS = MODULE.with_suffix(".json")
UNITS = ("browser/river.cc", "core/modular.cc", "core/network_plan.cc", "core/river_crossing.cc")
# Numbers are rounded as in the core. WebAssembly cannot fuse multiply and add, so the bits are the same.
OPTIONS = (
    *("-std=c++17", "-O2", "-DNDEBUG", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "--no-entry"),
    *("-sSTANDALONE_WASM", "-sINITIAL_MEMORY=4194304", "-sTOTAL_STACK=65536", "-sMALLOC=emmalloc"),
    "-sEXPORTED_FUNCTIONS=_malloc",
)
_REMEDY = "Compile it: make browser, which needs Emscripten (Debian: apt install emscripten)."


def read_module() -> str:
    """Returns the compiled module as base64 text, for a page that opens without a server.

    Raises:
        NeurozooError: It is missing.
    """
    try:
        return base64.b64encode(MODULE.read_bytes()).decode()
    except OSError as error:
        raise NeurozooError(f"{MODULE} is missing. {_REMEDY}") from error


def hash_units(folder: Path = SOURCES) -> str:
    """Hashes what the module is compiled from: options, sources, and the headers that these include."""
    found, left = set[str](), [*UNITS]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += re.findall(r'^#include "(.+)"', (folder / name).read_text(encoding="utf-8"), re.MULTILINE)
    digest = hashlib.sha256(" ".join(OPTIONS).encode())
    for name in sorted(found):
        content = (folder / name).read_bytes()
        digest.update(f"{name}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()


def compiler_version() -> str | None:
    """Returns the first line of what the compiler says of itself; None if there is none."""
    if shutil.which("em++") is None:
        return None
    return subprocess.run(["em++", "--version"], capture_output=True, text=True).stdout.partition("\n")[0].strip()


def compile_module(output: Path) -> None:
    """Compiles the module.

    Raises:
        NeurozooError: There is no compiler, or it fails.
    """
    if compiler_version() is None:
        raise NeurozooError(f"{output} cannot be compiled, because em++ is missing. {_REMEDY}")
    with tempfile.TemporaryDirectory() as folder:
        made = f"{folder}/{output.name}"
        command = ["em++", *OPTIONS, f"-I{SOURCES}", *(str(SOURCES / name) for name in UNITS), "-o", made]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            raise NeurozooError(f"{output} cannot be compiled. em++ says:\n{result.stderr}")
        copy_file(made, output)


def read_facts() -> dict:
    """Returns the compiler and the hash of the sources of the module that is there."""
    return read_json(FACTS, _REMEDY)


if __name__ == "__main__":
    compile_module(MODULE)
    write_json(FACTS, {"compiler": compiler_version(), "sources_sha256": hash_units()})
