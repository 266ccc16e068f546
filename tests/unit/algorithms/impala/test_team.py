"""Who learns, who acts for whom, and who plays which environments."""

import pytest
from neurozoo.algorithms.impala.team import Team


def test_actors_belong_to_learners_in_turn_as_in_the_original():
    # The example of section 8 of the specification: 8001 <- {9001, 9003}, 8002 <- {9002}.
    team = Team(learners=2, actors=3, num_envs=8)
    assert (team.actors_of(0), team.actors_of(1)) == ([2, 4], [3])
    assert [team.learner_of(rank) for rank in range(5)] == [0, 1, 0, 1, 0]
    assert [team.is_learner(rank) for rank in range(5)] == [True, True, False, False, False]


def test_the_players_of_a_learner_are_those_of_its_environments():
    assert Team(learners=1, actors=0, num_envs=3).players_of(0) == [0, 0, 0]
    assert Team(learners=2, actors=3, num_envs=3).players_of(0) == [2, 4, 4]
    assert Team(learners=2, actors=3, num_envs=3).players_of(1) == [3, 3, 3]


@pytest.mark.parametrize(("learners", "actors"), [(1, 0), (3, 0), (1, 1), (2, 2), (2, 5), (3, 4)])
def test_every_environment_is_played_by_exactly_one_rank(learners, actors):
    team = Team(learners=learners, actors=actors, num_envs=7)
    played = [number for rank in range(team.size) for number in team.environments_of(rank)]
    assert sorted(played) == list(range(7 * learners))
    for learner in range(learners):
        own = [n for r in team.actors_of(learner) or [learner] for n in team.environments_of(r)]
        assert own == list(range(7 * learner, 7 * learner + 7))  # in order, as `Collector` puts them together
        assert bool(team.environments_of(learner)) == (actors == 0)
