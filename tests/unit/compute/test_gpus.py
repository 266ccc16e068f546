"""Chooses GPUs with a fake nvidia-smi that prints what the real one would, and with a fake library of NVIDIA."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

# Output of nvidia-smi with --format=csv,noheader,nounits: MiB and per cent, [N/A] if a device does not report it.
GPUS = """\
0, GPU-1c9d0000-0000-0000-0000-000000000000, 97, 31415, 40960, NVIDIA A100-SXM4-40GB
1, GPU-2c9d0000-0000-0000-0000-000000000000, 0, 410, 40960, NVIDIA A100-SXM4-40GB
2, GPU-3c9d0000-0000-0000-0000-000000000000, 35, 0, 40960, NVIDIA A100-SXM4-40GB
3, GPU-4c9d0000-0000-0000-0000-000000000000, 0, 4, 40960, NVIDIA A100-SXM4-40GB
"""
PROCESSES = """\
GPU-1c9d0000-0000-0000-0000-000000000000, 4711, /usr/bin/python3
GPU-3c9d0000-0000-0000-0000-000000000000, 4712, [Not Found]
"""
UUID = "GPU-2c9d0000-0000-0000-0000-000000000000"
PART = UUID.replace("GPU", "MIG")
# What of NVIDIA's library is used, with devices from the same table. A column besides those holds parts (MIG): UUIDs.
LIBRARY = """
from pathlib import Path
from types import SimpleNamespace as Record
FOLDER = Path(__file__).parent
NVML_ERROR_LIBRARY_NOT_FOUND, NVML_DEVICE_MIG_ENABLE, nvmlMemory_v2 = 12, 1, 33554472
class NVMLError(Exception):
    value = 999
    def __init__(self, words="Not Supported"):
        super().__init__(words)
class LibraryMissing(NVMLError):
    value = NVML_ERROR_LIBRARY_NOT_FOUND
def nvmlInit():
    if not (FOLDER / "gpus.csv").exists():
        raise LibraryMissing("NVML Shared Library Not Found")
    if complaint := (FOLDER / "complaint").read_text():
        raise NVMLError(complaint.splitlines()[0])
def nvmlShutdown():
    pass
def rows(name):
    return [line.split(", ") for line in (FOLDER / name).read_text().splitlines()]
def nvmlDeviceGetCount():
    return len(rows("gpus.csv"))
def nvmlDeviceGetHandleByIndex(index):
    return rows("gpus.csv")[index]
def nvmlDeviceGetUUID(gpu):
    return gpu[1]
def nvmlDeviceGetName(gpu):
    return gpu[5].encode()
def number(text):
    if text == "[N/A]":
        raise NVMLError
    return int(text)
def nvmlDeviceGetUtilizationRates(gpu):
    return Record(gpu=number(gpu[2]))
def nvmlDeviceGetMemoryInfo(gpu, version=None):
    if version:
        raise NVMLError("Function Not Found")
    return Record(total=number(gpu[4]) << 20, used=number(gpu[3]) << 20)
def nvmlDeviceGetComputeRunningProcesses(gpu):
    return [Record(pid=int(row[1])) for row in rows("processes.csv") if row[0] == gpu[1]]
def nvmlSystemGetProcessName(pid):
    (name,) = [row[2] for row in rows("processes.csv") if int(row[1]) == pid]
    if name == "[Not Found]":
        raise NVMLError
    return name
def nvmlDeviceGetMigMode(gpu):
    if gpu[1].startswith("MIG-"):
        raise NVMLError("Invalid Argument")
    return (1, 1) if len(gpu) > 6 else (0, 0)
def nvmlDeviceGetMaxMigDeviceCount(gpu):
    return 7
def nvmlDeviceGetMigDeviceHandleByIndex(gpu, index):
    if index >= len(gpu) - 6 or not gpu[6 + index]:
        raise NVMLError("Not Found")
    return [gpu[0], gpu[6 + index], "[N/A]", str(5120 * index), "10240", gpu[5] + " MIG 1g.10gb"]
