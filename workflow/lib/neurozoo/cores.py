"""How many cores this process may use: schedulers, containers and people limit them in several ways."""

import contextlib
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

_PROCESS = Path("/proc/self")
# What Slurm and Grid Engine grant: cores of a task, cores of the job on this node, slots of the job.
_GRANTS = ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "NSLOTS")
# Read by libraries that otherwise start a thread for each processor that they may run on.
_POOLS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")


def cores(*, process: Path = _PROCESS, environment: Mapping[str, str] = os.environ) -> int:
    """Returns how many cores this process may use, at least 1: the smallest number that anything allows.

    What counts: the processors that it may run on (`taskset`, cpusets), the time that its control groups get
    (containers, systemd), rounded up to whole cores, and what Slurm or Grid Engine has granted. A value that is not a
    number of cores is ignored. `process` is a folder with files in the format of /proc/self.
    """
    words = [environment.get(name, "") for name in _GRANTS]
    granted = [int(word) for word in words if re.fullmatch("0*[1-9][0-9]*", word)]
    shares = [math.ceil(share) for group in control_groups("cpu", process) if (share := _share(group)) > 0]
    return min([len(os.sched_getaffinity(0)), *shares, *granted])


def limit_pools() -> None:
    """Limits libraries that are yet to be imported where this process may use fewer cores than they would see."""
    if (most := cores()) < len(os.sched_getaffinity(0)):
        for name in _POOLS:
            os.environ.setdefault(name, str(most))


def control_groups(controller: str, process: Path = _PROCESS) -> Iterator[Path]:
    """Yields the folders of the cgroups that limit `cpu` or `memory` of a process: its own, and all above it.

    Schedulers and containers set limits with them. A machine may have version 1, version 2 or both.
    """
    with contextlib.suppress(OSError):
        mounts = [line.split() for line in (process / "mountinfo").read_text(errors="surrogateescape").splitlines()]
        for line in (process / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for mount in mounts:
                kind, options = mount[mount.index("-") + 1], mount[-1].split(",")
                is_version_1 = kind == "cgroup" and controller in options and controller in controllers.split(",")
                if is_version_1 or (kind == "cgroup2" and not controllers):
                    root, top = (re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), part) for part in mount[3:5])
                    # Seen from a container, its own group may be the root, or have the name that it has outside.
                    inside = PurePosixPath(path).relative_to(root) if PurePosixPath(path).is_relative_to(root) else ""
                    group = Path(top, inside)
                    yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(top))


def _share(group: Path) -> float:
    """Returns how many cores' time a control group gets; 0 or less if it does not say."""
    files = ["cpu.max"] if (group / "cpu.max").exists() else ["cpu.cfs_quota_us", "cpu.cfs_period_us"]  # of version 1
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):  # no such file, "max"
        quota, period = (int(word) for file in files for word in (group / file).read_text().split())
        return quota / period
    return 0
