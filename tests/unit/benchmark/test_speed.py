"""Counting of episodes."""

import pytest
from neurozoo.benchmark import speed
from neurozoo.benchmark.speed import make_workload
from neurozoo.evaluation import EpisodeResult


class Steady:
    """Finishes the oldest episode in each call; episode k of the workload has 40 * (k + 1) frames, 10 a second."""

    def __init__(self, workload):
        self.workload, self.waiting, self.most_waiting, self.closed = workload, [], 0, False

    def pin(self, genomes):
        assert tuple(genomes) == self.workload.parents

    def submit(self, episodes):
        self.waiting += episodes.items()
        self.most_waiting = max(self.most_waiting, len(self.waiting))

    def receive(self, *, timeout):
        number, episode = self.waiting.pop(0)
        length = self.workload.episodes.index(episode) + 1
        return {number: EpisodeResult(0.0, 10 * length, 40 * length, seconds=4.0 * length)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True


@pytest.mark.parametrize("threads", [1, 3])
def test_whole_rounds_are_counted_without_the_warm_up(small_noise_table, monkeypatch, threads):
    workload = make_workload("small", "pong", noise=small_noise_table)
    engine = Steady(workload)
    monkeypatch.setattr(speed, "make_evaluator", lambda **_: engine)
    rates = []
    for seconds in (0.0, 0.01):
        found = speed.measure_speed(workload, threads=threads, seconds=seconds, core="", noise="")
        assert found["frames_per_second_per_core"] == 10
        assert found["steps_per_second_per_core"] == 2.5
        rates.append(found["episodes"])
        assert engine.closed
        assert engine.most_waiting == 3 * threads  # work for all threads at any time, and no pile
        engine.waiting.clear()
    assert rates[0] == len(workload.episodes)
    assert rates[1] > rates[0]
    assert rates[1] % len(workload.episodes) == 0


def test_what_is_asked_for_at_the_end_is_asked_while_the_engine_is_open(small_noise_table, monkeypatch):
    workload = make_workload("small", "pong", noise=small_noise_table)
    engine = Steady(workload)
    monkeypatch.setattr(speed, "make_evaluator", lambda **_: engine)
    seen = []
    names = {"threads": 1, "seconds": 0.0, "core": "", "noise": ""}
    speed.measure_speed(workload, **names, at_end=lambda: seen.append(engine.closed))
    assert seen == [False]
