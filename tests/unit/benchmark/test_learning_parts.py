"""The cost of a learner's parts."""

import pytest
from neurozoo.benchmark.learning_parts import as_table, profile_learning
from neurozoo.errors import NeurozooError


def test_each_part_has_its_row():
    overrides = {"epoch_steps": 20, "num_envs": 2, "prioritised": True}
    report = profile_learning(model="linear", overrides=overrides, steps=40, threads=1)
    assert report["settings"].items() >= {"prioritised": True, "learning_starts": 500}.items()  # all settings
    parts = {part["part"]: part for part in report["parts"]}
    assert list(parts) == ["emulator only", "prediction only", "training only", "all together"]
    for part in parts.values():
        assert part["microseconds"] == pytest.approx(1e6 / part["steps_per_second"])
    # All together costs at least as much as the most expensive part alone; the factor allows for other load.
    assert parts["all together"]["processor_microseconds"] > parts["emulator only"]["processor_microseconds"] / 2
    assert "prediction only" in as_table(report).as_text()


def test_algorithms_that_play_episodes_are_sent_to_the_other_benchmark():
    with pytest.raises(NeurozooError, match="python -m neurozoo bench"):
        profile_learning(algo="ga", threads=1)
    with pytest.raises(NeurozooError, match="dqn"):
        profile_learning(algo="dqm", threads=1)
