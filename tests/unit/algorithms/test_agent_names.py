from dataclasses import asdict

import pytest
from neurozoo.algorithms.agent_names import agent_name, algo_name, called, label_with_name
from neurozoo.algorithms.registry import ALGORITHMS


@pytest.mark.parametrize(
    ("algo", "name"),
    [("ga", "GA"), ("nsra_es", "NSRA-ES"), ("map_elites", "MAP-Elites"), ("imported", "Imported"), ("mine", "MINE")],
)
def test_algorithms_have_the_names_of_the_literature(algo, name):
    assert algo_name(algo) == name


def test_different_algorithms_have_different_names():
    assert len({algo_name(algo) for algo in ALGORITHMS}) == len(ALGORITHMS)


def test_agents_are_named_by_algorithm_network_and_what_else_tells_them_apart():
    assert agent_name("es", "virtual_bn") == "ES, virtual bn"
    assert agent_name("ga", "large", "mutation power 0.05", "") == "GA, large, mutation power 0.05"


def test_learners_are_called_by_what_they_learn():
    assert agent_name("impala", "impala_shallow", "PPO") == "PPO, impala shallow"
    assert agent_name("impala", "small", "PQN, slow", "machado2018") == "PQN, small, slow, machado2018"
    assert agent_name("impala", "small", "slow") == "IMPALA, small, slow"
    assert called("impala", "PPO / PPO, slow") == ("PPO", "slow")
    assert called("impala", "baseline / PPO") == ("PPO", "baseline")
    assert called("ga", "PPO") == ("GA", "PPO")
    assert called("mine", "PPO") == ("MINE", "PPO")


def test_settings_are_named_by_their_record_too():
    assert label_with_name("impala", {"objective": "ppo", "proximal_policy": "none"}) == "PPO"
    assert label_with_name("impala", {"objective": "ppo", "proximal_policy": "learning"}, "PPO, slow") == (
        "decoupled PPO, slow"
    )
    assert label_with_name("impala", {"objective": "vtrace"}, "slow") == "slow"
    assert label_with_name("impala", {}) == label_with_name("ga", {}) == label_with_name("mine", {}) == ""


def test_every_name_in_the_literature_is_that_of_a_preset():
    spec = ALGORITHMS["impala"]
    assert {label_with_name("impala", asdict(settings)) for settings in spec.presets.values()} - {""} == {
        *spec.also_called
    }
