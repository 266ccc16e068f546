"""Finds and locks idle GPUs before TensorFlow or JAX take all that are visible.

If a scheduler assigns devices, only these are used.
"""

import contextlib
import fcntl
import itertools
import math
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from neurozoo.compute.gpu_list import Gpu, list_gpus
from neurozoo.errors import NeurozooError

# Not in TMPDIR, because a scheduler makes a new one for every job.
LOCKS = Path("/tmp/neurozoo-gpus")

NO_DEVICES = ("", "-1", "none", "nodevfiles")  # values of CUDA_VISIBLE_DEVICES that mean no device
_DEVICE = re.compile(r"\d+|(GPU|MIG)-[\w/-]+")
_GRANTED = re.compile(r"(?:[a-z_]*[a-z_:/-])?(\d+)", re.IGNORECASE)  # 0, gpu0, GPU1, cuda:2

_held: list[int] = []  # file descriptors whose locks last as long as this process
_claim: "GpuClaim | None" = None


@dataclass(frozen=True)
class GpuClaim:
    """The devices that this process may use, as in CUDA_VISIBLE_DEVICES, or none; and a line that says why."""

    devices: tuple[str, ...]
    reason: str


def claim_gpus(
    num_gpus: int = 1, *, max_memory: float = 0.1, max_load: float = 0.1, cpu_allowed: bool = False
) -> GpuClaim:
    """Locks idle GPUs and hides the others. Call it before TensorFlow or JAX are imported.

    If a scheduler assigned devices, only these are candidates: CUDA_VISIBLE_DEVICES (Slurm), or else SGE_HGR_* of a
    resource with gpu or cuda in its name (Grid Engine). The limits do not apply to them, because the scheduler decides.
    Otherwise all devices of the node are candidates, or the parts of those that are divided (MIG); the limits apply.
    Numbers are those of nvidia-smi (CUDA_DEVICE_ORDER=PCI_BUS_ID). The least used candidates come first. The locks last
    until this process ends, in whatever way, so that other calls on the node get other devices. A second call returns
    the same devices.

    Args:
        num_gpus: Number of GPUs. 0 hides all.
        max_memory: A device is idle if less than this share of its memory is in use; above 0, at most 1.
        max_load: And if it was recently busy for less than this share of time; above 0, at most 1.
        cpu_allowed: Whether to continue without a GPU if there is none, instead of raising an error.

    Raises:
        NeurozooError: Too few devices are idle (the message says why), or a variable has an invalid value.
    """
    global _claim
    if num_gpus < 0 or not 0 < max_memory <= 1 or not 0 < max_load <= 1:
        raise NeurozooError(
            "num_gpus should be 0 or more, and max_memory and max_load above 0 and at most 1, but got "
            f"{num_gpus}, {max_memory} and {max_load}."
        )
    if _claim is None:
        _claim = _new_claim(num_gpus, max_memory, max_load, cpu_allowed)
    elif num_gpus > len(_claim.devices) and (_claim.devices or not cpu_allowed):
        raise NeurozooError(
            f"{num_gpus} GPUs were requested, but this process has already started with {len(_claim.devices)} "
            f"({_claim.reason}). Request all of them at once."
        )
    return _claim


def claim_requested(resource: int | None) -> None:
    """Claims the GPUs that a profile requests for a job (`set-resources: {train_archive: {gpu: 1}}`), if any.

    Call it before TensorFlow or JAX are imported.
    """
    if resource:
        print(claim_gpus(int(resource)).reason, file=sys.stderr, flush=True)


def _new_claim(num_gpus: int, max_memory: float, max_load: float, cpu_allowed: bool) -> GpuClaim:
    if num_gpus == 0:
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        return GpuClaim((), "No GPU was requested; all are hidden.")
    assigned, by = _assigned(os.environ)
    gpus, problem = list_gpus()
    if assigned is None:
        usable = [each for gpu in gpus for each in (gpu.parts if gpu.is_divided else (gpu,))]
        empty = [gpu.name for gpu in gpus if gpu.is_divided and not gpu.parts]
        lack = f"GPU {' and '.join(empty)} is divided (MIG), but has no parts" if empty else problem
        devices = usable
    else:
        devices, lack = [_device(name, gpus, by, problem) for name in assigned], f"{by} assigns no GPU"
    if not devices and cpu_allowed:
        return GpuClaim((), f"No GPU ({lack}): the processor is used.")
    if not devices:
        raise NeurozooError(f"A GPU was requested, but {lack}. Use a machine with a GPU, or an engine that needs none.")
    if len(devices) < num_gpus:
        source = by or "this machine"
        raise NeurozooError(
            f"{num_gpus} GPUs were requested, but {source} has {len(devices)}: "
            f"{', '.join(device.name for device in devices)}. Request more from the scheduler, or fewer here."
        )
    taken, passed = _take(devices, num_gpus, *((max_memory, max_load) if assigned is None else (math.inf, math.inf)))
    if len(taken) < num_gpus:
        raise NeurozooError(
            f"{num_gpus} idle {'GPU was' if num_gpus == 1 else 'GPUs were'} requested, but only {len(taken)} of "
            f"{len(devices)} can be used: {'; '.join(passed)}. Wait, or raise the limits (now memory below "
            f"{max_memory:.0%}, load below {max_load:.0%})."
        )
    names = tuple(device.name for device in taken)
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(names)
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    why = f"assigned by {by}" if by else f"the least used of {len(devices)}"
    chosen = "; ".join(f"GPU {device.name} ({_use_of(device)})" for device in taken)
    return GpuClaim(names, "; ".join([f"{chosen}: {why}", *passed]) + ".")