"""
CLAIM = """
import json, os, sys
from pathlib import Path
from neurozoo.compute import gpus
from neurozoo.errors import NeurozooError
gpus.LOCKS = Path(sys.argv[1])
try:
    for choices in json.loads(sys.argv[2]):
        claim = gpus.claim_gpus(**choices)
    answer = {"devices": claim.devices, "reason": claim.reason}
except NeurozooError as error:
    answer = {"error": str(error)}
names = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
print(json.dumps({**answer, **{name: os.environ.get(name) for name in names}}), flush=True)
sys.stdin.read()
"""


class Node:
    """A machine with a fake driver. Every claim is a process that keeps its devices until it ends."""

    def __init__(self, folder: Path, source: str) -> None:
        self.source = source  # library or nvidia-smi
        self.bin, self.locks = folder / "bin", folder / "locks"
        self.bin.mkdir()
        self.processes: list[subprocess.Popen] = []
        (self.bin / "pynvml.py").write_text(LIBRARY if source == "library" else "raise ImportError")

    def install(self, gpus: str, processes: str = "", *, complaint: str = "") -> None:
        (self.bin / "gpus.csv").write_text(gpus)
        (self.bin / "processes.csv").write_text(processes)
        (self.bin / "complaint").write_text(complaint)
        if self.source == "library":
            return
        script = self.bin / "nvidia-smi"
        script.write_text(
            f"""#!/bin/sh
cd {self.bin}
test -s complaint && {{ cat complaint; exit 9; }}
case "$*" in
  "--query-gpu=index,uuid,utilization.gpu,memory.used,memory.total,name --format=csv,noheader,nounits") cat gpus.csv;;
  "--query-compute-apps=gpu_uuid,pid,process_name --format=csv,noheader,nounits") cat processes.csv;;
  *) exit 2;;
