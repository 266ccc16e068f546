"""Free memory, read from files in the format of Linux."""

import pytest
from neurozoo.compute import memory
from neurozoo.errors import NeurozooError


def control_group(folder, limit, usage, idle, values):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip((limit, usage), values[:2], strict=True):
        (folder / name).write_text(f"{value}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{idle} {values[2]}\n")


def version_1(folder, *values):
    control_group(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", values)


def version_2(folder, *values):
    control_group(folder, "memory.max", "memory.current", "inactive_file", values)


@pytest.fixture
def membership(tmp_path):
    def write(text):
        path = tmp_path / "cgroup"
        path.write_text(text)
        return path

    return write


def test_the_limit_of_a_control_group_counts_less_what_is_used_without_cached_files(tmp_path, membership):
    version_2(tmp_path / "user" / "job", 1_000, 700, 50)
    lefts = memory._left_in_control_groups(membership("0::/user/job\n"), tmp_path)
    assert lefts == [350]


def test_groups_above_limit_those_below(tmp_path, membership):
    version_2(tmp_path / "user" / "job", "max", 700, 50)
    version_2(tmp_path / "user", 2_000, 1_900, 0)
    lefts = memory._left_in_control_groups(membership("0::/user/job\n"), tmp_path)
    assert lefts == [100]


def test_a_container_sees_its_own_group_as_the_top(tmp_path, membership):
    version_2(tmp_path, 5_000, 1_000, 10)
    assert memory._left_in_control_groups(membership("0::/docker/abc\n"), tmp_path) == [4_010]


def test_version_1_has_other_names_and_its_controllers_side_by_side(tmp_path, membership):
    version_1(tmp_path / "memory" / "slurm" / "job_7", 4_000, 1_000, 500)
    version_1(tmp_path / "memory", 9_223_372_036_854_771_712, 9_000, 0)
    text = "5:devices:/slurm/job_7\n4:memory:/slurm/job_7\n0::/\n"
    assert min(memory._left_in_control_groups(membership(text), tmp_path)) == 3_500


def test_without_control_groups_nothing_limits(tmp_path):
    assert memory._left_in_control_groups(tmp_path / "missing", tmp_path) == []


def test_what_is_available_here_is_less_than_what_the_machine_has():
    with open("/proc/meminfo") as file:
        total = int(file.readline().split()[1]) * 1024
    assert 0 < memory.available_memory() < total


def test_the_disk_of_a_folder_that_is_yet_to_be_made_is_that_of_the_one_above(tmp_path):
    assert memory.available_disk(tmp_path / "a" / "b") > 0


def test_what_does_not_fit_is_refused_with_need_and_remedy(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000_000)
    assert memory.check_memory(1_000_000_000, purpose="It", remedy="Buy some.") == 1_000_000_000
    with pytest.raises(NeurozooError, match=r"^It needs 1.1 GB of memory, but 1.0 GB are available. Buy some.$"):
        memory.check_memory(1_100_000_000, purpose="It", remedy="Buy some.")


def test_bytes_are_worded_in_units_of_a_thousand():
    assert [memory.gigabytes(count) for count in (7_066_000_000, 70_660_000, 1_000_000)] == [
        "7.1 GB",
        "70.7 MB",
        "1.0 MB",
    ]
