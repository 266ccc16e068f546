import numpy as np
import pytest
from neurozoo.environments.mazes.agents import WallFollower
from neurozoo.environments.mazes.endpoints import SIDE, find_endpoints
from neurozoo.environments.mazes.simulator import (
    FORWARD,
    NUM_ACTIONS,
    TIME_LIMIT,
    TURN_LEFT,
    TURN_RIGHT,
    MazeEpisodes,
    play,
    reward_at,
)

AHEAD = {0: (1, 0), 1: (0, 1), 2: (-1, 0), 3: (0, -1)}  # (column, row)


class Twin:
    """One episode, written down as the description says it: an 18 x 18 grid with a ring of walls, cell by cell."""

    def __init__(self, walls, start, goal, direction):
        self.grid = [[2] * 18 for _ in range(18)]  # [column][row]
        for row in range(SIDE):
            for column in range(SIDE):
                self.grid[column + 1][row + 1] = 2 if walls[row, column] else 1
        self.grid[goal % SIDE + 1][goal // SIDE + 1] = 8
        self.position = [start % SIDE + 1, start // SIDE + 1]
        self.direction, self.steps = direction, 0

    def image(self):
        ahead, right = AHEAD[self.direction], AHEAD[(self.direction + 1) % 4]
        image = np.zeros((5, 5, 3), int)
        for i in range(5):
            for j in range(5):
                column = self.position[0] + ahead[0] * (4 - j) + right[0] * (i - 2)
                row = self.position[1] + ahead[1] * (4 - j) + right[1] * (i - 2)
                inside = 0 <= column < 18 and 0 <= row < 18
                kind = self.grid[column][row] if inside else 2
                image[i, j] = kind, {1: 0, 2: 5, 8: 1}[kind], 0
        return image

    def step(self, action):
        self.steps += 1
        if action == 0:
            self.direction = (self.direction - 1) % 4
        elif action == 1:
            self.direction = (self.direction + 1) % 4
        elif action == 2:
            ahead = [p + d for p, d in zip(self.position, AHEAD[self.direction], strict=True)]
            kind = self.grid[ahead[0]][ahead[1]]
            if kind != 2:
                self.position = ahead
            return kind == 8
        return False


def episodes_in(walls, direction):
    endpoints = find_endpoints(walls)
    return endpoints, MazeEpisodes(walls, endpoints.start, endpoints.goal, direction)


def test_random_walks_equal_those_of_a_slow_twin_step_by_step():
    rng = np.random.default_rng(1)
    count = 10
    walls = rng.random((count, SIDE, SIDE)) < np.linspace(0, 0.5, count)[:, None, None]
    direction = np.arange(count) % 4
    endpoints, episodes = episodes_in(walls, direction)
    twins = [Twin(*each) for each in zip(walls, endpoints.start, endpoints.goal, direction, strict=True)]
    seen_goal = ended = 0
    for _ in range(300):
        image = episodes.image
        for twin, shown, cell, looks in zip(twins, image, episodes.cell, episodes.direction, strict=True):
            np.testing.assert_array_equal(shown, twin.image())
            assert (cell, looks) == ((twin.position[1] - 1) * SIDE + twin.position[0] - 1, twin.direction)
            seen_goal += (shown == 8).any()
        actions = rng.choice(NUM_ACTIONS, size=len(episodes), p=[0.15, 0.15, 0.6, 0.025, 0.025, 0.025, 0.025])
        solved = episodes.step(actions)
        assert solved.tolist() == [twin.step(action) for twin, action in zip(twins, actions, strict=True)]
        ended += solved.sum()
        episodes.keep(~solved)
        twins = [twin for twin, done in zip(twins, solved, strict=True) if not done]
    assert seen_goal > 20
    assert ended > 0


@pytest.mark.parametrize("direction", range(4))
def test_the_view_turns_with_the_agent(direction):
    walls = np.zeros((1, SIDE, SIDE), bool)
    column, row = AHEAD[direction]
    right = AHEAD[(direction + 1) % 4]
    walls[0, 8 + 3 * row, 8 + 3 * column] = True  # three cells ahead
    walls[0, 8 + right[1], 8 + right[0]] = True  # at the right hand
    start = np.array([8 * SIDE + 8])
    seen = MazeEpisodes(walls, start, np.array([0]), np.array([direction])).seen[0]
    assert {tuple(each) for each in np.argwhere(seen == 2)} == {(2, 1), (3, 4)}
    assert seen[2, 4] == 1  # its own cell


def test_walls_do_not_hide_what_is_behind_them_and_outside_is_wall():
    walls = np.zeros((1, SIDE, SIDE), bool)
    walls[0, 0, 1] = True
    seen = MazeEpisodes(walls, np.array([0]), np.array([2]), np.array([0])).seen[0]  # in the upper left corner
    assert seen[2].tolist() == [1, 1, 8, 2, 1]  # from far to near: the goal behind the wall
    assert (seen[:2] == 2).all()


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


def test_the_reward_falls_with_the_steps():
    assert reward_at(648) == pytest.approx(0.1)
    assert reward_at(1) == pytest.approx(1 - 0.9 / 648)


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
