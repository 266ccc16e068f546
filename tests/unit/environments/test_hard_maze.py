import math

import numpy as np
import pytest
from neurozoo.environments.hard_maze import GOAL, WALLS, HardMaze


def drive(turn, speed, *, steps=400):
    maze = HardMaze()
    rewards = [maze.step(turn, speed) for _ in range(steps)]
    return maze, rewards


def test_the_start_looks_as_published():
    seen = HardMaze().observe()
    np.testing.assert_allclose(seen, [1, 1, 0.8156, 0.5524, 0.2407, 0.1738, 0.2935, 0, 0, 0, 1], atol=5e-5)
    assert HardMaze().distance == pytest.approx(164.076, abs=5e-4)


def test_straight_ahead_ends_where_the_published_maze_ends():
    maze, rewards = drive(0, 0.5)
    assert (round(maze.x, 6), round(maze.y, 6)) == (78, 184)
    assert rewards[:-1] == [0] * 399
    assert rewards[-1] == pytest.approx(-170.602, abs=5e-4)
    assert maze.is_over


def test_a_slight_turn_ends_where_the_published_maze_ends():
    maze, rewards = drive(0.1, 0.5)
    assert (maze.x, maze.y) == (pytest.approx(14.85, abs=0.005), pytest.approx(188.43, abs=0.005))
    assert rewards[-1] == pytest.approx(-169.2, abs=0.05)


def test_speeds_change_by_at_most_a_fifth_per_step_and_stay_within_3():
    maze = HardMaze()
    turns, speeds = [], []
    for _ in range(20):
        maze.step(9, 9)
        turns.append(maze.turn)
        speeds.append(maze.speed)
    np.testing.assert_allclose(turns, np.minimum(0.2 * np.arange(1, 21), 3))
    np.testing.assert_allclose(speeds, turns)
    maze.step(-9, 0)
    assert (maze.turn, maze.speed) == (pytest.approx(2.8), pytest.approx(2.8))


def test_the_robot_moves_along_the_heading_that_it_had_and_turns_then():
    maze = HardMaze()
    maze.step(0.5, 0.5)
    assert (maze.x, maze.y, maze.heading) == (36.2, 184, 0.2)
    maze.step(-0.5, 0)
    angle = 0.2 / 180 * math.pi
    assert maze.y == 184  # back at rest
    maze.step(0, 0.5)
    assert maze.heading == pytest.approx(0.2)
    assert maze.y == pytest.approx(184 + 0.2 * math.sin(angle))


def test_a_wall_stops_the_move_but_not_the_turn():
    # To the right from (36, 184), the wall (77, 201)-(108, 164) stops it at about (78, 184).
    maze, _ = drive(0, 0.5, steps=100)
    before = (maze.x, maze.y)
    maze.step(0.5, 0.5)
    assert (maze.x, maze.y, maze.heading) == (*before, 0.2)


def test_the_robot_never_comes_closer_to_a_wall_than_its_radius():
    maze, _ = drive(-0.21, 0.5)
    path = np.array(maze.path)
    assert (path[1:] == path[:-1]).all(axis=1).any()  # it was stopped
    for ax, ay, bx, by in WALLS:
        along = np.linspace(0, 1, 500)
        wall = np.stack([ax + along * (bx - ax), ay + along * (by - ay)], axis=1)
        assert np.linalg.norm(path[:, None] - wall, axis=-1).min() >= 8 - 1e-9


def test_headings_stay_within_a_circle():
    for turn in (0.5, -0.5):
        maze = HardMaze()
        for _ in range(399):
            maze.step(turn, 0)
            assert 0 <= maze.heading <= 360


@pytest.mark.parametrize(("heading", "quarter"), [(268.3, 0), (178, 1), (88, 2), (0, 3), (358, 3)])
def test_the_radar_tells_the_quarter_of_the_goal(heading, quarter):
    # From the start the goal is in the direction atan2(20 - 184, 31 - 36) = 268.25 degrees.
    maze = HardMaze()
    maze.heading = heading
    assert maze.observe()[7:].tolist() == [float(index == quarter) for index in range(4)]


def test_a_range_finder_measures_the_distance_to_the_nearest_wall():
    # From (100, 184) to the right: the wall (195, 198)-(186, 8) crosses y = 184 at x = 186 + 9 * 176 / 190.
    maze = HardMaze()
    maze.x, maze.y = 100.0, 184.0
    expected = 186 + 9 * 176 / 190 - 100
    maze.heading = 0
    assert maze.observe()[3] == pytest.approx(expected / 100, abs=1e-6)
    # To the left: the wall (77, 201)-(108, 164) crosses y = 184 at x = 77 + 31 * 17 / 37.
    assert maze.observe()[6] == pytest.approx((100 - (77 + 31 * 17 / 37)) / 100, abs=1e-5)


def test_an_output_of_nan_brings_the_robot_to_rest():
    maze, _ = drive(0.3, 0.3, steps=5)
    turn, speed = maze.turn, maze.speed
    maze.step(math.nan, math.nan)
    assert (maze.turn, maze.speed) == (pytest.approx(turn - 0.2), pytest.approx(speed - 0.2))


def test_the_picture_shows_robot_goal_walls_and_path():
    maze, _ = drive(0, 0.5, steps=30)
    seen = maze.picture()
    assert (seen.shape, seen.dtype) == ((400, 400, 3), np.uint8)

    def colour(x, y):
        return seen[round(y * 1.9 + 6), round(x * 1.9 + 6)].tolist()

    assert colour(maze.x - 4, maze.y) == [220, 60, 50]
    assert colour(*GOAL) == [30, 160, 60]
    assert colour(57, 53) == [0, 0, 0]  # the end of a wall
    assert colour(45, 184) == [120, 170, 220]
    assert colour(120, 120) == [255, 255, 255]
    assert "step 30 of 400" in maze.text()