esac
"""
        )
        script.chmod(0o755)

    def start(self, *choices: dict, **variables: str) -> subprocess.Popen:
        library = str(Path(__file__).parents[3] / "workflow" / "lib")
        environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "PYTHONPATH": f"{self.bin}:{library}", **variables}
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-c", CLAIM, str(self.locks), json.dumps(choices or [{}])],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        return self.processes[-1]

    def claim(self, *choices: dict, **variables: str) -> dict:
        return json.loads(self.start(*choices, **variables).stdout.readline())


@pytest.fixture
def bare_node(tmp_path, request):
    node = Node(tmp_path, getattr(request, "param", "library"))
    yield node
    for process in node.processes:
        process.stdin.close()
        process.wait(timeout=600)


@pytest.fixture
def node(bare_node):
    bare_node.install(GPUS, PROCESSES)
    return bare_node


from_both = pytest.mark.parametrize("bare_node", ["library", "nvidia-smi"], indirect=True)


@from_both
def test_the_least_used_of_the_idle_devices_is_taken_and_the_others_are_hidden(node):
    claim = node.claim()
    assert claim["devices"] == ["3"]  # 4 MiB taken; 410 on device 1, load 35 % on device 2
    assert claim["CUDA_VISIBLE_DEVICES"] == "3"
    assert claim["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"  # in which nvidia-smi counts
    assert claim["reason"] == (
        "GPU 3 (NVIDIA A100-SXM4-40GB, 0% memory, 0% load): the least used of 4; "
        "GPU 2 is busy (NVIDIA A100-SXM4-40GB, 0% memory, 35% load, by [Not Found] 4712)."
    )


def test_a_limit_decides_what_is_idle(node):
    assert node.claim({"num_gpus": 3, "max_load": 0.5})["CUDA_VISIBLE_DEVICES"] == "2,3,1"


@from_both
def test_too_few_idle_devices_are_refused_with_the_reasons(node):
    error = node.claim({"num_gpus": 3})["error"]
    assert "3 idle GPUs were requested, but only 2 of 4 can be used" in error
    assert "GPU 0 is busy (NVIDIA A100-SXM4-40GB, 77% memory, 97% load, by python3 4711)" in error
    assert "GPU 2 is busy (NVIDIA A100-SXM4-40GB, 0% memory, 35% load, by [Not Found] 4712)" in error
    assert "now memory below 10%, load below 10%" in error


def test_a_refused_claim_keeps_nothing(node):
    assert "error" in node.claim({"num_gpus": 3})
    assert node.claim({"num_gpus": 2})["devices"] == ["3", "1"]


@from_both
def test_a_device_that_does_not_report_its_load_is_judged_by_its_memory(bare_node):
    bare_node.install(GPUS.replace(", 97, ", ", [N/A], ").replace(", 0, ", ", [N/A], "))
    claim = bare_node.claim({"num_gpus": 2})
    assert claim["devices"] == ["3", "1"]
    assert "(NVIDIA A100-SXM4-40GB, 0% memory, load unknown)" in claim["reason"]


def test_a_device_of_another_process_is_skipped_until_that_process_ends_in_any_way(node):
    first = node.start()
    assert json.loads(first.stdout.readline())["devices"] == ["3"]
    second = node.claim()
    assert second["devices"] == ["1"]
    assert f"GPU 3 is taken by process {first.pid} (python" in second["reason"]
    error = node.claim()["error"]
    assert "only 0 of 4 can be used" in error
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert node.claim()["devices"] == ["3"]


def test_of_jobs_that_start_together_no_two_get_one_device(node):
    node.install(GPUS.replace(", 97, 31415,", ", 0, 0,").replace(", 35, ", ", 0, "))
    jobs = [node.start() for _ in range(6)]
    answers = [json.loads(job.stdout.readline()) for job in jobs]
    taken = [answer["CUDA_VISIBLE_DEVICES"] for answer in answers if "error" not in answer]
    assert sorted(taken) == ["0", "1", "2", "3"]
    assert sum("can be used" in answer.get("error", "") for answer in answers) == 2


def test_a_second_call_of_a_process_gives_the_same_devices(node):
    claim = node.claim({"num_gpus": 2}, {"num_gpus": 1})
    assert claim["devices"] == ["3", "1"]
    assert "this process has already started with 1" in node.claim({"max_load": 0.5}, {"num_gpus": 2})["error"]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"CUDA_VISIBLE_DEVICES": "1"}, "1"),
        ({"CUDA_VISIBLE_DEVICES": "0"}, "0"),  # busy, but the scheduler decides
        ({"CUDA_VISIBLE_DEVICES": "0, 1"}, "1"),  # the less used of two
        ({"CUDA_VISIBLE_DEVICES": UUID}, UUID),
        ({"CUDA_VISIBLE_DEVICES": "GPU-2c9d"}, "GPU-2c9d"),
        ({"CUDA_VISIBLE_DEVICES": PART}, PART),
        ({"SGE_HGR_gpu": "0 1"}, "1"),
        ({"SGE_HGR_gpu": "gpu0 gpu1"}, "1"),
        ({"SGE_HGR_cuda": "GPU2"}, "2"),
        ({"SGE_HGR_gpu": "2", "SGE_HGR_port": "eight"}, "2"),
        ({"SGE_HGR_gpu": "0", "CUDA_VISIBLE_DEVICES": "1"}, "1"),  # what CUDA obeys
    ],
)  # fmt: skip
def test_devices_are_those_that_the_scheduler_assigned(node, variables, expected):
    claim = node.claim(**variables)
    assert claim["CUDA_VISIBLE_DEVICES"] == expected
    assert (
        f"assigned by {'CUDA_VISIBLE_DEVICES' if 'CUDA_VISIBLE_DEVICES' in variables else 'SGE_HGR_'}"
        in claim["reason"]
    )


def test_an_assigned_device_is_locked_by_what_everybody_calls_it(node):
    assert node.claim(CUDA_VISIBLE_DEVICES="GPU-4c9d")["devices"] == ["GPU-4c9d"]
    assert node.claim()["devices"] == ["1"]
    assert "GPU 3 is taken by process" in node.claim(SGE_HGR_gpu="3")["error"]


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"CUDA_VISIBLE_DEVICES": "two"}, "CUDA_VISIBLE_DEVICES='two' should look like 0,1 or GPU-5a4c"),
        ({"CUDA_VISIBLE_DEVICES": "0,,1"}, "CUDA_VISIBLE_DEVICES='0,,1' should look like"),
        ({"CUDA_VISIBLE_DEVICES": "1,1"}, "with each device once"),
        ({"CUDA_VISIBLE_DEVICES": "7"}, "assigns GPU 7, but this machine has only 0 (GPU-1c9d"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES='' assigns no GPU"),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, "CUDA_VISIBLE_DEVICES='NoDevFiles' assigns no GPU"),
        ({"SGE_HGR_gpu": "first"}, "SGE_HGR_gpu='first' should look like '0 1' or 'gpu0 gpu1'"),
        ({"SGE_HGR_gpu": "gpu9"}, "SGE_HGR_gpu='gpu9' assigns GPU 9, but this machine has only"),
    ],
)
def test_an_invalid_variable_is_explained(node, variables, complaint):
    assert complaint in node.claim(**variables)["error"]


def test_more_than_the_scheduler_assigned_is_refused(node):
    error = node.claim({"num_gpus": 2}, SGE_HGR_gpu="gpu3")["error"]
    assert "2 GPUs were requested, but SGE_HGR_gpu='gpu3' has 1: 3. Request more from the scheduler" in error


@pytest.mark.parametrize(
    ("choices", "complaint"),
    [
        ({"num_gpus": -1}, "num_gpus should be 0 or more"),
        ({"max_memory": 0}, "0 and 0.1"),
        ({"max_load": 20}, "and 20."),
    ],
)
def test_impossible_limits_are_refused(node, choices, complaint):
    assert complaint in node.claim(choices)["error"]


@from_both
def test_without_a_driver_the_processor_is_used_if_allowed(bare_node):
    missing = "there is no NVIDIA driver: neither its library (libnvidia-ml) nor nvidia-smi is here"
    assert f"A GPU was requested, but {missing}." in bare_node.claim()["error"]
    claim = bare_node.claim({"cpu_allowed": True})
    assert claim["devices"] == []
    assert claim["reason"] == f"No GPU ({missing}): the processor is used."
    assert claim["CUDA_VISIBLE_DEVICES"] is None


def test_without_nvidia_smi_the_devices_that_the_scheduler_assigned_are_taken(bare_node):
    # Containers often have only the libraries.
    assert bare_node.claim(CUDA_VISIBLE_DEVICES="0")["devices"] == ["0"]


@from_both
@pytest.mark.parametrize(
    "complaint",
    [
        "No devices were found\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
        "NVIDIA driver is installed and running.\n",
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.90\n",
    ],
)
def test_errors_of_nvidia_smi_are_passed_on(bare_node, complaint):
    bare_node.install("", complaint=complaint)
    assert complaint.splitlines()[0].rstrip(".") in bare_node.claim()["error"]
    assert bare_node.claim({"cpu_allowed": True})["devices"] == []


def test_the_parts_of_a_divided_device_are_taken_one_by_one(bare_node):
    parts = [f"MIG-{digit}c9d0000-0000-0000-0000-000000000000" for digit in "56"]
    bare_node.install(GPUS.splitlines()[3] + ", " + ", ".join(parts) + "\n")
    claim = bare_node.claim()
    assert claim["CUDA_VISIBLE_DEVICES"] == parts[0]
    assert claim["reason"].startswith(
        f"GPU {parts[0]} (NVIDIA A100-SXM4-40GB MIG 1g.10gb, 0% memory, load unknown): the least used of 2"
    )
    assert "only 0 of 2 can be used" in bare_node.claim()["error"]  # one is taken, half of the other's memory is used
    assert bare_node.claim(CUDA_VISIBLE_DEVICES=parts[1])["devices"] == [parts[1]]
    assert "is taken by process" in bare_node.claim(CUDA_VISIBLE_DEVICES=parts[0])["error"]


def test_a_divided_device_without_parts_is_not_taken(bare_node):
    bare_node.install(GPUS.splitlines()[3] + ", \n")
    assert "GPU 0 is divided (MIG), but has no parts" in bare_node.claim()["error"]
    claim = bare_node.claim({"cpu_allowed": True})
    assert (claim["devices"], claim["reason"].startswith("No GPU (GPU 0 is divided")) == ([], True)


@from_both
def test_where_the_library_is_broken_nvidia_smi_is_read(bare_node):
    bare_node.install(GPUS)
    if bare_node.source == "nvidia-smi":
        broken = 'class NVMLError(Exception):\n    pass\ndef nvmlInit():\n    raise NVMLError("Unknown Error")\n'
        (bare_node.bin / "pynvml.py").write_text(f"NVML_ERROR_LIBRARY_NOT_FOUND = 12\n{broken}")
    assert bare_node.claim()["devices"] == ["3"]


def test_a_busy_device_is_never_exchanged_for_the_processor(node):
    assert "only 2 of 4 can be used" in node.claim({"num_gpus": 4, "cpu_allowed": True})["error"]


def test_all_devices_can_be_hidden(node):
    claim = node.claim({"num_gpus": 0})
    assert claim["CUDA_VISIBLE_DEVICES"] == "-1"
    assert claim["devices"] == []


def test_the_locks_are_for_all_users_of_the_node_whatever_the_umask(node):
    old = os.umask(0o077)
    try:
        assert node.claim()["devices"] == ["3"]
    finally:
        os.umask(old)
    assert stat.S_IMODE(node.locks.stat().st_mode) == 0o1777
    assert [stat.S_IMODE(file.stat().st_mode) for file in node.locks.iterdir()] == [0o644]


def _pipe(path, elsewhere):
    os.mkfifo(path)


def _link_to_nothing(path, elsewhere):
    path.symlink_to(elsewhere / "file")


def _link_to_folder(path, elsewhere):
    path.symlink_to(elsewhere)


def _own_folder(path, elsewhere):
    path.mkdir(mode=0o755)


@pytest.mark.parametrize("at", ["folder", "file"])
@pytest.mark.parametrize("plant", [_pipe, _link_to_nothing, _link_to_folder, _own_folder])
def test_what_another_user_put_in_the_place_of_a_lock_neither_blocks_nor_redirects(node, tmp_path, at, plant):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o1777)
    elsewhere.chmod(0o1777)
    uuid = next(row.split(",")[1].strip() for row in GPUS.splitlines() if row.startswith("3,"))
    if at == "file":
        node.locks.mkdir()
        node.locks.chmod(0o1777)
    plant(node.locks if at == "folder" else node.locks / f"{uuid}.lock", elsewhere)
    first, second = node.claim(), node.claim()
    assert first["devices"] == ["3"]
    assert second.get("devices") != ["3"]  # both jobs have found the same lock
    assert list(elsewhere.iterdir()) == []


def test_a_lock_that_cannot_be_made_is_explained(node):
    node.locks = node.locks / "missing"
    assert "cannot be used (No such file or directory), so two jobs could take the same GPU" in node.claim()["error"]


def test_looking_for_gpus_imports_neither_tensorflow_nor_numpy(node):
    code = (
        "import sys; from neurozoo.compute.gpus import claim_gpus; claim_gpus(0); "
        "sys.exit(bool({'tensorflow', 'numpy', 'pynvml'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
