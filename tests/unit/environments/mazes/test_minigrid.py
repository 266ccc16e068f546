"""The simulator against MiniGrid, whose rules it has (arXiv:2306.13831)."""

import numpy as np
import pytest
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Goal, Wall
from minigrid.minigrid_env import MiniGridEnv
from neurozoo.environments.mazes.curriculum import PHASES, draw_level
from neurozoo.environments.mazes.endpoints import SIDE
from neurozoo.environments.mazes.simulator import TIME_LIMIT, MazeEpisodes, reward_at


class MiniGridMaze(MiniGridEnv):
    """One of our levels as an environment of MiniGrid, with its ring of walls."""

    def __init__(self, level):
        self._level = level
        super().__init__(
            mission_space=MissionSpace(lambda: "find the goal"),
            grid_size=SIDE + 2,
            see_through_walls=True,
            agent_view_size=5,
            max_steps=TIME_LIMIT,
        )

    def _gen_grid(self, width, height):
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        for row, column in np.argwhere(self._level.walls):
            self.grid.set(int(column) + 1, int(row) + 1, Wall())
        row, column = divmod(self._level.goal, SIDE)
        self.grid.set(column + 1, row + 1, Goal())
        row, column = divmod(self._level.start, SIDE)
        self.agent_pos, self.agent_dir = (column + 1, row + 1), self._level.direction
        self.mission = "find the goal"


@pytest.mark.parametrize("number", range(6))
def test_an_episode_is_that_of_minigrid_step_by_step(number):
    level = draw_level(np.random.default_rng(number), PHASES[number % 2])
    theirs = MiniGridMaze(level)
    seen, _ = theirs.reset()
    start = (np.array([each]) for each in (level.start, level.goal, level.direction))
    ours = MazeEpisodes(level.walls[None], *start)
    rng, is_over, is_cut = np.random.default_rng(100 + number), False, False
    while not (is_over or is_cut):
        np.testing.assert_array_equal(ours.image[0], seen["image"])
        assert ours.direction[0] == seen["direction"]
        # 3 to 5 pick up, drop and toggle, which do nothing here; 6 means done
        action = int(rng.choice(7, p=[0.2, 0.2, 0.52, 0.02, 0.02, 0.02, 0.02]))
        seen, reward, is_over, is_cut, _ = theirs.step(action)
        assert ours.step(np.array([action]))[0] == is_over
        assert reward == pytest.approx(float(reward_at(ours.steps)) if is_over else 0)
        column, row = theirs.agent_pos
        assert ours.cell[0] == (row - 1) * SIDE + column - 1
    assert is_over or ours.steps == TIME_LIMIT == 648
