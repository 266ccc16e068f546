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


def test_the_limit_of_a_control_group_counts_less_what_is_used_without_cached_files(tmp_path):
    version_2(tmp_path / "limited", 1_000, 700, 50)
    version_2(tmp_path / "free", "max", 700, 50)
    version_1(tmp_path / "older", 4_000, 1_000, 500)
    lefts = [memory._left(tmp_path / name) for name in ("limited", "free", "older", "missing")]
    assert lefts == [350, None, 3_500, None]


def test_the_tightest_group_decides(tmp_path, monkeypatch):
    version_2(tmp_path / "job", 5_000, 100, 0)
    version_2(tmp_path, 2_000, 1_900, 0)
    monkeypatch.setattr(memory, "control_groups", lambda _: [tmp_path / "job", tmp_path / "missing", tmp_path])
    assert memory.available_memory() == 100


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
