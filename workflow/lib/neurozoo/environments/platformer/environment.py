"""The platform game as a Gymnasium environment."""

import os
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from neurozoo.environments.gymnasium_games import PICTURE_SHAPE
from neurozoo.environments.platformer.corpus import draw_windows
from neurozoo.environments.platformer.game import TICKS_PER_SECOND, PlatformerGame
from neurozoo.environments.platformer.senses import ACTIONS, NUM_SENSED, TICKS_PER_STEP, draw_pixels, look_around
from neurozoo.environments.platformer.simulator import CORE, JUMP, WON
from neurozoo.environments.platformer.tiles import checked_levels, read_level, to_text, without_wrong_ends
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files.npz import DAMAGE, read_npz

METADATA: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": TICKS_PER_SECOND // TICKS_PER_STEP}


class PlatformerEnvironment(gymnasium.Env):
    """The platform game as `neurozoo/Platformer-v0`, and as the game `gym.Platformer-v0`.

    With `obs_type="pixels"` it is `neurozoo/PlatformerPixels-v0` and `gym.PlatformerPixels-v0`: an observation is a
    grey picture (see `senses.draw_pixels`), uint8, (84, 84).

    Otherwise it has 227 numbers from -1 to 1 (see `senses.look_around`).

    An action holds the buttons of `ACTIONS` for four ticks. Whoever holds JUMP jumps once; it must be let go before the
    next jump. The reward is the way gained, in percent of the way from column 0 to the finish: whoever starts at the
    left and wins scores nearly 100, and a late start has less left to gain. The episode ends when the game does, after
    167 steps at most.

    `info` has `status` (1 won, 2 lost, 3 time is out), `completion`, `ticks` and `is_won`. `reset` returns `level`, the
    level as text, besides.
    """

    metadata = METADATA

    def __init__(
        self,
        *,
        levels: str | os.PathLike | None = None,
        obs_type: Literal["vector", "pixels"] = "vector",
        core: str | os.PathLike = CORE,
        render_mode: Literal["rgb_array", "ansi"] | None = None,
    ):
        """Makes the environment.

        Args:
            levels: A level as a text file; or the `archive.npz` of a run, of which each episode draws an elite. None
                draws a new level for each episode, as those that a generator learns from; some cannot be won.
            obs_type: `vector`, or `pixels` for networks with convolutions.
            core: The native core.
            render_mode: What `render` returns: `rgb_array`, (256, 256, 3), the screen; `ansi`, the level; or None.

        Raises:
            NeurozooError: A choice is unknown, or `levels` is missing or holds none.
        """
        for kind, choice, choices in (
            ("obs_type", obs_type, ("vector", "pixels")), ("render_mode", render_mode, METADATA["render_modes"]),
        ):  # fmt: skip
            if choice not in choices and (kind, choice) != ("render_mode", None):
                raise unknown_name(kind, str(choice), choices)
        self.render_mode = render_mode
        self._levels = None if levels is None else _read_levels(Path(levels))
        self._core = core
        self.action_space = spaces.Discrete(len(ACTIONS))
        self._shows_pixels = obs_type == "pixels"
        if self._shows_pixels:
            self.observation_space = spaces.Box(0, 255, PICTURE_SHAPE, np.uint8)
        else:
            self.observation_space = spaces.Box(-1, 1, (NUM_SENSED,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        """Starts an episode; see `gymnasium.Env.reset`. The seed decides the level."""
        super().reset(seed=seed)
        if self._levels is None:
            self._level = without_wrong_ends(draw_windows(self.np_random, 1))[0]
        else:
            self._level = self._levels[self.np_random.integers(len(self._levels))]
        self.game = PlatformerGame(self._level, core=self._core)
        self._buttons = 0
        return self._observe(), {**self._info(), "level": to_text(self._level)}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Plays four ticks; see `gymnasium.Env.step`."""
        if not hasattr(self, "game"):
            raise gymnasium.error.ResetNeeded("Call reset before the first step.")
        if not self.action_space.contains(action):
            raise gymnasium.error.InvalidAction(f"Actions go from 0 to {len(ACTIONS) - 1}, but this one is {action}.")
        before = self.game.completion
        self._buttons = list(ACTIONS.values())[int(action)]
        self.game.press(self._buttons, ticks=TICKS_PER_STEP)
        reward = 100 * (self.game.completion - before)
        return self._observe(), reward, self.game.is_over, False, self._info()

    def get_action_meanings(self) -> list[str]:
        """Returns the names of the actions, as environments of Atari games do."""
        return list(ACTIONS)

    def render(self) -> np.ndarray | str | None:
        """Draws or prints the level; see `gymnasium.Env.render`."""
        if self.render_mode == "rgb_array":
            return self.game.screen()
        return to_text(self._level) if self.render_mode == "ansi" else None

    def _observe(self) -> np.ndarray:
        if self._shows_pixels:
            return draw_pixels(self.game.now, self.game.finish_column)
        return look_around(self.game.now, holds_jump=bool(self._buttons & JUMP))

    def _info(self) -> dict:
        status = self.game.status
        return {"status": status, "completion": self.game.completion, "ticks": self.game.tick, "is_won": status == WON}


def _read_levels(path: Path) -> np.ndarray:
    """Returns the levels of a text file or an archive: uint8, shape (levels, 16, 56)."""
    if path.suffix != ".npz":
        return read_level(path)[None]
    try:
        levels = read_npz(path)["metadata_level"]
    except (*DAMAGE, OSError) as error:
        raise NeurozooError(
            f"{path} holds no platform levels ({error}). Name the archive.npz of a run of the game mario, or a "
            "text file."
        ) from error
    if not len(levels):
        raise NeurozooError(f"{path} holds no levels, since its run found none. Name the archive of another run.")
    return checked_levels(levels, source=str(path))
