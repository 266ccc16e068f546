"""The river crossing task and the hard maze as Gymnasium environments."""

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from neurozoo.environments.games import RIVER_ACTIONS
from neurozoo.environments.hard_maze import HardMaze
from neurozoo.environments.river_crossing import RiverCrossing, RiverRules
from neurozoo.environments.river_world import SHAPES, picture, text, view
from neurozoo.errors import NeurozooError, unknown_name

STACK = 4  # planes in a `pixels` observation
METADATA: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}


class RiverCrossingEnvironment(gymnasium.Env):
    """The river crossing task as `neurozoo/RiverCrossing-v0`.

    `reset(seed=n)` starts the same episode as an evaluator with the seed n. Without a seed, one is drawn.
    `info` has `level`, `attempt`, `cause` (why the last failed attempt ended: `edge`, `trap`, `water`, `age` or empty),
    `levels_solved`, `stones_placed` and `fitness`.
    """

    metadata = METADATA

    def __init__(
        self,
        *,
        obs_type: Literal["pixels", "rgb", "greyscale", "objects", "vector"] = "rgb",
        reward: Literal["dense", "final", "sparse1"] | None = None,
        faithful: bool = False,
        min_width: int = 0,
        max_width: int = 3,
        attempts: int = 10,
        step_limit: int = 150,
        num_traps: int = 7,
        num_stones: int | None = None,
        render_mode: Literal["rgb_array", "ansi"] | None = None,
    ):
        """Makes the environment.

        Args:
            obs_type: `rgb` (20, 20, 3), `greyscale` (20, 20, 1) and `objects` (20, 20, 6) are float32 in [0, 1].
                `pixels`, uint8 (84, 84, 4), stacks the last four grey pictures, enlarged by 4, for networks that were
                made for Atari games. `vector`, float32 (6,), is the cell under the agent (one-hot) and whether the
                agent carries a stone: the input of the decision network of Robinson et al. 2007.
            reward: `dense`: 1 when a level is solved. `final`: the fitness, at the end of the episode. `sparse1`: a
                single world whose river has `max_width` columns; 1 for the resource, -1 for death. None chooses
                `final` with faithful rules, `dense` otherwise.
            faithful: Whether to play with the rules of the toolbox, including its bugs.
            min_width: Width of the river in level 0.
            max_width: Width of the river in the last level, at most 4.
            attempts: Attempts per episode.
            step_limit: Most steps in one world.
            num_traps: Traps per world.
            num_stones: Stones per world; None for 17 plus the width of the river.
            render_mode: What `render` returns: `rgb_array`, (160, 160, 3); `ansi`, text; or None.

        Raises:
            NeurozooError: A choice is unknown, or a number is out of range.
        """
        reward = reward or ("final" if faithful else "dense")
        for kind, choice, choices in (
            ("obs_type", obs_type, SHAPES), ("reward", reward, ("dense", "final", "sparse1")),
            ("render_mode", render_mode, (None, *METADATA["render_modes"])),
        ):  # fmt: skip
            if choice not in choices:
                raise unknown_name(kind, str(choice), [name for name in choices if name])
        if reward == "sparse1":
            if faithful:
                raise NeurozooError(
                    "The reward 'sparse1' needs fixed rules. Leave faithful out or choose another reward."
                )
            min_width, attempts = max_width, 1
        self.river = RiverCrossing(
            RiverRules(
                is_faithful=faithful, min_width=min_width, max_width=max_width, attempts=attempts,
                step_limit=step_limit, num_traps=num_traps, num_stones=num_stones,
            )
        )  # fmt: skip
        self.render_mode = render_mode
        self._obs_type = obs_type
        self._reward = reward
        self.action_space = spaces.Discrete(len(RIVER_ACTIONS))
        if obs_type == "pixels":
            self.observation_space = spaces.Box(0, 255, (*SHAPES["pixels"][:2], STACK), np.uint8)
        else:
            self.observation_space = spaces.Box(0, 1, SHAPES[obs_type], np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        """Starts an episode; see `gymnasium.Env.reset`."""
        super().reset(seed=seed)
        self.river.reset(seed=int(self.np_random.integers(2**31)) if seed is None else seed)
        self._planes = [np.zeros(SHAPES["pixels"], np.float32)] * STACK
        return self._observe(), self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Plays one step; see `gymnasium.Env.step`."""
        before, failures = self.river.levels_solved, len(self.river.final_positions)
        self.river.step(int(action))
        if self._reward != "final":
            reward = float(self.river.levels_solved - before)
        else:
            reward = float(self.river.fitness) if self.river.is_over else 0.0
        is_truncated = False
        if self._reward == "sparse1" and not reward and len(self.river.final_positions) > failures:
            is_truncated = self.river.cause == "age"
            reward = 0.0 if is_truncated else -1.0
        return self._observe(), reward, self.river.is_over and not is_truncated, is_truncated, self._info()

    def render(self) -> np.ndarray | str | None:
        """Draws or prints the world; see `gymnasium.Env.render`."""
        if self.render_mode == "rgb_array":
            return picture(self.river)
        return text(self.river) if self.render_mode == "ansi" else None

    def _observe(self) -> np.ndarray:
        seen = view(self.river, self._obs_type)
        if self._obs_type != "pixels":
            return seen
        self._planes = [*self._planes[1:], seen]
        return np.rint(np.concatenate(self._planes, axis=-1) * 255).astype(np.uint8)

    def _info(self) -> dict:
        names = ("level", "attempt", "cause", "levels_solved", "stones_placed", "fitness")
        return {name: getattr(self.river, name) for name in names}


class HardMazeEnvironment(gymnasium.Env):
    """The hard maze as `neurozoo/HardMaze-v0`: two continuous actions, turn and speed, from -0.5 to 0.5.

    `info` has `position`, (x, y), and `distance` to the goal. The episode is truncated after 400 steps. The reward is
    minus the distance in the last step, and 0 before.
    """

    metadata = METADATA

    def __init__(self, *, render_mode: Literal["rgb_array", "ansi"] | None = None):
        """Makes the environment; `render` returns (400, 400, 3) with `rgb_array`, text with `ansi`."""
        if render_mode not in (None, *METADATA["render_modes"]):
            raise unknown_name("render_mode", str(render_mode), METADATA["render_modes"])
        self.render_mode = render_mode
        self.maze = HardMaze()
        self.action_space = spaces.Box(-0.5, 0.5, (2,), np.float32)
        self.observation_space = spaces.Box(0, 1, (11,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        """Puts the robot at the start; see `gymnasium.Env.reset`. The seed has no effect."""
        super().reset(seed=seed)
        self.maze.reset()
        return self.maze.observe(), self._info()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Plays one step; see `gymnasium.Env.step`."""
        turn, speed = (float(value) for value in action)
        reward = self.maze.step(turn, speed)
        return self.maze.observe(), reward, False, self.maze.is_over, self._info()

    def render(self) -> np.ndarray | str | None:
        """Draws or describes the robot in the maze; see `gymnasium.Env.render`."""
        if self.render_mode == "rgb_array":
            return self.maze.picture()
        return self.maze.text() if self.render_mode == "ansi" else None

    def _info(self) -> dict:
        return {"position": (self.maze.x, self.maze.y), "distance": self.maze.distance}
