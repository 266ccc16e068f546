"""Agents that a plan would play differently."""

from pathlib import Path

import pytest
import yaml
from neurozoo.plan.configuration import check_config
from neurozoo.plan.warnings import played_differently

PROJECT = Path(__file__).parents[3]


def told(*experiments):
    chosen = {f"e{number}": {"games": ["pong"], "models": ["small"], **e} for number, e in enumerate(experiments)}
    return played_differently(check_config({"experiments": chosen}))


@pytest.mark.parametrize("name", ["comparison", "book/six_algorithms"])
def test_the_examples_of_a_comparison_play_alike(name):
    config = check_config(yaml.safe_load((PROJECT / "config" / f"{name}.yaml").read_text()))
    assert len({e["algo"] for e in config["experiments"].values()}) >= 3
    assert played_differently(config) is None


def test_algorithms_with_their_own_presets_are_told_with_what_differs_and_what_to_set():
    ppo = {"algo": "impala", "preset": "neurozoo", "models": ["impala_shallow"]}
    sentence = told({"algo": "ga", "preset": "neurozoo"}, {"algo": "dqn", "preset": "neurozoo"}, ppo)
    assert sentence.startswith("In pong, GA, DQN and IMPALA play differently, so not all scores will be compared: ")
    for fact in ("sticky probability", "preprocessing", "test cutoff", "test action rule", "test epsilon"):
        assert fact in sentence
    assert "set protocol, action_set, test_cutoff, test_epsilon and test_actions alike" in sentence


def test_runs_of_one_algorithm_may_differ_too():
    one = {"algo": "ga", "overrides": {"protocol": "machado2018"}}
    sentence = told(one, {"algo": "ga", "runs": [11], "overrides": {"protocol": "uber2018"}})
    assert sentence.startswith("In pong, runs of GA play differently")


def test_settings_that_do_not_change_how_episodes_are_played_are_no_difference():
    assert told({"algo": "ga"}, {"algo": "ga", "runs": [11], "overrides": {"mutation_power": 0.5}}) is None
    assert told({"algo": "ga"}, {"algo": "rs"}, {"algo": "es"}) is None


def test_algorithms_that_play_different_games_are_not_compared_anyway():
    assert told({"algo": "ga"}, {"algo": "dqn", "games": ["breakout"]}) is None


def test_many_games_are_counted():
    games = ["pong", "breakout", "frostbite", "skiing"]
    assert told({"algo": "ga", "games": games}, {"algo": "dqn", "games": games}).startswith("In 4 games, GA and DQN")


def test_searches_for_levels_are_compared_by_other_rules():
    search = {"algo": "map_elites", "games": ["maze"], "models": ["plain"]}
    assert told(search, {**search, "runs": [11], "overrides": {"num_episodes": 30}}) is None
