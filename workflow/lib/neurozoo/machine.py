"""The machine on which a process runs: the cores that it may use, its account, and what results say of both.

Schedulers, containers and people limit the cores of a process in several ways.
"""

import contextlib
import getpass
import importlib.util
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path, PurePosixPath
from types import ModuleType

_PROCESS = Path("/proc/self")
# What Slurm and Grid Engine grant: cores of a task, cores of the job on this node, slots of the job.
_GRANTS = ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "NSLOTS")
_HOME = ".snakemake/home"  # of accounts without one
# Read by libraries that otherwise start a thread for each processor that they may run on.
_POOLS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")


def cores(*, process: Path = _PROCESS, environment: Mapping[str, str] = os.environ) -> int:
    """Returns how many cores this process may use, at least 1: the smallest number that anything allows.

    What counts: the processors that it may run on (`taskset`, cpusets), the time that its control groups get
    (containers, systemd), rounded up to whole cores, and what Slurm or Grid Engine has granted. A value that is not a
    number of cores is ignored. `process` is a folder with files in the format of /proc/self.
    """
    words = [environment.get(name, "") for name in _GRANTS]
    granted = [int(word) for word in words if re.fullmatch("0*[1-9][0-9]{0,9}", word)]
    shares = [math.ceil(share) for group in control_groups("cpu", process) if (share := _share(group)) > 0]
    return min([len(os.sched_getaffinity(0)), *shares, *granted])


def limit_pools() -> None:
    """Limits libraries that are yet to be imported where this process may use fewer cores than they would see."""
    if (most := cores()) < len(os.sched_getaffinity(0)):
        for name in _POOLS:
            os.environ.setdefault(name, str(most))


def dispensable_packages() -> list[str]:
    """Returns the packages that TensorFlow and Keras import only because they are there, for parts that we do not use.

    JAX is not among them where Keras computes with it: its variable or its file says so.
    """
    backend = os.environ.get("KERAS_BACKEND", "")
    if not backend:
        home = os.environ.get("KERAS_HOME") or os.path.expanduser("~/.keras")
        with contextlib.suppress(OSError):
            backend = Path(home, "keras.json").read_text(errors="replace")
    return ["matplotlib", "pandas", "sklearn", *([] if "jax" in backend else ["jax"])]


class LightImport:
    """Lets TensorFlow and Keras start without their dispensable packages, which take nearly half of 4.8 s of a core.

    Finds modules, see `sys.meta_path`. Other imports of these packages find them, before and after, but not in another
    thread meanwhile.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Finds TensorFlow or Keras, whichever comes first, which imports the other; nothing else."""
        if name not in ("tensorflow", "keras"):
            return None
        with contextlib.suppress(ValueError):  # another thread came first
            sys.meta_path.remove(self)
        if (spec := importlib.util.find_spec(name)) is None or (loader := spec.loader) is None:
            return spec
        execute = loader.exec_module

        def execute_alone(module: ModuleType) -> None:
            hidden = [each for each in dispensable_packages() if each not in sys.modules]
            sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: `import` says it is missing
            try:
                execute(module)
            finally:
                for each in hidden:
                    sys.modules.pop(each, None)

        loader.exec_module = execute_alone  # type: ignore[method-assign]
        return spec


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


def complete_account() -> None:
    """Sets USER, HOME, XDG_CACHE_HOME and MPLCONFIGDIR where there is no name, no home, or a home that is read-only.

    Containers and some clusters run processes under user ids that no list of users has. Snakemake then ends with an
    error, and Matplotlib complains in every process. Other accounts keep all as it is. Nothing is made here: libraries
    make their folders.
    """
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["USER"] = str(os.getuid())
    if not os.environ.get("HOME"):
        os.environ.pop("HOME", None)  # an empty one would be the root of the file system
    if not os.path.isabs(home := os.path.expanduser("~")) or not os.path.isdir(home):
        os.environ["HOME"] = os.path.abspath(_HOME)
    plots = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "matplotlib")
    for name, usual in (("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), ("MPLCONFIGDIR", plots)):
        if not _can_be_written(os.environ.get(name) or usual):
            os.environ[name] = os.path.join(os.path.abspath(_HOME), name.lower())


def _can_be_written(folder: str) -> bool:
    """Returns whether files can be put into a folder, which need not exist yet."""
    while not os.path.exists(folder) and folder != (above := os.path.dirname(folder)):
        folder = above
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def current_commit() -> str | None:
    """Returns the Git commit of this library's sources, or None if they are not in a Git checkout."""
    import subprocess  # of no use to most programs

    folder = Path(__file__).resolve().parent
    with contextlib.suppress(OSError):
        result = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True)
        if result.returncode == 0:
            return result.stdout.strip()
    return None


def provenance() -> dict[str, str | None]:
    """Returns the package's version and commit, to be written beside every result."""
    from neurozoo import __version__  # which imports this module

    return {"neurozoo": __version__, "commit": current_commit()}


def machine() -> dict[str, object]:
    """Returns the processor, the cores that may be used, the memory, the operating system and the load average."""
    import platform  # as above

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
