import numpy as np
import pytest
from neurozoo.environments.river_agents import ShuntingAgent
from neurozoo.environments.river_crossing import RESOURCE, STONE, TRAP, WATER
from neurozoo.environments.rivers.agents import SHUNTING, LandscapeAgent
from neurozoo.environments.rivers.simulator import play
from neurozoo.environments.rivers.worlds import START

from tests.unit.environments.rivers.river_levels import drawn, world_of


def test_many_worlds_are_played_as_the_game_plays_each_of_them():
    for width in range(5):
        games, worlds = drawn(width, 3)
        walks = play(SHUNTING, worlds)
        for number, game in enumerate(games):
            agent, cells, carries = ShuntingAgent(), [], []
            while not game.is_over:
                game.step(agent(game))
                cells.append(20 * game.row + game.column)
                carries.append(game.carries)
            steps = len(cells)
            assert walks.steps[number] == steps
            assert walks.cells[number, :steps].tolist() == cells
            assert (walks.cells[number, steps:] == -1).all()
            assert walks.carries[number, :steps].tolist() == carries
            assert walks.stones[number] == game.stones_placed
            assert walks.is_solved[number] == bool(game.levels_solved)


@pytest.mark.parametrize(
    ("width", "mean_steps", "count"), [(0, 17.5, 60), (1, 23.9, 60), (2, 28.8, 60), (3, 41.3, 60), (4, 61.0, 60)]
)
def test_the_scripted_agent_has_the_measured_rates_in_the_worlds_of_the_task(width, mean_steps, count):
    """Section 5.3 of the description: all of 400 to 3,400 worlds solved, from column 0 in at most 200 steps."""
    _, worlds = drawn(width, count, start_column=0)
    walks = play(SHUNTING, worlds)
    # If 0.3 % of all worlds failed, the most that none in 1,000 leaves likely, two of 60 would fail in 1.4 % of draws.
    assert walks.is_solved.sum() >= count - 1
    error = walks.steps.std() / np.sqrt(count)
    assert abs(walks.steps.mean() - mean_steps) < 3.5 * max(error, 0.1)


def agent_that(*, wants, hands=False):
    """Wants one kind of cell and nothing else."""
    desires = np.zeros((2, 5, 5))
    desires[..., wants] = 1

    def spread(maps):  # as far as two cells
        near = maps + sum(np.roll(maps, (r, c), (1, 2)) for r in (-1, 0, 1) for c in (-1, 0, 1)) / 9
        return near + sum(np.roll(near, (r, c), (1, 2)) for r in (-1, 0, 1) for c in (-1, 0, 1)) / 9

    return LandscapeAgent(desires, np.full((2, 5), hands), spread)


@pytest.mark.parametrize("kind", [WATER, TRAP])
@pytest.mark.parametrize("hands", [True, False])
def test_water_and_traps_kill(kind, hands):
    walks = play(agent_that(wants=kind, hands=hands), world_of({(5, 5): START, (5, 7): kind, (9, 17): RESOURCE})[None])
    assert (walks.is_dead[0], walks.is_solved[0], walks.steps[0]) == (True, False, 2)
    assert walks.cells[0, :3].tolist() == [5 * 20 + 6, 5 * 20 + 7, -1]


def test_only_movement_networks_leave_the_world_and_die_there():
    upwards = np.tile(np.eye(8)[6], (8, 1))  # to direction 7, whichever neighbour is the highest
    agent = LandscapeAgent(np.zeros((2, 5, 5)), np.zeros((2, 5), bool), lambda maps: maps, False, upwards)
    walks = play(agent, world_of({(1, 5): START, (9, 17): RESOURCE})[None])
    assert (walks.is_dead[0], walks.steps[0], walks.cells[0, :2].tolist()) == (True, 2, [5, 5])


def test_an_agent_without_hands_walks_over_stones_and_one_that_wants_nothing_stays():
    world = world_of({(5, 5): START, (5, 6): STONE, (5, 7): RESOURCE})[None]
    walks = play(agent_that(wants=RESOURCE), world)
    assert (walks.is_solved[0], walks.steps[0], walks.carries.any()) == (True, 2, False)
    walks = play(LandscapeAgent(np.zeros((2, 5, 5)), np.zeros((2, 5), bool), lambda maps: maps), world)
    assert (walks.is_solved[0], walks.is_dead[0], walks.steps[0]) == (False, False, 200)
    assert walks.visits()[0, 5, 5] == 200
