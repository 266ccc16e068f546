"""Counters and learning rates: section 6.4 of the specification, and section 20, 7."""

from dataclasses import replace

import pytest
from neurozoo.algorithms.impala.presets import PRESETS

SETTINGS = replace(PRESETS["impala_paper"], unroll_length=20, batch_size=32, num_envs=32, learning_rate=0.5)
PPO = replace(SETTINGS, objective="ppo", epochs=4)


def test_the_originals_counter_has_one_more_for_each_update():
    assert SETTINGS.compat_counter(7) == 7 * (32 * 20 + 1)
    assert PPO.compat_counter(4 * 7) == 32 * 20 * 7 + 4 * 7  # several epochs learn from the same steps


BUDGET = {"frames": 4 * 640 * 100}  # 100 updates


@pytest.mark.parametrize(
    ("settings", "changes", "rates"),
    [
        (SETTINGS, BUDGET, {0: 0.5, 50: 0.25, 75: 0.125, 100: 0, 110: 0}),
        (SETTINGS, {"frames": 10**9, "learning_rate_frames": BUDGET["frames"]}, {50: 0.25}),
        (PPO, BUDGET, {4 * 50: 0.25, 4 * 100: 0}),
        (SETTINGS, {"frames": 4 * 641 * 100, "counter": "original"}, {0: 0.5, 50: 0.25, 100: 0}),
        # 99.84 updates of 640 steps are enough for the original's counter.
        (SETTINGS, BUDGET | {"counter": "original"}, {99: 0.5 * (1 - 99 * 641 / 64_000), 100: 0}),
        # Of four learners, whose budget is that of all.
        (SETTINGS, BUDGET | {"learners": 4}, {13: 0.5 * (1 - 13 / 25), 25: 0}),
        (SETTINGS, BUDGET | {"learners": 4, "counter": "original"}, {13: 0.5 * (1 - 13 * 4 * 641 / 64_000), 25: 0}),
    ],
)
def test_the_learning_rate_falls_to_zero_at_the_budget(settings, changes, rates):
    found = {number: replace(settings, **changes).learning_rate_after(number, 4) for number in rates}
    assert found == pytest.approx(rates)
    assert (min(found.values()) == 0) == (min(rates.values()) == 0)
