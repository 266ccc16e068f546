"""Checks free memory and disk space, so that a program that needs more fails at its start, not hours later."""

import contextlib
import os
import shutil
from pathlib import Path

from neurozoo.errors import NeurozooError
from neurozoo.machine import control_groups

# Limit, use, and the part of the use that the kernel can take back, in control groups of version 2 and of version 1.
_VERSIONS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def check_memory(needed: int, folder: str | os.PathLike | None = None, *, purpose: str, remedy: str) -> int:
    """Raises an error if fewer than `needed` bytes are free, and returns how many are.

    They are free on the disk of `folder`, which need not exist yet, or in main memory. `purpose` says what needs them,
    such as "The replay memory", and `remedy` is a sentence that tells the user what to do.
    """
    available = available_memory() if folder is None else available_disk(folder)
    if needed > available:
        place = "of memory" if folder is None else f"on the disk of {folder}"
        raise NeurozooError(
            f"{purpose} needs {gigabytes(needed)} {place}, but {gigabytes(available)} are available. {remedy}"
        )
    return available


def available_memory() -> int:
    """Returns the bytes that this process can still allocate; the limits of control groups count, too."""
    with open("/proc/meminfo") as file:
        free = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    return max(0, min([free, *(left for group in control_groups("memory") if (left := _left(group)) is not None)]))


def _left(group: Path) -> int | None:
    """Returns the bytes left under a control group's limit; None if it has none."""
    for limit, usage, idle in _VERSIONS:
        with contextlib.suppress(OSError):
            bound = (group / limit).read_text().strip()
            used = int((group / usage).read_text())
            cached = dict(line.split() for line in (group / "memory.stat").read_text().splitlines()).get(idle, 0)
            if bound != "max":
                return int(bound) - used + int(cached)  # the kernel frees cached files first
    return None


def available_disk(folder: str | os.PathLike) -> int:
    """Returns the free bytes on the disk of a folder, which need not exist yet."""
    folder = Path(folder).absolute()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def gigabytes(count: int) -> str:
    """Formats a number of bytes, such as "7.1 GB" (10^9 bytes)."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
