"""What a measurement depends on, and what this machine can do at most."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from neurozoo.evaluation.native import call_op
from neurozoo.files import read_json
from neurozoo.native import REBUILD, load_ops
from neurozoo.provenance import provenance

PEAK_SECONDS = 0.5
_BUILD_FACTS = ("compiler", "march", "tensorflow", "ale", "commit", "sha256")


def machine() -> dict[str, object]:
    """Returns the processor, its cores, the memory and the system, and how busy they were."""
    fields = _processor_fields()
    release = ".".join(platform.release().split(".")[:2])
    return {
        "processor": fields[0].get("model name", platform.processor()) if fields else platform.processor(),
        "cores": os.cpu_count(),
        "physical_cores": physical_cores(),
        "memory_gigabytes": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {release}, {platform.machine()}, {' '.join(platform.libc_ver())}",
        "load_average": round(os.getloadavg()[0], 2),
    }


def physical_cores() -> int:
    """Returns the number of cores that this process may use, two threads of one core counted once."""
    usable = os.sched_getaffinity(0)
    cores = {
        (processor.get("physical id", "0"), processor.get("core id", processor["processor"]))
        for processor in _processor_fields()
        if int(processor["processor"]) in usable
    }
    return len(cores) or len(usable)


def _processor_fields() -> list[dict[str, str]]:
    processors = Path("/proc/cpuinfo").read_text().strip().split("\n\n")
    lines = [[line.partition(":") for line in processor.splitlines()] for processor in processors]
    fields = [{key.strip(): value.strip() for key, _, value in processor} for processor in lines]
    return [processor for processor in fields if "processor" in processor]


def software(ops: str | os.PathLike) -> dict[str, object]:
    """Returns versions and commits: of this package, and of the op library, which may have been built from another.

    Raises:
        NeurozooError: The library's build.json is missing or damaged.
    """
    import ale_py
    import keras
    import numpy as np
    import tensorflow as tf

    built = read_json(Path(ops).with_name("build.json"), REBUILD)
    modules = {"tensorflow": tf, "keras": keras, "ale-py": ale_py, "numpy": np}
    packages = {name: module.__version__ for name, module in modules.items()}
    library = {name: built.get(name) for name in _BUILD_FACTS}
    return {**provenance(), "python": platform.python_version(), **packages, "library": library}


def measure_peak(*, threads: Sequence[int], ops: str | os.PathLike) -> dict[str, object]:
    """Measures the core's peak rate of multiply-adds, and how fast threads read memory.

    Args:
        threads: Numbers of threads that read together.
        ops: The op library.

    Returns:
        `multiply_adds_per_second` and `gigaflops` (two for each) of one core, `vector_bits`, and
        `read_gigabytes_per_second` by number of threads.
    """
    library = load_ops(ops)
    multiply_adds, lanes = call_op(library.neurozoo_machine_peak, seconds=PEAK_SECONDS)
    read = {count: float(call_op(library.neurozoo_read_bandwidth, num_threads=count)) for count in threads}
    return {
        "multiply_adds_per_second": float(multiply_adds),
        "gigaflops": 2e-9 * float(multiply_adds),
        "vector_bits": 32 * int(lanes),
        "read_gigabytes_per_second": {str(count): 1e-9 * value for count, value in read.items()},
    }
