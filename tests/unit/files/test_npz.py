import re
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.files.npz import NpzReader, Spool, npz_written_whole, read_npz

REMEDY = "Do it again."


def write(path, **arrays):
    with npz_written_whole(path) as npz:
        for name, array in arrays.items():
            npz.write(name, array, shape=array.shape, dtype=array.dtype)


@pytest.fixture
def arrays():
    generator = np.random.default_rng(0)
    return {"a": generator.random((50, 3, 2)), "b": np.arange(7, dtype=np.uint8)}


def test_numpy_reads_what_was_streamed(tmp_path, arrays):
    write(tmp_path / "x.npz", **arrays)
    with np.load(tmp_path / "x.npz", allow_pickle=False) as loaded:
        assert list(loaded) == ["a", "b"]
        for name, array in arrays.items():
            assert loaded[name].dtype == array.dtype
            np.testing.assert_array_equal(loaded[name], array)


def test_equal_arrays_give_equal_bytes(tmp_path, arrays):
    write(tmp_path / "x.npz", **arrays)
    write(tmp_path / "y.npz", **arrays)
    assert (tmp_path / "x.npz").read_bytes() == (tmp_path / "y.npz").read_bytes()


def test_blocks_are_what_numpy_wrote_and_the_last_may_be_shorter(tmp_path, arrays):
    np.savez(tmp_path / "x.npz", **arrays)
    with NpzReader(tmp_path / "x.npz", keys=arrays, remedy=REMEDY) as reader:
        assert reader.shape("a") == (50, 3, 2)
        blocks = list(reader.blocks("a", 20))
        np.testing.assert_array_equal(next(reader.blocks("b", 3)), [0, 1, 2])
    assert [len(block) for block in blocks] == [20, 20, 10]
    np.testing.assert_array_equal(np.concatenate(blocks), arrays["a"])


def test_a_spool_gives_back_its_rows_in_order_and_leaves_no_file(tmp_path):
    with Spool(tmp_path, (2,), np.uint8) as spool:
        for i in range(300):
            spool.append([i % 256, 1])
        assert len(spool) == 300
        rows = list(spool.rows())
    np.testing.assert_array_equal(rows, [[i % 256, 1] for i in range(300)])
    assert list(tmp_path.iterdir()) == []


def test_a_spool_refuses_a_row_of_another_shape(tmp_path):
    with Spool(tmp_path, (2,), np.uint8) as spool, pytest.raises(ValueError, match=r"\(2,\), but has \(3,\)"):
        spool.append([1, 2, 3])


def test_memory_does_not_grow_with_the_file(tmp_path):
    rows, row = 400, np.zeros((250, 250), np.float32)  # 100 MB
    tracemalloc.start()
    with Spool(tmp_path, row.shape, row.dtype) as spool:
        for _ in range(rows):
            spool.append(row)
        with npz_written_whole(tmp_path / "x.npz") as npz:
            npz.write("a", spool.rows(), shape=(rows, *row.shape), dtype=row.dtype)
    with NpzReader(tmp_path / "x.npz", keys=["a"], remedy=REMEDY) as reader:
        assert sum(len(block) for block in reader.blocks("a", 16)) == rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # a block of 16 rows is 4 MB


def test_a_missing_file_or_member_is_refused(tmp_path, arrays):
    with pytest.raises(NeurozooError, match=r"x\.npz is missing\. Do it again\."):
        NpzReader(tmp_path / "x.npz", keys=["a"], remedy=REMEDY)
    write(tmp_path / "x.npz", **arrays)
    with pytest.raises(NeurozooError, match=r"x\.npz lacks c, d\. Do it again\."):
        NpzReader(tmp_path / "x.npz", keys=["a", "d", "c"], remedy=REMEDY)


@pytest.mark.parametrize("left", [0, 10, 2000])
def test_a_file_that_was_cut_off_is_refused(tmp_path, arrays, left):
    path = tmp_path / "x.npz"
    write(path, **arrays)
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(NeurozooError, match=r"x\.npz is damaged or cut off .*Do it again\."):
        NpzReader(path, keys=["a"], remedy=REMEDY)


def test_damage_in_the_middle_is_noticed(tmp_path, arrays):
    path = tmp_path / "x.npz"
    write(path, **arrays)
    data = bytearray(path.read_bytes())
    data[600:700] = bytes(100)
    path.write_bytes(data)
    with NpzReader(path, keys=["a"], remedy=REMEDY) as reader, pytest.raises(NeurozooError, match="damaged or cut off"):
        list(reader.blocks("a", 20))


