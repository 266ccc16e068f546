"""Several mazes that step together, for learners."""

from collections.abc import Callable, Mapping

import numpy as np

from neurozoo.environments.episode_seeds import is_for_test
from neurozoo.environments.mazes.curriculum import TESTED, Curriculum, MazeLevel, draw_level
from neurozoo.environments.mazes.endpoints import SIDE
from neurozoo.environments.mazes.simulator import NUM_ACTIONS, TIME_LIMIT, MazeEpisodes, reward_at
from neurozoo.environments.protocols import Protocol, output_names
from neurozoo.environments.vector import SeedOf, Step

LevelOf = Callable[[int, int, int], MazeLevel]


class MazeVectorEnvironment:
    """Agents in several mazes, which step together. It has what the actor of `impala` asks of environments.

    The reward is 1 - 0.9 * steps / time_limit at the goal, and 0 otherwise.

    Args:
        count: Number of environments, below called num_envs.
        level_of: Function from the index of an environment, the number of its episode and the steps that it has played
            by then to the maze to play. Let it draw from a generator with that address, and training can be continued
            exactly; see `draw_level`.
        num_actions: 3 (turn left, turn right, forward), or 7, of which the others do nothing, as in the original.
        time_limit: Longest episode in steps.

    Attributes:
        episodes: Number of the current episode of each environment, from 0.
        steps: Steps of the current episodes, shape (num_envs,).
        played: Steps of each environment since the first episode.
        lives: Ones, shape (num_envs,): there is one attempt.
    """

    def __init__(self, count: int, level_of: LevelOf, *, num_actions: int = 3, time_limit: int = TIME_LIMIT) -> None:
        if num_actions not in (3, NUM_ACTIONS):
            raise ValueError(f"num_actions should be 3 or {NUM_ACTIONS}, but is {num_actions}")
        self.count = count
        self.num_actions = num_actions
        self.episodes = np.zeros(count, np.int64)
        self.steps = np.zeros(count, np.int64)
        self.lives = np.ones(count, np.int64)
        self.played = 0
        self._time_limit = time_limit
        self._level_of = level_of
        self._walls = np.zeros((count, SIDE, SIDE), bool)
        self._goal = np.zeros(count, np.int64)
        self._mazes = MazeEpisodes(self._walls, np.zeros(count, int), self._goal, np.zeros(count, int))
        self._actions = np.zeros(count, np.int64)
        self._reset(np.arange(count))

    @property
    def image(self) -> np.ndarray:
        """What agents see: uint8, shape (num_envs, 5, 5, 3): x before y; kind, colour and state, as in MiniGrid."""
        return self._mazes.image

    @property
    def direction(self) -> np.ndarray:
        """Where agents look: int64, shape (num_envs,): 0 right, 1 down, 2 left, 3 up."""
        return self._mazes.direction

    @property
    def cell(self) -> np.ndarray:
        """Where agents are: int64, shape (num_envs,), row * 16 + column."""
        return self._mazes.cell

    @property
    def stacks(self) -> np.ndarray:
        """Image and direction as one array: uint8, shape (num_envs, 4, 5, 5), channels first."""
        return self._mazes.observation.transpose(0, 3, 1, 2)

    @property
    def screens(self) -> np.ndarray:
        """The kinds of cells that agents see: uint8, shape (num_envs, 5, 5)."""
        return self._mazes.seen

    def start_episodes(self, mask: np.ndarray) -> None:
        """Ends the episodes of some environments and starts their next ones; `mask` is bool, shape (num_envs,)."""
        self.episodes[mask] += 1
        self._reset(np.flatnonzero(mask))

    def send(self, actions: np.ndarray) -> None:
        """Remembers the actions of the next step, shape (num_envs,), which `receive` plays."""
        self._actions = np.asarray(actions)

    def receive(self) -> Step:
        """Plays the step. Call `start_episodes` next for environments whose episode has ended."""
        is_over = self._mazes.step(self._actions)
        self.steps += 1
        self.played += 1
        rewards = np.where(is_over, reward_at(self.steps, time_limit=self._time_limit), 0).astype(np.float32)
        return Step(rewards, is_over, ~is_over & (self.steps >= self._time_limit), np.zeros(self.count, bool))

    def get_state(self) -> dict:
        """Returns the state, except what `get_arrays` returns, as plain JSON."""
        return {"episodes": self.episodes.tolist(), "steps": self.steps.tolist(), "played": self.played}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the mazes and where the agents are."""
        return {
            "walls": self._walls.copy(),
            "goal": self._goal.copy(),
            "cell": self.cell,
            "direction": self.direction.copy(),
        }

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned.

        Raises:
            LookupError, ValueError: They are those of other environments.
        """
        self.episodes[:], self.steps[:], self.played = state["episodes"], state["steps"], state["played"]
        self._walls[:], self._goal[:] = arrays["walls"], arrays["goal"]
        self._mazes.replace(np.arange(self.count), self._walls, arrays["cell"], self._goal, arrays["direction"])

    def close(self) -> None:
        """Does nothing: the environments are arrays."""

    def _reset(self, environments: np.ndarray) -> None:
        if not len(environments):
            return
        levels = [self._level_of(index, int(self.episodes[index]), self.played) for index in environments.tolist()]
        self._walls[environments] = [level.walls for level in levels]
        self._goal[environments] = [level.goal for level in levels]
        start, direction = (np.array([getattr(level, name) for level in levels]) for name in ("start", "direction"))
        self._mazes.replace(environments, self._walls[environments], start, self._goal[environments], direction)
        self.steps[environments] = 0


def seeded_mazes(
    protocol: Protocol, *, count: int, seed_of: SeedOf, curriculum: Curriculum | None = None
) -> MazeVectorEnvironment:
    """Makes environments whose mazes are drawn from the seeds of their episodes.

    Args:
        protocol: How episodes are played.
        count: Number of environments.
        seed_of: Function from the index of an environment and the number of its episode to the episode's seed.
        curriculum: What mazes of the training are like. Mazes of tests, which have seeds of their own, are always like
            those of evaluations; so are all mazes without a curriculum.
    """

    def level_of(environment: int, episode: int, played: int) -> MazeLevel:
        seed = seed_of(environment, episode)
        phase = TESTED if curriculum is None or is_for_test(seed) else curriculum.phase_after(played)
        return draw_level(np.random.default_rng(seed), phase)

    num_actions = len(output_names("maze", protocol))
    return MazeVectorEnvironment(count, level_of, num_actions=num_actions, time_limit=protocol.max_frames)
