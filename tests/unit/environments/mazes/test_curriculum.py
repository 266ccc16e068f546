import numpy as np
import pytest
from neurozoo.environments.mazes.curriculum import PHASES, Curriculum, draw_level, reachable_cells
from neurozoo.environments.mazes.endpoints import SIDE, find_endpoints


def levels(phase, count):
    return [draw_level(np.random.default_rng([7, number]), phase) for number in range(count)]


def slowly_reachable(walls, start):
    found, rest = {start}, [start]
    while rest:
        row, column = divmod(rest.pop(), SIDE)
        for other in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            cell = other[0] * SIDE + other[1]
            if min(other) >= 0 and max(other) < SIDE and not walls[other] and cell not in found:
                found.add(cell)
                rest.append(cell)
    return sorted(found)


@pytest.mark.parametrize(("progress", "phase"), [(0, 0), (0.099, 0), (0.1, 1), (0.7, 1), (1, 1)])
def test_phases_follow_each_other(progress, phase):
    assert Curriculum(1000).phase_after(1000 * progress) == PHASES[phase]


def test_every_maze_can_be_solved_and_has_the_walls_of_its_phase():
    for phase in PHASES:
        drawn = levels(phase, 150)
        for level in drawn:
            assert level.start != level.goal
            assert level.goal in slowly_reachable(level.walls, level.start)
        shares = np.array([level.walls.mean() for level in drawn])
        middle = (phase.least_walls + phase.most_walls) / 2
        assert shares.mean() == pytest.approx(middle, abs=0.05)
        assert shares.min() < middle / 4
        assert shares.max() > phase.most_walls - 0.05
        assert {level.direction for level in drawn} == {0, 1, 2, 3}


def test_half_of_the_later_endpoints_are_farthest_apart():
    drawn = levels(PHASES[1], 150)
    found = find_endpoints(np.array([level.walls for level in drawn]))
    same = [(level.start, level.goal) for level in drawn] == np.stack([found.start, found.goal], axis=1)
    assert 0.35 < same.all(axis=1).mean() < 0.65


def test_the_core_draws_the_same_mazes(core):
    for number, level in enumerate(levels(PHASES[1], 20)):
        again = draw_level(np.random.default_rng([7, number]), PHASES[1], core=core)
        np.testing.assert_array_equal(again.walls, level.walls)
        assert (again.start, again.goal, again.direction) == (level.start, level.goal, level.direction)


def test_reachable_cells_are_those_of_a_search():
    rng = np.random.default_rng(1)
    for share in np.linspace(0, 0.7, 20):
        walls = rng.random((SIDE, SIDE)) < share
        start = int(rng.choice(np.flatnonzero(~walls)))
        assert reachable_cells(walls, start).tolist() == slowly_reachable(walls, start)
