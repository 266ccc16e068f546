import tracemalloc
import zipfile

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.rollouts.npz_streams import NpzReader, Spool, npz_written_whole

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
    with (
        NpzReader(path, keys=["a"], remedy=REMEDY) as reader,
        pytest.raises(NeurozooError, match="damaged or cut off"),
    ):
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
        pytest.raises(NeurozooError, match="plain numbers"),
    ):
        next(reader.blocks("a", 1))
