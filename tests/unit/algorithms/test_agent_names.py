import pytest
from neurozoo.algorithms.agent_names import agent_name, algo_name
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
