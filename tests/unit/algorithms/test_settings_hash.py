from dataclasses import fields

import pytest
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.records.comparability import settings_hash

GA, DQN = ALGORITHMS["ga"], ALGORITHMS["dqn"]
DEMO = GA.presets["demo"]


def hash_of(spec=GA, **changes):
    return settings_hash(spec.presets["demo"].changed(changes).records("pong")["settings_record"])


def test_equal_settings_have_equal_hashes_however_they_are_written():
    assert hash_of(mutation_power=0.5) == hash_of(mutation_power=0.5)
    assert hash_of(mutation_power=1) == hash_of(mutation_power=1.0)
    constant = {"type": "constant", "value": 0.5}
    assert hash_of(mutation_power=constant) == hash_of(mutation_power=0.5)
    ours = {"type": "linear", "initial": 0.5, "final": 0.1, "length": 10}
    published = {"type": "LinearSchedule", "initial_p": 0.5, "final_p": 0.1, "schedule": 10}
    assert hash_of(mutation_power=ours) == hash_of(mutation_power=published) != hash_of(mutation_power=0.5)


def test_the_budget_the_seed_and_ways_to_run_do_not_count():
    changes = {"frames": 1, "seed": 9, "snapshot_frames": 4, "engine": "batched"}
    assert hash_of(**changes) == hash_of()
    assert hash_of(DQN, keep_replay=False, frames=5) == hash_of(DQN)


def test_settings_that_came_later_do_not_count_where_they_change_nothing():
    record = DEMO.records("pong")["settings_record"]
    assert not set(DEMO.LATER) & set(record)
    assert hash_of(target_score=40) != hash_of()
    assert "crossover" in GA.presets["jolley2018"].records("river_crossing")["settings_record"]


def test_how_scores_are_measured_is_told_by_other_records():
    assert hash_of(protocol="machado2018", action_set="full", test_cutoff=50) == hash_of()
    assert hash_of(DQN, test_epsilon=0.5) == hash_of(DQN)
    assert DQN.presets["demo"].changed({"test_epsilon": 0.5, "test_cutoff": 7}).describe_tests("pong") == {
        "action_rule": "epsilon-greedy", "epsilon": 0.5, "cutoff": 7, "episode_end": "game over",
    }  # fmt: skip
    greedy = DQN.presets["demo"].changed({"test_epsilon": 0}).describe_tests("pong")
    assert greedy == DEMO.changed({"test_cutoff": None}).describe_tests("pong")


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_everything_else_counts(name):
    spec = ALGORITHMS[name]
    settings = spec.presets["demo"]
    outside = {spec.budget_unit, *settings.WAYS_TO_RUN, *settings.OUTSIDE_HASH}
    game = "maze" if spec.result == "archive" else "pong"
    counted = {field.name for field in fields(settings)} - outside - set(settings.LATER)
    assert set(settings.records(game)["settings_record"]) == counted
    assert hash_of(mutation_power=0.5) != hash_of(mutation_power=0.0005)
    assert hash_of(DQN, life_loss="ignore") != hash_of(DQN, life_loss="terminal")


def test_the_hash_depends_on_names_and_values_only():
    assert settings_hash({"power": 0.5, "size": 10}) == settings_hash({"size": 10.0, "power": 0.5})
    assert len({settings_hash({"power": 0.5}), settings_hash({"size": 0.5}), settings_hash({"power": None})}) == 3
