"""The version, the commit and the machine that a result comes from."""

import contextlib
import os
import platform
import subprocess
from pathlib import Path

from neurozoo import __version__
from neurozoo.cores import cores


def current_commit() -> str | None:
    """Returns the Git commit of this library's sources, or None if they are not in a Git checkout."""
    folder = Path(__file__).resolve().parent
    with contextlib.suppress(OSError):
        result = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True)
        if result.returncode == 0:
            return result.stdout.strip()
    return None


def provenance() -> dict[str, str | None]:
    """Returns the package's version and commit, to be written beside every result."""
    return {"neurozoo": __version__, "commit": current_commit()}


def machine() -> dict[str, object]:
    """Returns the processor, the cores that may be used, the memory, the operating system and the load average."""
    fields = _processor_fields()
    release = ".".join(platform.release().split(".")[:2])
    return {
        "processor": fields[0].get("model name", platform.processor()) if fields else platform.processor(),
        "cores": cores(),
        "physical_cores": physical_cores(),
        "memory_gigabytes": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {release}, {platform.machine()}, {' '.join(platform.libc_ver())}",
        "load_average": round(os.getloadavg()[0], 2),
    }


def physical_cores() -> int:
    """Returns the number of cores that this process may use. Two hardware threads of one core count once."""
    usable = os.sched_getaffinity(0)
    found = {
        (processor.get("physical id", "0"), processor.get("core id", processor["processor"]))
        for processor in _processor_fields()
        if int(processor["processor"]) in usable
    }
    return min(len(found) or len(usable), cores())


def _processor_fields() -> list[dict[str, str]]:
    processors = Path("/proc/cpuinfo").read_text().strip().split("\n\n")
    lines = [[line.partition(":") for line in processor.splitlines()] for processor in processors]
    fields = [{key.strip(): value.strip() for key, _, value in processor} for processor in lines]
    return [processor for processor in fields if "processor" in processor]
