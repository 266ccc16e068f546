"""The whole benchmark, and its report's judgement."""

import pytest
from neurozoo import machine
from neurozoo.benchmark import machine_peak, suite
from neurozoo.errors import NeurozooError


@pytest.mark.parametrize(("cores", "threads"), [(1, (1,)), (2, (1, 2)), (6, (1, 2, 4, 6)), (8, (1, 2, 4, 8))])
def test_threads_are_doubled_up_to_the_physical_cores(monkeypatch, cores, threads):
    monkeypatch.setattr(suite, "physical_cores", lambda: cores)
    assert suite.default_threads() == threads


def test_two_threads_of_a_core_are_one_physical_core(monkeypatch):
    places = [("0", "0"), ("0", "1"), ("0", "0"), ("0", "1"), ("1", "0")]
    fields = [{"processor": str(n), "physical id": p, "core id": c} for n, (p, c) in enumerate(places)]
    monkeypatch.setattr(machine, "_processor_fields", lambda: fields)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4})
    assert machine.physical_cores() == 3
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: {0, 2})
    assert machine.physical_cores() == 1


def test_the_whole_step_is_put_beside_its_parts_and_its_floors():
    parts = {
        "steps": 100, "frames": 400, "emulator_microseconds_per_frame": 50.0, "floor_frames_per_second": 16_000.0,
        "preprocessing_microseconds_per_step": 20.0, "forward_microseconds_per_step": 80.0,
        "done_floor_frames_per_second": 20_000.0,
    }  # fmt: skip
    judged = suite.judged(parts, 12_800.0)
    assert judged["share_of_floor"] == 0.8
    assert judged["share_of_done_floor"] == 0.64
    assert judged["rest_microseconds"] == 312.5 - (4 * 50 + 20 + 80)
    assert judged["step_microseconds"] == 312.5  # 4 frames at 12,800 per second
    assert judged["frames"] == 400


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"networks": ["lagre"]}, "did you mean 'large'"),
        ({"games": ["pnog"]}, "did you mean 'pong'"),
        ({"games": ["hard_maze"]}, "is not an Atari game"),
        ({"networks": ["large"]}, "too small"),
        ({"threads": [0, 1]}, "at least 1 thread"),
        ({"seconds": 0.0}, "more than 0 seconds"),
        ({"seconds": float("nan")}, "more than 0 seconds"),
    ],
)
def test_a_slip_is_told_before_anything_is_measured(core, small_noise_table, changes, sentence):
    given = {"networks": ["small"], "games": ["pong"], "threads": [1], "seconds": 0.1, **changes}
    told = []
    with pytest.raises(NeurozooError, match=sentence):
        suite.run_benchmark(core=core, noise=small_noise_table, tell=told.append, **given)
    assert told == []


def test_a_machine_has_a_peak_in_whole_vectors(core):
    peak = machine_peak.measure_peak(threads=[1, 2], core=core)
    assert peak["vector_bits"] in (128, 256, 512)
    assert peak["gigaflops"] * 1e9 == pytest.approx(2 * peak["multiply_adds_per_second"])
    assert peak["gigaflops"] > 0
    assert set(peak["read_gigabytes_per_second"]) == {"1", "2"}
    assert min(peak["read_gigabytes_per_second"].values()) > 0
