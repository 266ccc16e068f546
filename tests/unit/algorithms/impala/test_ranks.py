"""Several processes on loopback: what they send arrives, who is lost is named, and two learners equal one."""

import contextlib
import sys
from pathlib import Path

import numpy as np
import pytest
from neurozoo.compute.mpi_launch import mpi_command, run_ranks
from neurozoo.errors import NeurozooError

PROGRAM = Path(__file__).parent / "ranks_program.py"


def start(count, name, folder):
    run_ranks(
        [*mpi_command("mpirun", count), sys.executable, str(PROGRAM), name, str(folder)],
        count=count,
        check=lambda: None,
    )


def test_messages_keep_types_and_shapes(tmp_path):
    start(2, "messages", tmp_path)
    assert (tmp_path / "done").exists()


def test_a_rank_that_falls_silent_is_named_and_ends_the_others(tmp_path):
    with contextlib.suppress(NeurozooError):
        start(3, "silence", tmp_path)
    assert (tmp_path / "error0").read_text().startswith("Rank 1 did not answer for 2 s, so the run ends.")
    assert not (tmp_path / "error2").exists()  # the leader is the first to complain


@pytest.mark.long(seconds=40)
def test_two_learners_with_the_data_of_one_have_its_weights(tmp_path):
    """Section 20.9 of the specification: the same data, averaged, or half of the data each, summed."""
    start(2, "weights", tmp_path)
    one = np.load(tmp_path / "one.npz")["one"]
    first, second = (np.load(tmp_path / f"rank{rank}.npz") for rank in range(2))
    for name in ("same", "halves"):
        np.testing.assert_array_equal(first[name], second[name])
        np.testing.assert_allclose(first[name], one, rtol=0, atol=2e-5)
        assert np.abs(first[name] - one).mean() < 1e-7


@pytest.mark.parametrize("count", [1, 3])
def test_other_numbers_of_processes_are_refused(count):
    with pytest.raises(NeurozooError, match=f"The run has 2 learners and actors, but {count} processes started"):
        run_ranks(
            [*mpi_command("mpirun", count), sys.executable, "-m", "neurozoo.training.rank_process", '{"count": 2}'],
            count=count,
            check=lambda: None,
        )
