import numpy as np
import pytest
from neurozoo.environments.mazes.agents import WallFollower
from neurozoo.environments.mazes.endpoints import SIDE, find_endpoints
from neurozoo.environments.mazes.simulator import FORWARD, TIME_LIMIT, TURN_LEFT, TURN_RIGHT, play


class Still:
    name, is_deterministic = "still", True

    def first_memory(self, episodes):
        return np.zeros(episodes, bool)

    def act(self, image, direction, memory, rng):
        return np.full(len(image), 6), memory


def test_an_episode_without_the_goal_ends_after_648_steps():
    walls = np.zeros((2, SIDE, SIDE), bool)
    walks = play(Still(), walls, np.array([0, 1]), np.array([255, 255]), np.array([0, 0]), np.random.default_rng(0))
    assert TIME_LIMIT == 648
    assert walks.lengths.tolist() == [648, 648]
    assert not walks.is_solved.any()
    assert walks.visits()[0, 0] == walks.visits()[1, 1] == 648


def test_the_wall_follower_walks_through_a_corridor():
    walls = np.ones((1, SIDE, SIDE), bool)
    walls[0, 0, :4] = walls[0, 1, 3] = walls[0, 2, 3] = False  # four cells to the right, then two down
    endpoints = find_endpoints(walls)
    walks = play(WallFollower(), walls, endpoints.start, endpoints.goal, np.array([0]), np.random.default_rng(0))
    assert walks.lengths.tolist() == [6]  # three steps ahead, a turn, two steps ahead
    assert walks.actions[0, :6].tolist() == [FORWARD, FORWARD, FORWARD, TURN_RIGHT, FORWARD, FORWARD]
    assert walks.cells[0, :7].tolist() == [0, 1, 2, 3, 3, SIDE + 3, -1]


def test_the_wall_follower_turns_to_a_goal_beside_it():
    walls = np.zeros((2, SIDE, SIDE), bool)
    start = np.array([5 * SIDE + 5] * 2)
    goal = start + np.array([-SIDE, SIDE])  # at the left and at the right hand
    walks = play(WallFollower(), walls, start, goal, np.array([0, 0]), np.random.default_rng(0))
    assert walks.actions[:, :2].tolist() == [[TURN_LEFT, FORWARD], [TURN_RIGHT, FORWARD]]


@pytest.mark.parametrize(("probability", "solved", "length"), [(0.1, 0.795, 172), (0.3, 0.905, 177), (0.5, 0.96, 83)])
def test_the_wall_follower_is_as_good_as_the_one_that_was_measured(probability, solved, length):
    """The reference has 25 mazes of 8 episodes; its standard errors are about 0.04 and 20 steps."""
    walls = np.random.default_rng(2).random((100, SIDE, SIDE)) < probability
    endpoints = find_endpoints(walls)
    number, direction = np.repeat(np.arange(100), 4), np.tile(np.arange(4), 100)
    walks = play(
        WallFollower(),
        walls[number],
        endpoints.start[number],
        endpoints.goal[number],
        direction,
        np.random.default_rng(0),
    )
    assert walks.is_solved.mean() == pytest.approx(solved, abs=0.1)
    assert walks.lengths.mean() == pytest.approx(length, abs=50)
