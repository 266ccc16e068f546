"""Measurements in processes of their own."""

import os

import pytest
from neurozoo.benchmark import rivals
from neurozoo.benchmark.own_process import _megabytes, in_own_process
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError


def test_a_process_of_its_own_may_be_bound_to_one_core():
    before = os.sched_getaffinity(0)
    assert len(in_own_process(os.sched_getaffinity, 0, one_core=True)) == 1
    assert in_own_process(os.sched_getaffinity, 0) == before
    assert os.sched_getaffinity(0) == before


def test_a_process_of_its_own_sees_no_gpu_and_leaves_ours_alone(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert in_own_process(os.getenv, "CUDA_VISIBLE_DEVICES") == "-1"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "3"


def test_what_goes_wrong_there_is_told_here():
    with pytest.raises(NeurozooError, match="did you mean 'pong'"):
        in_own_process(protocol_of, "pnog")


def test_the_kernel_counts_in_1024_bytes():
    text = "Name:\tpython\nVmHWM:\t  250000 kB\nThreads:\t7\nPrivate_Dirty:   1000 kB\n"
    assert _megabytes(text) == {"VmHWM": 256.0, "Private_Dirty": pytest.approx(1.024)}


def test_the_faster_number_of_policies_stands_for_pytorch_where_it_has_the_layers(monkeypatch):
    asked = []

    def measure(python, emulator, game, slots, layers, *, seconds):
        asked.append((emulator, slots, layers))
        return {"frames_per_processor_second": float(slots == 16)}

    monkeypatch.setattr(rivals, "_measure", measure)
    found = rivals.measure_rivals(["frostbite"], ["large", "recurrent_large"], torch_python="", seconds=1.0)
    ways = [(one["network"], one["way"]) for one in found]
    assert ways == [
        ("environments only", "ale-py"),
        ("environments only", "EnvPool"),
        ("large", "PyTorch, 16 policies"),
    ]
    convolutions = [[32, 4, 8, 4, 2, 2], [64, 32, 4, 2, 1, 2], [64, 64, 3, 1, 1, 1]]  # and zeros before and after
    assert asked[-1] == ("ale-py", 64, [*convolutions, [512, 11 * 11 * 64], [18, 512]])


def test_a_rival_that_fails_is_named():
    with pytest.raises(NeurozooError, match="ale-py or PyTorch ended with status 1"):
        rivals.measure_rivals(["pong"], [], torch_python="false", seconds=1.0)
