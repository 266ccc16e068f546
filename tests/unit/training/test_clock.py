"""The clock of a run goes on after every interruption."""

from neurozoo.training.clock import Clock


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