@pytest.mark.parametrize("header", ["{'descr': (", "  x\n y", "'", "{}", "{'shape': 1}"])
def test_a_damaged_header_is_noticed(tmp_path, header):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as file:
        text = header.encode().ljust(117) + b"\n"
        file.writestr("a.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with (
        NpzReader(tmp_path / "x.npz", keys=["a"], remedy=REMEDY) as reader,
        pytest.raises(NeurozooError, match="damaged or cut off"),
    ):
        reader.shape("a")


def test_a_member_that_is_shorter_than_it_says_is_noticed(tmp_path):
    with npz_written_whole(tmp_path / "x.npz") as npz:
        npz.write("a", np.zeros((5, 3)), shape=(6, 3), dtype=np.float64)
    with (
        NpzReader(tmp_path / "x.npz", keys=["a"], remedy=REMEDY) as reader,
        pytest.raises(NeurozooError, match="ends too early"),
    ):
        list(reader.blocks("a", 4))


def test_pickled_objects_are_never_read(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.array([{}, print], object))
    with (
        NpzReader(tmp_path / "x.npz", keys=["a"], remedy=REMEDY) as reader,
        pytest.raises(NeurozooError, match="Python objects, which are never read"),
    ):
        next(reader.blocks("a", 1))


def bomb(path, *, rows, columns=1024):
    """Writes a file whose array `theta` is rows of zeros, which pack to a thousandth."""
    with npz_written_whole(path) as npz:
        npz.write("about", [np.array("{}")], shape=(), dtype="<U2")
        zeros = np.zeros((4096, columns), np.float32)
        npz.write("theta", [zeros] * (rows // 4096), shape=(rows, columns), dtype=np.float32)


def peak_memory(program, *arguments):
    """Returns the most memory that a process took for a program, in bytes, and what it said."""
    # Not getrusage: its maximum includes the process that started this one.
    measured = (
        program + "\nprint(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    command = [sys.executable, "-c", measured, *map(str, arguments)]
    *said, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return int(peak) * 1024, "\n".join(said)


def test_a_small_file_does_not_become_huge(tmp_path):
    path = tmp_path / "bomb.npz"
    bomb(path, rows=2**18)  # 1 GiB
    assert path.stat().st_size < 20e6
    program = """
import sys
from neurozoo.agents.checkpoint import read_checkpoint, read_facts
from neurozoo.algorithms.results import read_archive
from neurozoo.comparison.page import read_embedding
from neurozoo.errors import NeurozooError
for read in (read_checkpoint, read_facts, read_archive, read_embedding):
    try:
        read(sys.argv[1])
    except NeurozooError as error:
        print(error)
"""
    peak, said = peak_memory(program, path)
    assert len(said.splitlines()) == 4
    assert all(re.search("theta should have at most|lacks|damaged", line) for line in said.splitlines())
    assert peak < 600e6


@pytest.mark.long(seconds=12)
@pytest.mark.parametrize("key", ["starts", "frames"])
def test_the_arrays_of_a_rollout_do_not_become_huge(tmp_path, key):
    path = tmp_path / "bomb.npz"
    rows, columns = (1, 2**29) if key == "frames" else (2**20, 1024)
    with npz_written_whole(path) as npz:
        npz.write("format", [np.array(1)], shape=(), dtype=np.int64)
        zeros = np.zeros(2**20, np.float32)
        npz.write(key, (zeros for _ in range(rows * columns // 2**20)), shape=(rows, columns), dtype=np.float32)
    program = """
import sys
from neurozoo.rollouts.rollout_files import RolloutReader
from neurozoo.errors import NeurozooError
try:
    RolloutReader(sys.argv[1], keys=[sys.argv[2]]).whole(sys.argv[2])
except NeurozooError as error:
    print(error)
"""
    peak, said = peak_memory(program, path, key)
    assert "a row of 2,147,483,648 bytes" in said or "at most 268,435,456 bytes of starts" in said
    assert peak < 1e9


def test_a_header_that_never_ends_is_refused(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("theta.npy", b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + b" " * 2**20)
    with pytest.raises(ValueError, match="a header of 2,147,483,648 bytes"):
        read_npz(path)


def test_arrays_are_those_that_numpy_wrote(tmp_path, arrays):
    arrays |= {"text": np.array("short"), "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "number": 3}
    np.savez(tmp_path / "plain.npz", **arrays)
    np.savez_compressed(tmp_path / "packed.npz", **arrays)
    for name in ("plain.npz", "packed.npz"):
        found = read_npz(tmp_path / name)
        assert found.keys() == arrays.keys()
        for key, array in arrays.items():
            np.testing.assert_array_equal(found[key], array)
            assert found[key].dtype == np.asarray(array).dtype
            found[key][...] = array  # it can be written to
