"""Lists the GPUs of a machine and what they do, from NVIDIA's library, or else from what `nvidia-smi` prints.

NVIDIA's library (NVML, `nvidia-ml-py`) knows the parts of a divided GPU (MIG) and needs no parsing. Some machines and
containers have the command but not the library.
"""

import math
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNKNOWN = math.nan


@dataclass(frozen=True)
class Gpu:
    """A GPU, or a part of one."""

    name: str  # as in CUDA_VISIBLE_DEVICES, with CUDA_DEVICE_ORDER=PCI_BUS_ID: a number; of a part, its UUID
    uuid: str  # such as `GPU-1c9d...`, or `MIG-1c9d...` for a part
    product: str  # such as `NVIDIA A100-SXM4-40GB`
    memory: float = UNKNOWN  # share of its memory in use
    load: float = UNKNOWN  # share of time in which it was busy lately; unknown for all parts
    users: tuple[str, ...] = ()  # its processes, such as `python3 4711`
    parts: tuple["Gpu", ...] = ()  # into which it is divided
    is_divided: bool = False  # whether it can be used in parts only; perhaps it has none yet


def list_gpus() -> tuple[list[Gpu], str]:
    """Lists the GPUs of this machine in the order of `nvidia-smi`; if there are none, also returns the reason."""
    gpus, refusal = _from_library()
    if gpus or not shutil.which("nvidia-smi"):
        return gpus, refusal
    return _from_command()


def _from_library() -> tuple[list[Gpu], str]:
    missing = "there is no NVIDIA driver: neither its library (libnvidia-ml) nor nvidia-smi is here"
    try:
        import pynvml
    except ImportError:  # an environment without nvidia-ml-py
        return [], missing
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        is_missing = getattr(error, "value", None) == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND
        return [], missing if is_missing else f"NVIDIA's library says: {str(error).rstrip('.')}"
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        gpus = [_of_handle(pynvml, handle, str(index)) for index, handle in enumerate(handles)]
        return gpus, "" if gpus else "NVIDIA's library lists no GPU"
    except pynvml.NVMLError as error:
        return [], f"NVIDIA's library says: {str(error).rstrip('.')}"
    finally:
        pynvml.nvmlShutdown()


def _of_handle(nvml: Any, handle: Any, name: str) -> Gpu:
    def asked(question: Callable[..., Any], *about: Any, default: Any = None) -> Any:
        try:
            return question(*about)
        except nvml.NVMLError:  # old devices, parts and virtual machines do not answer everything
            return default

    memory = asked(nvml.nvmlDeviceGetMemoryInfo, handle, nvml.nvmlMemory_v2)  # without what the driver reserves
    memory = memory or asked(nvml.nvmlDeviceGetMemoryInfo, handle)
    load = asked(nvml.nvmlDeviceGetUtilizationRates, handle)
    processes = [process.pid for process in asked(nvml.nvmlDeviceGetComputeRunningProcesses, handle, default=[])]
    commands = [_text(asked(nvml.nvmlSystemGetProcessName, pid, default="[Not Found]")) for pid in processes]
    is_divided = asked(nvml.nvmlDeviceGetMigMode, handle, default=[0])[0] == nvml.NVML_DEVICE_MIG_ENABLE
    places = range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)) if is_divided else ()
    parts = [asked(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, place) for place in places]
    uuid = _text(nvml.nvmlDeviceGetUUID(handle))
    return Gpu(
        name=name,
        uuid=uuid,
        product=_text(nvml.nvmlDeviceGetName(handle)),
        memory=memory.used / memory.total if memory and memory.total else UNKNOWN,
        load=load.gpu / 100 if load else UNKNOWN,
        users=tuple(f"{Path(command).name} {pid}" for command, pid in zip(commands, processes, strict=True)),
        parts=tuple(_of_handle(nvml, part, _text(nvml.nvmlDeviceGetUUID(part))) for part in parts if part),
        is_divided=is_divided,
    )


def _text(answer: str | bytes) -> str:
    return answer.decode() if isinstance(answer, bytes) else answer


def _from_command() -> tuple[list[Gpu], str]:
    told = _ask("--query-gpu=index,uuid,utilization.gpu,memory.used,memory.total,name")
    rows = [row for line in told.splitlines() if len(row := line.split(", ", 5)) == 6]
    if not rows:  # an error message
        first = next((line.strip() for line in told.splitlines() if line.strip()), "nothing")
        return [], f"nvidia-smi lists none; it says: {first.rstrip('.')}"
    users: dict[str, list[str]] = {}
    for row in (line.split(", ") for line in _ask("--query-compute-apps=gpu_uuid,pid,process_name").splitlines()):
        if len(row) == 3:  # not an error message
            users.setdefault(row[0], []).append(f"{Path(row[2]).name} {row[1]}")
    return [
        Gpu(index, uuid, product, _ratio(used, total), _ratio(load, "100"), tuple(users.get(uuid, ())))
        for index, uuid, load, used, total, product in rows
    ], ""


def _ask(question: str) -> str:
    command = ["nvidia-smi", question, "--format=csv,noheader,nounits"]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def _ratio(part: str, whole: str) -> float:
    try:
        return float(part) / float(whole)
    except (ValueError, ZeroDivisionError):  # [N/A]: old devices and virtual machines do not answer everything
        return UNKNOWN
