import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.records.level_table import read_levels, write_levels

LEVELS = {
    "evaluation": np.arange(5),
    "level": np.arange(5 * 6, dtype=np.uint8).reshape(5, 2, 3),
    "objective": np.array([0, 1, np.nan, 0.5, 1], np.float32),
    "failure": np.array(["", "", "TimeoutError: stuck", "", ""]),
}


def test_levels_come_back_in_their_shapes(tmp_path):
    write_levels(tmp_path / "levels.parquet", LEVELS)
    found = read_levels(tmp_path / "levels.parquet")
    assert list(found) == list(LEVELS)
    for name, array in LEVELS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].shape == array.shape
    assert list(read_levels(tmp_path / "levels.parquet", ["objective"])) == ["objective"]


def test_equal_levels_give_equal_bytes(tmp_path):
    for name in ("a", "b"):
        write_levels(tmp_path / name, LEVELS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_missing_or_damaged_table_gets_a_sentence(tmp_path):
    with pytest.raises(NeurozooError, match=r"is missing\. Train the run"):
        read_levels(tmp_path / "none.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 not a table")
    with pytest.raises(NeurozooError, match="is no table of levels"):
        read_levels(tmp_path / "bad.parquet")
    write_levels(tmp_path / "levels.parquet", LEVELS)
    with pytest.raises(NeurozooError, match="is no table of levels"):
        read_levels(tmp_path / "levels.parquet", ["walls"])
