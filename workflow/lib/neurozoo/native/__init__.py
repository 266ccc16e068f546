"""The native core, and TensorFlow's ops for it: how they are built, and how they are loaded."""

import os
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

from neurozoo.errors import NeurozooError
from neurozoo.files import read_json, sha256_of
from neurozoo.native.functions import open_functions
from neurozoo.native.processor import processor_flags
from neurozoo.native.sources import SOURCES, hash_sources

CORE = "results/native/libneurozoo_core.so"  # where the workflow builds it
OPS = "libneurozoo_ops.so"  # beside it

BUILD = f"Build it: snakemake --cores all {CORE}"
REBUILD = f"Build it again: snakemake --cores all --force {CORE}"


def load_core(core: str | os.PathLike) -> SimpleNamespace:
    """Loads the core, with `build.json` beside it, after checking that it fits these sources and this processor.

    Returns:
        Its functions by name, such as `make_atari_vector`; see `neurozoo.native.functions.Function`.

    Raises:
        NeurozooError: The library or its build.json is missing or damaged, was built from other sources, or needs
            instructions that this processor lacks.
    """
    path = Path(core).resolve()
    return _load_core(path, path.stat().st_mtime_ns if path.exists() else 0)


def load_ops(core: str | os.PathLike) -> ModuleType:
    """Loads TensorFlow's ops, which lie beside the core, as `load_core` does.

    Returns:
        A module with one function per op, such as `neurozoo_make_evaluator`.

    Raises:
        NeurozooError: See `load_core`; or the ops were built for another TensorFlow.
    """
    path = Path(core).resolve().with_name(OPS)
    return _load_ops(path, path.stat().st_mtime_ns if path.exists() else 0)


def check_library(library: str | os.PathLike) -> dict:
    """Checks that a native library is whole and was built from these sources, and returns the content of build.json.

    Raises:
        NeurozooError: The library or its build.json is missing or damaged, or was built from other sources.
    """
    path = Path(library).resolve()
    if not path.exists():
        raise NeurozooError(f"The native library {path} is missing. {BUILD}")
    if not path.with_name("build.json").exists():
        raise NeurozooError(f"{path} is no native library, or its build.json is missing. {REBUILD}")
    facts = read_json(path.with_name("build.json"), REBUILD)
    hashes = facts.get("sha256")
    digest, built = sha256_of(path), str(hashes.get(path.name) if isinstance(hashes, dict) else hashes)
    if built != digest:  # loading half a library ends the process
        raise NeurozooError(
            f"The native library {path} is damaged: its SHA-256 is {digest}, but {built[:80]} was built. {REBUILD}"
        )
    if hash_sources(SOURCES) not in (None, facts.get("sources_sha256")):
        raise NeurozooError(
            f"The native library {path} was built from other sources than those in {SOURCES}. {REBUILD}"
        )
    return facts


def _check_processor(path: Path, facts: dict) -> None:
    needed, flags = facts.get("instructions"), processor_flags()
    if not isinstance(needed, list):
        raise NeurozooError(f"The build.json of {path} is damaged: it should list instructions. {REBUILD}")
    if flags and (missing := [name for name in map(str, needed) if name not in flags]):
        level = "x86-64-v3" if flags >= {"avx2", "fma"} else "x86-64-v2"
        raise NeurozooError(
            f"The native library {path} was built for {facts.get('march')}, but this processor lacks "
            f"{', '.join(missing)}. Set native.march in config.yaml to {level}. {REBUILD}"
        )


@cache
def _load_core(path: Path, _modified: int) -> SimpleNamespace:
    _check_processor(path, check_library(path))
    try:
        return open_functions(path)
    except (OSError, AttributeError) as error:
        raise NeurozooError(f"The native library {path} cannot be loaded: {error}. {REBUILD}") from error


@cache
def _load_ops(path: Path, _modified: int) -> ModuleType:
    facts = check_library(path)
    _check_processor(path, facts)
    import tensorflow as tf

    if (version := facts.get("tensorflow")) != tf.__version__:
        raise NeurozooError(
            f"The native library {path} was built for TensorFlow {str(version)[:80]}, but this is {tf.__version__}. "
            f"{REBUILD}"
        )
    try:
        return tf.load_op_library(str(path))
    except tf.errors.NotFoundError as error:
        raise NeurozooError(f"The native library {path} cannot be loaded: {error.message} {REBUILD}") from error


def usable_core(core: str | os.PathLike | None) -> tuple[Path | None, str | None]:
    """Returns the core's path, for those who can do without it: None if it is missing or cannot be loaded.

    In the latter case, a sentence says why.
    """
    if core is None or not Path(core).exists():
        return None, None
    try:
        load_core(core)
    except NeurozooError as error:
        return None, str(error)
    return Path(core), None
