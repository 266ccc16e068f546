"""The native op library: how it is built, and how it is loaded."""

import ctypes
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from neurozoo.errors import NeurozooError
from neurozoo.files import read_json, sha256_of
from neurozoo.native.processor import processor_flags
from neurozoo.native.sources import SOURCES, hash_sources

OPS = "results/native/libneurozoo_ops.so"  # where the workflow builds it

BUILD = "Build it: snakemake --cores all results/native/libneurozoo_ops.so"
REBUILD = "Build it again: snakemake --cores all --force results/native/libneurozoo_ops.so"

# What TensorFlow adds before and after the message of an op.
_AROUND_MESSAGE = re.compile(r"^\{\{function_node [^}]*\}\} ?| \[Op:\w+\].*$", re.DOTALL)


def import_tensorflow() -> ModuleType:
    """Imports TensorFlow without Keras and JAX, which it would bring along, though no run trains with them.

    That is 107 MB of private memory for each run of a node, and a second of its start. Both can be imported later.
    """
    unwanted = [name for name in ("keras", "jax") if name not in sys.modules] if "tensorflow" not in sys.modules else []
    blocked: dict[str, Any] = dict.fromkeys(unwanted)
    sys.modules.update(blocked)  # what is None there cannot be imported, which TensorFlow puts up with
    try:
        import tensorflow as tf
    finally:
        for name in unwanted:
            del sys.modules[name]
    return tf


def load_ops(library: str | os.PathLike) -> ModuleType:
    """Loads the op library after checking that it fits these sources, this TensorFlow and this processor.

    Args:
        library: `libneurozoo_ops.so`, with `build.json` beside it.

    Returns:
        A module with one function per op, such as `neurozoo_evaluator`.

    Raises:
        NeurozooError: The library or its build.json is missing or damaged, was built from other sources or for another
            TensorFlow, or needs instructions that this processor lacks.
    """
    path = Path(library).resolve()
    return _load_ops(path, path.stat().st_mtime_ns if path.exists() else 0)


def check_ops(library: str | os.PathLike) -> dict:
    """Checks that the op library is whole and was built from the sources in this project, without loading it.

    Args:
        library: `libneurozoo_ops.so`, with `build.json` beside it.

    Returns:
        The content of build.json.

    Raises:
        NeurozooError: The library or its build.json is missing or damaged, or was built from other sources.
    """
    path = Path(library).resolve()
    if not path.exists():
        raise NeurozooError(f"The op library {path} is missing. {BUILD}")
    if not path.with_name("build.json").exists():
        raise NeurozooError(f"{path} is no op library, or its build.json is missing. {REBUILD}")
    facts = read_json(path.with_name("build.json"), REBUILD)
    if facts.get("sha256") not in (None, digest := sha256_of(path)):  # loading half a library ends the process
        raise NeurozooError(
            f"The op library {path} is damaged: its SHA-256 is {digest}, but {str(facts['sha256'])[:80]} was "
            f"built. {REBUILD}"
        )
    if hash_sources(SOURCES) not in (None, facts.get("sources_sha256")):
        raise NeurozooError(f"The op library {path} was built from other sources than those in {SOURCES}. {REBUILD}")
    return facts


@cache
def _load_ops(path: Path, _modified: int) -> ModuleType:
    facts = check_ops(path)
    tf = import_tensorflow()
    if facts.get("tensorflow") != tf.__version__:
        raise NeurozooError(
            f"The op library {path} was built for TensorFlow {str(facts.get('tensorflow'))[:80]}, but this is "
            f"{tf.__version__}. {REBUILD}"
        )
    if missing := _missing(facts, flags := processor_flags()):
        level = "x86-64-v3" if flags >= {"avx2", "fma"} else "x86-64-v2"
        raise NeurozooError(
            f"The op library {path} was built for {facts.get('march')}, but this processor lacks {', '.join(missing)}. "
            f"Set native.march in config.yaml to {level}. {REBUILD}"
        )
    try:
        return tf.load_op_library(str(path))
    except tf.errors.NotFoundError as error:
        raise NeurozooError(f"The op library {path} cannot be loaded: {error.message} {REBUILD}") from error


def _missing(facts: Mapping[str, object], flags: set[str]) -> list[str]:
    """Returns which instructions of a library the processor lacks, as far as library and processor are known."""
    needed = facts.get("instructions")
    if not isinstance(needed, list) or not flags:
        return []
    return [name for name in map(str, needed) if name not in flags]


def usable_ops(library: str | os.PathLike | None) -> tuple[Path | None, str | None]:
    """Returns the op library for those who can do without it.

    Args:
        library: `libneurozoo_ops.so`; None if there is none.

    Returns:
        Its path, or None if it is missing or cannot be loaded; and in the latter case, a sentence that says why.
    """
    if library is None or not Path(library).exists():
        return None, None
    try:
        load_ops(library)
    except NeurozooError as error:
        return None, str(error)
    return Path(library), None


def load_functions(library: str | os.PathLike) -> ctypes.CDLL:
    """Loads the C functions of the op library, which write into the caller's arrays. Releases the GIL while they run.

    Args:
        library: `libneurozoo_ops.so`, with `build.json` beside it.

    Raises:
        NeurozooError: `load_ops` raises it.
    """
    load_ops(library)  # first: TensorFlow sees only the ops of libraries that it has loaded itself
    return ctypes.CDLL(str(Path(library).resolve()))


def call_op(op: Callable, **inputs: object):
    """Runs one of the library's ops on the CPU. Turns its errors into one sentence.

    Args:
        op: A function of the module that `load_ops` returns.
        inputs: The op's inputs and attributes.

    Returns:
        What the op returns: one tensor, or a named tuple of them.

    Raises:
        NeurozooError: The op failed.
    """
    import tensorflow as tf

    try:
        with tf.device("CPU:0"):
            return op(**inputs)
    except tf.errors.OpError as error:
        raise NeurozooError(_AROUND_MESSAGE.sub("", error.message)) from error
