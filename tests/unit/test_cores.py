"""How many cores may be used, read from files in the format of Linux, and from the machine itself."""

import os
import re
from pathlib import Path

import pytest
from neurozoo.machine import control_groups, cores, dispensable_packages, physical_cores

ROOT = Path(__file__).parents[2]
VERSION_1 = "{top}/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"
VERSION_2 = "{top}/unified rw - cgroup2 none rw,nsdelegate"


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))


@pytest.fixture
def process(tmp_path):
    """Makes a folder like /proc/self: `process(membership, limits={file: text}, root="/", mounts=...)`."""

    def make(membership, limits, *, root="/", mounts=(VERSION_1, VERSION_2)):
        for name, text in limits.items():
            file = tmp_path / "groups" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        lines = [f"40 31 0:29 {root} {mount.format(top=tmp_path / 'groups')}\n" for mount in mounts]
        (tmp_path / "mountinfo").write_text("22 1 254:1 / / rw - ext4 /dev/vda rw\n" + "".join(lines))
        (tmp_path / "cgroup").write_text(membership)
        return tmp_path

    return make


def counted(process, **environment):
    return cores(process=process, environment=environment)


@pytest.mark.parametrize(
    ("limit", "count"),
    [("300000 100000", 3), ("150000 100000", 2), ("50000 100000", 1), ("max 100000", 64), ("99999999 100", 64),
     ("", 64), ("three 100000", 64), ("300000", 64), ("0 0", 64), ("-1 100000", 64)],
)  # fmt: skip
def test_a_control_group_of_version_2_gets_a_share_of_time_which_is_rounded_up(process, limit, count):
    assert counted(process("0::/job\n", {"unified/job/cpu.max": limit + "\n"})) == count


def test_each_group_limits_those_below_it(process):
    limits = {"cpu.max": "800000 100000", "user/cpu.max": "200000 100000", "user/job/cpu.max": "400000 100000"}
    place = process("0::/user/job/step\n", {f"unified/{name}": text for name, text in limits.items()})
    assert counted(place) == 2


def test_version_1_has_a_quota_per_period(process):
    limits = {"job/cpu.cfs_quota_us": "250000", "job/cpu.cfs_period_us": "50000", "cpu.cfs_quota_us": "-1"}
    limits = {f"cpu,cpuacct/{name}": text for name, text in {**limits, "cpu.cfs_period_us": "100000"}.items()}
    assert counted(process("7:cpuset:/\n4:cpu,cpuacct:/job\n0::/\n", limits)) == 5


@pytest.mark.parametrize(
    ("membership", "root"),
    [("0::/\n", "/"), ("0::/docker/abc\n", "/docker/abc"), ("0::/docker/abc\n", "/"), ("0::/../elsewhere\n", "/")],
)
def test_a_container_sees_its_own_group_as_the_top(process, membership, root):
    assert counted(process(membership, {"unified/cpu.max": "700000 100000"}, root=root)) == 7


def test_only_the_groups_of_the_right_controller_count(process):
    place = process("4:memory:/job\n3:cpu,cpuacct:/\n", {"cpu,cpuacct/job/cpu.cfs_quota_us": "1"})
    assert list(control_groups("cpu", place)) == [place / "groups" / "cpu,cpuacct"]


def test_a_mount_may_have_a_space_in_its_name(process):
    mount = "{top}/my\\040groups rw - cgroup2 none rw"
    assert counted(process("0::/\n", {"my groups/cpu.max": "300000 100000"}, mounts=[mount])) == 3


def test_without_control_groups_nothing_limits(tmp_path):
    assert counted(tmp_path / "missing") == 64


@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({"SLURM_CPUS_PER_TASK": "4", "SLURM_CPUS_ON_NODE": "8"}, 4),
        ({"SLURM_CPUS_ON_NODE": "8"}, 8),
        ({"NSLOTS": "6"}, 6),
        ({"NSLOTS": "1000"}, 64),
        ({"NSLOTS": "9" * 5000}, 64),
        ({"NSLOTS": "0"}, 64),
        ({"NSLOTS": "-2", "SLURM_CPUS_PER_TASK": "2.5", "SLURM_CPUS_ON_NODE": "many"}, 64),
        ({"NSLOTS": "", "SLURM_CPUS_ON_NODE": "٣"}, 64),
    ],
)
def test_a_scheduler_grants_cores_and_what_is_no_number_of_them_is_ignored(tmp_path, environment, count):
    assert counted(tmp_path, **environment) == count


def test_the_smallest_number_counts(process):
    place = process("0::/\n", {"unified/cpu.max": "500000 100000"})
    assert counted(place, NSLOTS="7") == 5
    assert counted(place, NSLOTS="3") == 3


def test_physical_cores_are_no_more_than_what_is_granted(monkeypatch):
    monkeypatch.setenv("NSLOTS", "1")
    assert physical_cores() == 1


def test_nothing_else_counts_processors():
    counts = re.compile(r"cpu_count\(|len\(os\.sched_getaffinity|hardware_concurrency")
    folders = (ROOT / name for name in ("workflow", "profiles", "native"))
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".smk", ".cc", ".h")]
    assert [path.name for path in files if counts.search(path.read_text())] == ["machine.py"]


def test_snakemake_and_libraries_start_no_more_threads(python):
    code = """
import os, sys, yte
from snakemake.cli import parse_cores
os.chdir(sys.argv[1])
with open("profiles/default/config.yaml") as profile:
    yte.process_yaml(profile, require_use_yte=True)
print(parse_cores("all"))
print("TF_NUM_INTRAOP_THREADS" in os.environ)  # jobs on other nodes would get it
"""
    assert python(code, ROOT, NSLOTS="1").stdout.split() == ["1", "False"]
    code = "import os, neurozoo; print(os.environ['TF_NUM_INTRAOP_THREADS'])"
    assert python(code, NSLOTS="1").stdout.split() == ["1"]


# A notebook has all of Keras.
@pytest.mark.parametrize("program", ["snakemake", pytest.param("other", marks=pytest.mark.long(seconds=6))])
def test_a_program_starts_tensorflow_without_what_only_others_need(python, program):
    code = f"""
import sys
class Snakemake: pass
{program} = Snakemake()
import neurozoo, keras, tensorflow
assert not {{"jax", "matplotlib", "pandas", "sklearn"}} & {{name.partition(".")[0] for name in sys.modules}}
keras.Sequential([keras.layers.Dense(1)])(tensorflow.ones((1, 2)))
import pandas
"""
    assert python(code, check=False).returncode == (0 if program == "snakemake" else 1)


def test_jax_is_there_where_keras_computes_with_it(monkeypatch, tmp_path):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    assert "jax" in dispensable_packages()
    (tmp_path / "keras.json").write_text('{"backend": "jax"}')
    assert "jax" not in dispensable_packages()
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    assert "jax" in dispensable_packages()
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert "jax" not in dispensable_packages()
