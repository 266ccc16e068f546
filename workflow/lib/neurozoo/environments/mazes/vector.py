"""Several mazes that step together, for learners."""

from collections.abc import Mapping

import numpy as np

from neurozoo.environments.episode_seeds import is_for_test
from neurozoo.environments.mazes.curriculum import TESTED, Curriculum, draw_level
from neurozoo.environments.mazes.endpoints import SIDE
from neurozoo.environments.mazes.simulator import MazeEpisodes, reward_at
from neurozoo.environments.protocols import Protocol, output_names
from neurozoo.environments.vector import SeedOf, Step, VectorEnvironment


class MazeVectorEnvironment(VectorEnvironment):
    """Agents in several mazes, which are drawn from the seeds of their episodes. See `VectorEnvironment`.

    Observations are image and direction, (4, 5, 5). The reward is 1 - 0.9 * steps / limit at the goal, and 0 otherwise.
    Mazes of tests, which have seeds of their own, are always like those of evaluations; so are all mazes without a
    curriculum.
    """

    def __init__(
        self, protocol: Protocol, *, count: int, seed_of: SeedOf, curriculum: Curriculum | None = None
    ) -> None:
        self.count = count
        self.num_actions = len(output_names("maze", protocol))
        self.episodes = np.zeros(count, np.int64)
        self.lives = np.ones(count, np.int64)  # there is one attempt
        self._steps = np.zeros(count, np.int64)  # of the current episodes
        self._played = 0  # steps of each environment since the first episode
        self._time_limit = protocol.max_frames
        self._seed_of = seed_of
        self._curriculum = curriculum
        self._walls = np.zeros((count, SIDE, SIDE), bool)
        self._goal = np.zeros(count, np.int64)
        self._mazes = MazeEpisodes(self._walls, np.zeros(count, int), self._goal, np.zeros(count, int))
        self._reset(np.ones(count, bool))

    @property
    def screens(self) -> np.ndarray:
        """The kinds of cells that agents see: uint8, shape (num_envs, 5, 5)."""
        return self._mazes.seen

    def send(self, actions: np.ndarray) -> None:
        """Remembers the actions of the next step, which `receive` plays."""
        self._actions = np.asarray(actions)

    def receive(self) -> Step:
        """Plays the step."""
        is_over = self._mazes.step(self._actions)
        self._steps += 1
        self._played += 1
        self._see()
        rewards = np.where(is_over, reward_at(self._steps, time_limit=self._time_limit), 0).astype(np.float32)
        return Step(rewards, is_over, ~is_over & (self._steps >= self._time_limit), np.zeros(self.count, bool))

    def get_state(self) -> dict:
        """Returns the state, except what `get_arrays` returns, as plain JSON."""
        return {"episodes": self.episodes.tolist(), "steps": self._steps.tolist(), "played": self._played}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the mazes and where the agents are."""
        return {
            "walls": self._walls.copy(),
            "goal": self._goal.copy(),
            "cell": self._mazes.cell,
            "direction": self._mazes.direction.copy(),
        }

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned."""
        self.episodes[:], self._steps[:], self._played = state["episodes"], state["steps"], state["played"]
        self._walls[:], self._goal[:] = arrays["walls"], arrays["goal"]
        self._mazes.replace(np.arange(self.count), self._walls, arrays["cell"], self._goal, arrays["direction"])
        self._see()

    def _reset(self, mask: np.ndarray) -> None:
        for index in np.flatnonzero(mask).tolist():
            seed = self._seed_of(index, int(self.episodes[index]))
            phase = TESTED
            if self._curriculum is not None and not is_for_test(seed):
                phase = self._curriculum.phase_after(self._played)
            level = draw_level(np.random.default_rng(seed), phase)
            self._walls[index], self._goal[index] = level.walls, level.goal
            start, goal, direction = (np.array([each]) for each in (level.start, level.goal, level.direction))
            self._mazes.replace(np.array([index]), level.walls[None], start, goal, direction)
            self._steps[index] = 0
        self._see()

    def _see(self) -> None:
        self.stacks = self._mazes.observation.transpose(0, 3, 1, 2)