def _assigned(environment: Mapping[str, str]) -> tuple[list[str] | None, str]:
    """Returns the devices that the scheduler or user assigned, and the variable; None if none are assigned."""
    if (value := environment.get("CUDA_VISIBLE_DEVICES")) is not None:
        by = f"CUDA_VISIBLE_DEVICES={value!r}"
        names = [] if value.strip().lower() in NO_DEVICES else [name.strip() for name in value.split(",")]
        if not all(map(_DEVICE.fullmatch, names)) or len(set(names)) < len(names):
            raise NeurozooError(
                f"{by} should look like 0,1 or GPU-5a4c...,GPU-b1e0..., with each device once. Correct or unset it."
            )
        return names, by
    granted = {
        name: value
        for name, value in sorted(environment.items())
        if re.match(r"SGE_HGR_.*(gpu|cuda)", name, re.IGNORECASE) and value.strip().lower() not in NO_DEVICES
    }
    if not granted:
        return None, ""
    by = " and ".join(f"{name}={value!r}" for name, value in granted.items())
    words = [_GRANTED.fullmatch(word) for value in granted.values() for word in re.split(r"[\s,]+", value.strip())]
    numbers = [int(word[1]) for word in words if word]
    if len(numbers) < len(words):
        raise NeurozooError(
            f"{by} should look like '0 1' or 'gpu0 gpu1'. Give the resource map of this queue such ids, or set "
            "CUDA_VISIBLE_DEVICES in the job."
        )
    return list(dict.fromkeys(map(str, numbers))), by


def _device(name: str, gpus: list[Gpu], by: str, problem: str) -> Gpu:
    """Finds an assigned device among those of the machine. Without NVIDIA's library, parts (MIG) are not among them."""
    for gpu in (each for whole in gpus for each in (whole, *whole.parts)):
        if name == gpu.name or (name.startswith(("GPU-", "MIG-")) and gpu.uuid.startswith(name)):
            return replace(gpu, name=name)
    if problem or not gpus or name.startswith("MIG-"):
        return Gpu(name, name, "")
    known = ", ".join(f"{gpu.name} ({gpu.uuid})" for gpu in gpus)
    raise NeurozooError(f"{by} assigns GPU {name}, but this machine has only {known}. Correct or unset it.")


def _use_of(gpu: Gpu) -> str:
    shares = {"memory": gpu.memory, "load": gpu.load}
    words = [f"{kind} unknown" if math.isnan(share) else f"{share:.0%} {kind}" for kind, share in shares.items()]
    return ", ".join([gpu.product, *words]) if gpu.product else "use unknown"


def _take(devices: list[Gpu], num_gpus: int, max_memory: float, max_load: float) -> tuple[list[Gpu], list[str]]:
    """Locks the least used devices within the limits. Also returns why other devices were skipped."""
    taken: list[Gpu] = []
    passed: list[str] = []
    for device in sorted(
        devices, key=lambda device: [0 if math.isnan(share) else share for share in (device.memory, device.load)]
    ):
        if len(taken) == num_gpus:
            break
        if device.memory >= max_memory or device.load >= max_load:
            users = f", by {' and '.join(device.users)}" if device.users else ""
            passed.append(f"GPU {device.name} is busy ({_use_of(device)}{users})")
        elif isinstance(lock := _locked(device.uuid), str):
            passed.append(f"GPU {device.name} is taken by {lock}")
        else:
            _held.append(lock)
            taken.append(device)
    if len(taken) < num_gpus:
        for _ in taken:
            os.close(_held.pop())
    return taken, passed


def _locked(name: str) -> int | str:
    """Locks a device until this process ends; returns the lock, or who has it, as far as the kernel says."""
    try:
        lock = _opened_lock(name)
    except OSError as error:
        raise NeurozooError(
            f"{LOCKS} cannot be used ({error.strerror}), so two jobs could take the same GPU. Free some space there."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock
    except BlockingIOError:
        inode = os.fstat(lock).st_ino
        os.close(lock)
    with contextlib.suppress(OSError):
        found = re.search(rf"FLOCK +ADVISORY +WRITE +(\d+) \S+:{inode} ", Path("/proc/locks").read_text())
        if found:
            return f"process {found[1]} ({Path('/proc', found[1], 'comm').read_text().strip()})"
    return "another job"


def _opened_lock(name: str) -> int:
    """Opens the lock file of a device, in a folder of all users of the node.

    Everybody may put anything there. What cannot be a lock (a pipe, a link, a folder of one user) is passed over: all
    processes take the first name that is good.
    """
    mask = os.umask(0)  # whatever ours is, all users need the folder and the file
    folder = None
    try:
        folder = next(found for path in _numbered(LOCKS) if (found := _opened_shared(path)) is not None)
        for path in _numbered(Path(f"{name.replace('/', '_')}.lock")):
            flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            with contextlib.suppress(FileExistsError):  # with O_CREAT alone, the kernel refuses files of other users
                return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)
            with contextlib.suppress(OSError):
                lock = os.open(path, flags, dir_fd=folder)
                if stat.S_ISREG(os.fstat(lock).st_mode):
                    return lock
                os.close(lock)
    finally:
        os.umask(mask)
        if folder is not None:
            os.close(folder)
    raise AssertionError("numbers never end")


def _numbered(path: Path) -> Iterator[Path]:
    yield path
    yield from (path.with_name(f"{path.name}.{number}") for number in itertools.count(2))


def _opened_shared(path: Path) -> int | None:
    """Makes a folder that is writable for all users of the node, and opens it; None if something else is there."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o1777)
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # not a folder, a link, or one that others may not read
        return None
    if os.fstat(folder).st_mode & 0o1777 == 0o1777:
        return folder
    os.close(folder)
    return None
