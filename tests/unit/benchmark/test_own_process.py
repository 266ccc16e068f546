"""Measurements in processes of their own."""

import os

import numpy as np
import pytest
from neurozoo.benchmark import alternative
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


def test_the_faster_way_to_call_keras_stands_for_it(monkeypatch):
    speeds = {("large", "eager"): 1.0, ("large", "tf.function"): 2.0, ("small", "eager"): 4.0}

    def measure(game, network, way, policy, *, seconds):
        speed = speeds.get((network, way), 3.0)
        return {"network": network, "way": way, "frames_per_processor_second": speed}

    monkeypatch.setattr(alternative, "_measure", measure)
    found = alternative.measure_alternatives(["pong"], ["large", "small"], seconds=1.0)
    ways = [(one["network"], one["way"]) for one in found]
    assert ways == [("environments only", ""), ("large", "tf.function"), ("small", "eager")]


def test_an_alternative_counts_the_frames_of_all_environments_and_plays_what_the_policy_says(monkeypatch):
    class Environments:
        def __init__(self, game, count, *, num_threads):
            assert (game, num_threads) == ("pong", 1)
            self.count, self.steps = count, 0

        def reset(self, *, seed):
            return [0] * self.count, {}

        def step(self, actions):
            assert actions == [self.steps] * self.count
            self.steps += 1
            return [self.steps] * self.count, None, None, None, {}

        def close(self):
            pass

    import ale_py.vector_env

    monkeypatch.setattr(ale_py.vector_env, "AtariVectorEnv", Environments)
    times = iter([10.0, 10.5, 12.0, 12.0])  # begin, after 1 step, after 2 steps, end
    monkeypatch.setattr(alternative.time, "perf_counter", lambda: next(times))
    processor = iter([1.0, 2.0])
    monkeypatch.setattr(alternative.time, "process_time", lambda: next(processor))
    found = alternative._measure("pong", "large", "eager", lambda seen: seen, seconds=1.0)
    assert found["frames_per_second"] == 2 * 8 * 4 / 2.0  # 2 steps of 8 environments, 4 frames each, in 2 seconds
    assert found["frames_per_processor_second"] == 2 * 8 * 4 / 1.0


def test_each_policy_sees_its_own_environment_with_the_frames_last():
    seen = []

    def policy(pictures):
        seen.append(pictures)
        return pictures.mean(axis=(0, 1, 2)) if len(seen) == 1 else -pictures.mean(axis=(0, 1, 2))

    observations = np.zeros((2, 4, 3, 5), np.uint8)
    observations[0, 2], observations[1, 2] = 51, 255  # the third frame is the brightest
    act = alternative._keras_policies([policy, policy], "eager")
    assert act(observations).tolist() == [2, 0]  # the second policy wants the darkest, and takes the first of equals
    assert [one.shape for one in seen] == [(1, 3, 5, 4)] * 2
    assert seen[0].max() == pytest.approx(0.2)
    assert seen[1].max() == 1.0
