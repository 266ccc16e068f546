import numpy as np
import pytest
from neurozoo.environments.mazes.endpoints import SIDE, find_endpoints
from scipy.sparse import csr_array
from scipy.sparse.csgraph import floyd_warshall


def slow(walls):
    """All distances as the original has them: infinite ones become minus infinity, then the arg max."""
    size = SIDE * SIDE
    edges = np.zeros((size, size))
    for row in range(SIDE):
        for column in range(SIDE):
            for other in ((row, column + 1), (row + 1, column)):
                if max(other) < SIDE and not walls[row, column] and not walls[other]:
                    a, b = row * SIDE + column, other[0] * SIDE + other[1]
                    edges[a, b] = edges[b, a] = 1
    distances = floyd_warshall(csr_array(edges), directed=False, unweighted=True)
    reachable = np.isfinite(distances).sum(axis=1)
    distances[~np.isfinite(distances)] = -np.inf
    start, goal = divmod(int(np.argmax(distances)), size)
    longest = int(distances[start, goal])
    return (start, goal, longest, reachable[start]) if longest >= 1 else (-1, -1, -1, 0)


def maze(*rows):
    """The upper left corner of a maze; everything else is wall."""
    walls = np.ones((1, SIDE, SIDE), bool)
    for number, row in enumerate(rows):
        walls[0, number, : len(row)] = [tile == "#" for tile in row]
    return walls


def test_endpoints_of_random_mazes_are_those_of_floyd_and_warshall():
    rng = np.random.default_rng(0)
    walls = rng.random((24, SIDE, SIDE)) < np.linspace(0, 0.9, 24)[:, None, None]
    found = find_endpoints(walls)
    for number, expected in enumerate(map(slow, walls)):
        got = (found.start[number], found.goal[number], found.distance[number], found.reachable[number])
        assert got == expected


def test_the_first_of_two_equal_pairs_wins():
    found = find_endpoints(maze("..#..", "#####", ".."))
    assert (found.start[0], found.goal[0], found.distance[0], found.reachable[0]) == (0, 1, 1, 2)


@pytest.mark.parametrize("walls", [maze(), maze("."), maze(".#.", "#.#")])
def test_a_maze_without_two_free_cells_that_touch_is_unsolvable(walls):
    found = find_endpoints(walls)
    assert not found.is_solvable[0]
    assert (found.start[0], found.goal[0], found.distance[0], found.reachable[0]) == (-1, -1, -1, 0)


def test_an_open_maze_is_as_long_as_its_diagonal():
    found = find_endpoints(np.zeros((300, SIDE, SIDE), bool))
    assert set(found.start) == {0}
    assert set(found.goal) == {255}
    assert set(found.distance) == {30}
    assert set(found.reachable) == {256}


def test_no_mazes_have_no_endpoints():
    assert len(find_endpoints(np.zeros((0, SIDE, SIDE), bool)).start) == 0
