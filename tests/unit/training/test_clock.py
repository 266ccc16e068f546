"""The clock of a run goes on after every interruption."""

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


def test_a_run_whose_processor_time_is_unknown_does_not_claim_to_know_it():
    clock = Clock.from_state({"counted": 4.0, "total": 5.0, "now": {"counted": 1.0, "total": 1.0, "playing": 0.5}})
    clock.add(1.0, untimed=0.0, playing=0.5, processor=0.5)
    clock.end_iteration()
    assert clock.processor is None
    assert "processor" not in clock.to_state()


@pytest.fixture
def hands(monkeypatch):
    """The hands of the clock on the wall and of the processor's, which move only when a test moves them."""
    hands = SimpleNamespace(wall=100.0, processor=50.0)
    fake = SimpleNamespace(monotonic=lambda: hands.wall, process_time=lambda: hands.processor)
    monkeypatch.setattr(watching, "time", fake)
    return hands


def begun(folder):
    """What watches a new process of a run."""
    state = RunState(folder, identity={"run": 1}, budget=10)
    watch = TrainingWatch(state, *[SimpleNamespace()] * 4, Clock.from_state(state.elapsed))
    watch.begin()
    return watch


def journal(watch, hands, number, *, seconds=3.0, **choices):
    hands.wall += seconds
    hands.processor += 2 * seconds
    watch.journal(0, "population", {number: EpisodeResult(1.0, 10, 40, seconds=0.1)}, **choices)


def spent(watch):
    now = watch.clock.now
    return now.total, now.counted, now.playing, now.processor


def test_episodes_that_a_kill_leaves_in_the_journal_have_taken_time(tmp_path, hands):
    """Otherwise a killed run would have played more frames per hour than any machine can."""
    for first in (0, 2):
        watch = begun(tmp_path)
        journal(watch, hands, first)
        journal(watch, hands, first + 1)
        hands.wall += 1.0  # episodes in flight, which are lost with their time
    again = begun(tmp_path)
    assert len(again.state.finished_episodes(0, "population")) == 4
    assert spent(again) == (12.0, 12.0, 12.0, 24.0)


def test_a_kill_within_a_test_leaves_the_time_of_the_test_uncounted(tmp_path, hands):
    watch = begun(tmp_path)
    journal(watch, hands, 0)
    watch.spent(playing=3.0)
    journal(watch, hands, 1, is_counted=False)
    assert spent(begun(tmp_path)) == (6.0, 3.0, 6.0, 12.0)


def test_the_journal_counts_no_time_of_a_process_that_goes_on(tmp_path, hands):
    watch = begun(tmp_path)
    journal(watch, hands, 0)
    hands.wall += 1.0
    watch.spent(untimed=0.5, playing=3.0)
    watch.count()
    assert spent(watch) == (4.0, 3.5, 3.0, 6.0)
    hands.wall += 9.0  # between two calls of `advance`, which nobody counts
    watch.begin()
    hands.wall += 1.0
    watch.count()
    assert spent(watch) == (5.0, 4.5, 3.0, 6.0)


def test_the_journal_gets_the_time_only_now_and_then(tmp_path, hands):
    watch = begun(tmp_path)
    for number in range(10):
        journal(watch, hands, number, seconds=0.5)
    assert spent(begun(tmp_path))[0] == 4.5  # after 0.5, 2.5 and 4.5 seconds


def test_a_journal_that_is_older_than_the_state_does_not_turn_back_the_clock(tmp_path, hands):
    watch = begun(tmp_path)
    journal(watch, hands, 0)
    watch.spent(playing=3.0)
    watch.count()
    watch.clock.end_iteration()
    kept = (tmp_path / "state" / "journal.jsonl").read_bytes()
    watch.state.save({"iteration": 1, "frames": 40}, watch.clock.to_state(), progress=40)
    (tmp_path / "state" / "journal.jsonl").write_bytes(kept)  # a kill came before it was removed
    again = begun(tmp_path)
    assert (again.clock.total, spent(again)[0]) == (3.0, 0.0)
