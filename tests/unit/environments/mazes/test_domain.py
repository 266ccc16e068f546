import numpy as np
import pytest
from neurozoo.environments.level_domains import Play, check_agent, get_level_domain
from neurozoo.environments.mazes.endpoints import SIDE
from neurozoo.errors import NeurozooError

MAZE = get_level_domain("maze")
PLAY = Play(agent="wall_follower")


def random_levels(count, seed=0):
    rng = np.random.default_rng(seed)
    return MAZE.decode(rng.random((count, 256)) + rng.uniform(-0.5, 0.2, (count, 1)))


def rngs(count):
    return [np.random.default_rng(number) for number in range(count)]


def test_fixed_episodes_do_not_favour_short_ones():
    levels = random_levels(60, seed=3)
    settings = Play(agent="wall_follower", sampling="fixed", shares_first_direction=False)
    fixed, first = (MAZE.evaluate(levels, each, rngs(60)) for each in (settings, PLAY))
    assert fixed.values["path_length"].mean() > first.values["path_length"].mean() + 5
    np.testing.assert_allclose(fixed.occupancy.sum(axis=(1, 2)), fixed.values["path_length"], rtol=1e-5)


@pytest.mark.parametrize(("unsolvable", "sum_of_occupancy"), [("walls", 255), ("zeros", 0)])
def test_an_unsolvable_maze_has_no_agent_and_no_objective(unsolvable, sum_of_occupancy):
    levels = np.ones((2, SIDE, SIDE), np.uint8)
    levels[0, 3, 3] = 0
    levels[1, 3, 3:5] = 0
    settings = Play(agent="wall_follower", unsolvable_occupancy=unsolvable)
    found = MAZE.evaluate(levels, settings, rngs(2))
    assert found.objectives.tolist() == [0, 1]
    assert {name: array[0] for name, array in found.values.items()} == {
        "walls": 255, "path_length": 0, "repeated_visits": 0, "explored": 0, "left_turns": 0, "right_turns": 0,
        "solved": 0, "optimal_path_length": -1,
    }  # fmt: skip
    assert found.occupancy[0].sum() == sum_of_occupancy
    np.testing.assert_array_equal(found.levels[0], levels[0])
    assert sorted(found.levels[1, 3, 3:5]) == [2, 3]


def test_real_numbers_are_rounded_to_walls():
    level = MAZE.decode(np.r_[0.4, 0.6, -3.0, 7.0, np.zeros(252)])[0]
    assert level[0, :4].tolist() == [0, 1, 0, 1]


def test_the_way_that_pages_show_is_the_episode_that_counted():
    levels = np.concatenate([random_levels(3), np.ones((1, SIDE, SIDE), np.uint8)])
    ways = MAZE.ways(levels, "wall_follower", direction=0)
    settings = Play(agent="wall_follower", num_episodes=1, num_envs=1)
    assert [len(way) for way in ways] == MAZE.evaluate(levels, settings, rngs(4)).values["path_length"].tolist()
    assert len(ways[3]) == 0


def test_unknown_domains_and_agents_get_a_sentence():
    with pytest.raises(NeurozooError, match="did you mean 'maze'"):
        get_level_domain("mase")
    with pytest.raises(NeurozooError, match="agent 'astar' cannot be sent into levels of 'maze'"):
        check_agent(MAZE, "astar")
