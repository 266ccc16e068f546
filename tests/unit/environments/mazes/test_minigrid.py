"""The simulator against MiniGrid, whose rules it has (arXiv:2306.13831)."""

import numpy as np
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


def test_episodes_side_by_side_are_those_of_minigrid_step_by_step():
    levels = [draw_level(np.random.default_rng(number), PHASES[number % 2]) for number in range(6)]
    walls, *places = (
        np.array([getattr(level, name) for level in levels]) for name in ("walls", "start", "goal", "direction")
    )
    ours, theirs = MazeEpisodes(walls, *places), [MiniGridMaze(level) for level in levels]
    seen = [each.reset()[0] for each in theirs]
    rng, solved = np.random.default_rng(100), 0
    while len(ours) and ours.steps < TIME_LIMIT:
        for image, direction, each in zip(ours.image, ours.direction, seen, strict=True):
            np.testing.assert_array_equal(image, each["image"])
            assert direction == each["direction"]
        # 3 to 5 pick up, drop and toggle, which do nothing here; 6 means done
        actions = rng.choice(7, p=[0.2, 0.2, 0.52, 0.02, 0.02, 0.02, 0.02], size=len(ours))
        is_over = ours.step(actions)
        outcomes = [each.step(int(action)) for each, action in zip(theirs, actions, strict=True)]
        assert [terminated for _, _, terminated, _, _ in outcomes] == is_over.tolist()
        assert [truncated for _, _, _, truncated, _ in outcomes] == [ours.steps == TIME_LIMIT == 648] * len(ours)
        rewards = [reward for _, reward, *_ in outcomes]
        np.testing.assert_allclose(rewards, np.where(is_over, reward_at(ours.steps), 0))
        cells = [(row - 1) * SIDE + column - 1 for column, row in (each.agent_pos for each in theirs)]
        assert ours.cell.tolist() == cells
        ours.keep(~is_over)
        going = np.flatnonzero(~is_over).tolist()
        theirs, seen = [theirs[number] for number in going], [outcomes[number][0] for number in going]
        solved += is_over.sum()
    assert solved > 0
