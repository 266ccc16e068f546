from dataclasses import fields
from typing import ClassVar

import pytest
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.run_settings import Settings
from neurozoo.algorithms.settings_hash import settings_hash, settings_record
from pydantic.dataclasses import dataclass

GA, DQN = ALGORITHMS["ga"], ALGORITHMS["dqn"]
DEMO = GA.presets["demo"]


def hash_of(spec=GA, **changes):
    return settings_hash(spec, spec.presets["demo"].changed(changes))


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


def test_how_scores_are_measured_is_told_by_other_records():
    assert hash_of(protocol="machado2018", action_set="full", test_cutoff=50) == hash_of()
    assert hash_of(DQN, test_epsilon=0.5) == hash_of(DQN)
    assert DQN.evaluation_record("pong", DQN.presets["demo"].changed({"test_epsilon": 0.5, "test_cutoff": 7})) == {
        "action_rule": "epsilon-greedy", "epsilon": 0.5, "cutoff": 7, "episode_end": "game over",
    }  # fmt: skip
    greedy = DQN.evaluation_record("pong", DQN.presets["demo"].changed({"test_epsilon": 0}))
    assert greedy == GA.evaluation_record("pong", DEMO.changed({"test_cutoff": None}))


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_everything_else_counts(name):
    spec = ALGORITHMS[name]
    settings = spec.presets["demo"]
    outside = {spec.budget_unit, *settings.WAYS_TO_RUN, *settings.OUTSIDE_HASH}
    assert set(settings_record(spec, settings)) == {field.name for field in fields(settings)} - outside
    assert hash_of(mutation_power=0.5) != hash_of(mutation_power=0.0005)
    assert hash_of(DQN, life_loss="ignore") != hash_of(DQN, life_loss="terminal")


@dataclass(frozen=True, kw_only=True)
class Before(Settings):
    frames: int = 5
    seed: int = 0
    power: float = 0.5
    size: int = 10


@dataclass(frozen=True, kw_only=True)
class Later(Settings):
    RENAMED: ClassVar = {"size": "population_size"}
    ADDED: ClassVar = {"novelty": 0.0}

    frames: int = 7
    seed: int = 1
    novelty: float = 0.0
    population_size: int = 99
    power: float = 0.25


def test_new_names_settings_and_defaults_of_a_later_version_change_no_hash():
    expected = "77ce6d8b8cb0"  # printf '{"power":0.5,"size":10}' | sha256sum
    assert settings_hash(GA, Before()) == expected
    assert settings_hash(GA, Later(power=0.5, population_size=10)) == expected
    assert settings_hash(GA, Later(power=0.5, population_size=10, novelty=1.0)) != expected
    assert settings_hash(GA, Later()) != expected
