"""Checks free memory and disk space, so that a program that needs more fails at its start, not hours later."""

import os
import shutil
from pathlib import Path

from neurozoo.errors import NeurozooError


def check_memory(needed: int, folder: str | os.PathLike | None = None, *, purpose: str, remedy: str) -> int:
    """Raises an error if there is too little memory or disk space, and returns how many bytes there are.

    Args:
        needed: Number of bytes to allocate.
        folder: Folder on the disk, which need not exist yet; None for main memory.
        purpose: What needs the bytes, such as "The replay memory".
        remedy: A sentence that tells the user what to do.

    Raises:
        NeurozooError: Fewer bytes are available than needed.
    """
    available = available_memory() if folder is None else available_disk(folder)
    if needed > available:
        place = "of memory" if folder is None else f"on the disk of {folder}"
        raise NeurozooError(
            f"{purpose} needs {gigabytes(needed)} {place}, but {gigabytes(available)} are available. {remedy}"
        )
    return available


def available_memory() -> int:
    """Returns the bytes that this process can still allocate, within the machine and its control groups (cgroups).

    Schedulers and containers set limits with cgroups (version 1 or 2), and the kernel kills a process beyond them.
    """
    with open("/proc/meminfo") as file:
        free = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    return max(0, min([free, *_left_in_control_groups(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))]))


def _left_in_control_groups(membership: Path, root: Path) -> list[int]:
    """Returns the bytes left under each memory limit; `membership` is a file like /proc/self/cgroup."""
    lefts = []
    for line in membership.read_text().splitlines() if membership.exists() else []:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, names = root, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            top, names = root / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        limit, usage, idle = names
        group = top / path.lstrip("/")
        # In a container, the process's own group is the top. Outside, each group limits those below it.
        folders = [folder for folder in (group, *group.parents) if folder.is_relative_to(top)]
        for folder in folders:
            try:
                bound = (folder / limit).read_text().strip()
                used = int((folder / usage).read_text())
                cached = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines()).get(idle, 0)
            except OSError:
                continue
            if bound != "max":
                lefts.append(int(bound) - used + int(cached))  # the kernel frees cached files first
    return lefts


def available_disk(folder: str | os.PathLike) -> int:
    """Returns the free bytes on the disk of a folder, which need not exist yet."""
    folder = Path(folder).absolute()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def gigabytes(count: int) -> str:
    """Formats a number of bytes, such as "7.1 GB" (10^9 bytes)."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
