"""The clock of a run goes on after every interruption."""

import time
from types import SimpleNamespace

import pytest
from neurozoo.evaluation import EpisodeResult
from neurozoo.training import watch as watching
from neurozoo.training.clock import Clock
from neurozoo.training.state import RunState
from neurozoo.training.watch import TrainingWatch


def test_a_clock_adds_up_and_continues_within_an_iteration():
    clock = Clock()
    clock.add(3.0, untimed=1.0, playing=2.0, processor=5.0)
    clock.end_iteration()
    clock.add(1.0, untimed=0.0, playing=0.5, processor=1.5)
    restored = Clock.from_state(clock.to_state())
    restored.add(1.0, untimed=0.0, playing=0.5, processor=0.5)
    spent = restored.end_iteration()
    assert (spent.total, spent.processor) == (2.0, 2.0)
    assert (restored.counted, restored.total, restored.processor) == (4.0, 5.0, 7.0)


def test_a_run_that_began_before_processor_time_was_measured_does_not_claim_to_know_it():
    clock = Clock.from_state({"counted": 4.0, "total": 5.0, "now": {"counted": 1.0, "total": 1.0, "playing": 0.5}})
    clock.add(1.0, untimed=0.0, playing=0.5, processor=0.5)
    clock.end_iteration()
    assert clock.processor is None
    assert "processor" not in clock.to_state()


def watch_of(state):
    clock = Clock.from_state(state.elapsed)
    return TrainingWatch(state, *[SimpleNamespace()] * 4, clock)


def test_episodes_that_a_kill_leaves_in_the_journal_have_taken_time(tmp_path, monkeypatch):
    """Otherwise a killed run would have played more frames per hour than any machine can."""
    monkeypatch.setattr(watching, "TIME_PERIOD", 0.0)
    began, processor = time.monotonic(), time.process_time()
    for start in (0, 5):  # two processes, both killed
        watch = watch_of(RunState(tmp_path, identity={"run": 1}, budget=10))
        watch.begin()
        for number in range(start, start + 5):
            time.sleep(0.02)
            sum(range(200_000))
            watch.journal(0, "population", {number: EpisodeResult(1.0, 10, 40, seconds=0.1)})
    spent, computed = time.monotonic() - began, time.process_time() - processor
    state = RunState(tmp_path, identity={"run": 1}, budget=10)
    assert len(state.finished_episodes(0, "population")) == 10
    clock = Clock.from_state(state.elapsed)
    assert 0.2 <= clock.now.total <= spent
    assert 0 < clock.now.processor <= computed
    assert (clock.now.playing, clock.now.counted) == (clock.now.total, clock.now.total)


def test_the_time_of_a_process_that_was_not_killed_counts_once(tmp_path):
    watch = watch_of(RunState(tmp_path, identity={"run": 1}, budget=10))
    watch.begin()
    watch.journal(0, "population", {0: EpisodeResult(1.0, 10, 40, seconds=0.1)})
    watch.spent(untimed=0.25, playing=0.5)
    before = time.monotonic()
    watch.count()
    watch.count()
    assert watch.clock.now.total == pytest.approx(time.monotonic() - before, abs=1)
    assert (watch.clock.now.playing, watch.clock.now.counted) == (0.5, watch.clock.now.total - 0.25)
