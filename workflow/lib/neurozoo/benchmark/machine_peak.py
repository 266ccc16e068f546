"""Facts that a measurement depends on: software versions, and the machine's peak rates."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from neurozoo.files import read_json
from neurozoo.machine import provenance
from neurozoo.native import REBUILD, load_core

PEAK_SECONDS = 0.5
_BUILD_FACTS = ("compiler", "march", "tensorflow", "ale", "commit", "sha256")


class Peak(TypedDict):
    """The machine's peak rates."""

    multiply_adds_per_second: float  # of one core
    gigaflops: float  # of one core; a multiply-add counts as two
    vector_bits: int  # width of a vector register
    read_gigabytes_per_second: dict[str, float]  # how fast memory is read, by number of threads


def software(core: str | os.PathLike) -> dict[str, object]:
    """Returns versions and commits of this package and of the native core, which may come from another commit.

    Raises:
        NeurozooError: The library's build.json is missing or damaged.
    """
    import ale_py
    import keras
    import numpy as np
    import tensorflow as tf

    built = read_json(Path(core).with_name("build.json"), REBUILD)
    modules = {"tensorflow": tf, "keras": keras, "ale-py": ale_py, "numpy": np}
    packages = {name: module.__version__ for name, module in modules.items()}
    library = {name: built.get(name) for name in _BUILD_FACTS}
    return {**provenance(), "python": platform.python_version(), **packages, "library": library}


def measure_peak(*, threads: Sequence[int], core: str | os.PathLike) -> Peak:
    """Measures a core's peak rate of multiply-adds, and how fast these numbers of threads read memory together."""
    native = load_core(core)
    multiply_adds, lanes = native.measure_peak(seconds=PEAK_SECONDS)
    read = {count: float(native.measure_read_bandwidth(num_threads=count)) for count in threads}
    return {
        "multiply_adds_per_second": float(multiply_adds),
        "gigaflops": 2e-9 * float(multiply_adds),
        "vector_bits": 32 * int(lanes),
        "read_gigabytes_per_second": {str(count): 1e-9 * value for count, value in read.items()},
    }
