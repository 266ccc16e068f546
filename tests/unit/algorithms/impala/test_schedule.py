"""Counters and learning rates: section 6.4 of the specification, and section 20, 7."""

from dataclasses import replace

import pytest
from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.algorithms.impala.schedule import Schedule

SETTINGS = replace(PRESETS["impala_paper"], unroll_length=20, batch_size=32, num_envs=32, learning_rate=0.5)


def test_counters_count_what_updates_have_learned_from():
    schedule = Schedule(SETTINGS, 4)
    assert schedule.frames(7) == 4 * 32 * 20 * 7
    assert schedule.compat_counter(7) == 7 * (32 * 20 + 1)


def test_several_epochs_learn_from_the_same_frames():
    schedule = Schedule(replace(SETTINGS, objective="ppo", epochs=4), 4)
    assert schedule.frames(4 * 7) == 4 * 32 * 20 * 7
    assert schedule.compat_counter(4 * 7) == 32 * 20 * 7 + 4 * 7


def test_the_learning_rate_falls_to_zero_at_the_budget():
    schedule = Schedule(replace(SETTINGS, frames=4 * 640 * 100), 4)  # 100 updates
    assert [schedule.learning_rate(n) for n in (0, 50, 75, 100, 110)] == [0.5, 0.25, 0.125, 0, 0]


def test_the_learning_rate_may_fall_by_other_frames_than_the_budget():
    schedule = Schedule(replace(SETTINGS, frames=10**9, learning_rate_frames=4 * 640 * 100), 4)
    assert schedule.learning_rate(50) == 0.25


@pytest.mark.parametrize("counter", ["original", "frames"])
def test_the_rate_of_several_learners_falls_to_0_at_the_budget_of_all(counter):
    schedule = Schedule(replace(SETTINGS, frames=4 * 641 * 100, learners=4, counter=counter), 4)
    assert schedule.learning_rate(13) == pytest.approx(0.5 * (1 - 13 / 25), rel=0.01)
    assert schedule.learning_rate(26) == 0


def test_the_originals_counter_has_one_more_for_each_update():
    schedule = Schedule(replace(SETTINGS, frames=4 * 641 * 100, counter="original"), 4)
    assert [schedule.learning_rate(n) for n in (0, 50, 100)] == pytest.approx([0.5, 0.25, 0])
    # 99.84 updates of 640 steps are enough for it.
    ended = Schedule(replace(SETTINGS, frames=4 * 640 * 100, counter="original"), 4)
    assert ended.learning_rate(100) == 0.0
    assert ended.learning_rate(99) > 0.0
