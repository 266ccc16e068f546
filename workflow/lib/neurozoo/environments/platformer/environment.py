"""The platform game as a Gymnasium environment."""

import os
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from neurozoo.environments.platformer.corpus import draw_window
from neurozoo.environments.games import PICTURE_SHAPE
from neurozoo.environments.platformer.game import TICKS_PER_SECOND, PlatformerGame
from neurozoo.environments.platformer.pixels import draw_pixels
from neurozoo.environments.platformer.simulator import JUMP, KINDS, LEFT, OPS, RIGHT, SPEED, TILES, WON
from neurozoo.environments.platformer.tiles import HEIGHT, TILE_SIZE, WIDTH, read_level, to_text, without_wrong_ends
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.npz_files import DAMAGE, read_npz

ACTIONS = {
    "NOOP": 0, "RIGHT": RIGHT, "RIGHT+JUMP": RIGHT | JUMP, "RIGHT+SPEED": RIGHT | SPEED,
    "RIGHT+SPEED+JUMP": RIGHT | SPEED | JUMP, "JUMP": JUMP, "LEFT": LEFT, "LEFT+JUMP": LEFT | JUMP,
}  # fmt: skip
TICKS_PER_STEP = 4
# What the runner sees, in tiles from the one with its feet
ABOVE, BELOW, BEHIND, AHEAD = 6, 3, 2, 8
VIEW = (ABOVE + 1 + BELOW, BEHIND + 1 + AHEAD)
_NUMBERS = 7  # of an observation besides both views
_SEE_THROUGH = ("air", "coin", "hidden_coin", "hidden_life")
_ENEMIES = ("goomba", "green_koopa", "red_koopa", "spiky", "shell", "bullet")
_ITEMS = ("mushroom", "life_mushroom", "flower")
_BLOCKS = np.array([0.5 if name == "platform" else float(name not in _SEE_THROUGH) for name in TILES], np.float32)
_MEANS = np.array([float(name in _ENEMIES) - float(name in _ITEMS) for name in KINDS], np.float32)
_FASTEST = (11.0, 16.0)  # pixels per tick, along and down
_ARCHIVE_GROWTH = 1000  # times that an archive may grow when it is unpacked: levels are mostly air
METADATA: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": TICKS_PER_SECOND // TICKS_PER_STEP}


class PlatformerEnvironment(gymnasium.Env):
    """The platform game as `neurozoo/Platformer-v0`, and as the game `gym.Platformer-v0`.

    With `obs_type="pixels"` it is `neurozoo/PlatformerPixels-v0` and `gym.PlatformerPixels-v0`: an observation is a grey
    picture (see `pixels.draw_pixels`), uint8, (84, 84).

    Otherwise, an observation has 227 numbers from -1 to 1. The first 110 say what blocks in 10 x 11 tiles around the runner's
    feet, row by row, from 6 rows above to 3 below and from 2 columns behind to 8 ahead: 1 blocks, 0.5 stops only what
    falls. The next 110 say what moves there: 1 for what hurts, -1 for what helps. Then there are the speed along and
    down, how strong the runner is, whether it is protected, whether JUMP is held, and where in its tile its feet are,
    along and down.

    An action holds the buttons of `ACTIONS` for four ticks. Whoever holds JUMP jumps once; it must be let go before the
    next jump. The reward is the way gained, in percent of the way to the finish, so whoever wins scores nearly 100.
    The episode ends when the game does, after 167 steps at most.

    `info` has `status` (1 won, 2 lost, 3 time is out), `completion`, `ticks` and `is_won`. `reset` returns `level`, the
    level as text, besides.
    """

    metadata = METADATA

    def __init__(
        self,
        *,
        levels: str | os.PathLike | None = None,
        obs_type: Literal["vector", "pixels"] = "vector",
        ops: str | os.PathLike = OPS,
        render_mode: Literal["rgb_array", "ansi"] | None = None,
    ):
        """Makes the environment.

        Args:
            levels: A level as a text file; or the `archive.npz` of a run, of which each episode draws an elite. None
                draws a new level for each episode, as those that a generator learns from; some cannot be won.
            obs_type: `vector`, or `pixels` for networks with convolutions.
            ops: The op library.
            render_mode: What `render` returns: `rgb_array`, (256, 896, 3); `ansi`, the level as text; or None.

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
        self._ops = ops
        self.action_space = spaces.Discrete(len(ACTIONS))
        self._shows_pixels = obs_type == "pixels"
        if self._shows_pixels:
            self.observation_space = spaces.Box(0, 255, PICTURE_SHAPE, np.uint8)
        else:
            self.observation_space = spaces.Box(-1, 1, (2 * VIEW[0] * VIEW[1] + _NUMBERS,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        """Starts an episode; see `gymnasium.Env.reset`. The seed decides the level."""
        super().reset(seed=seed)
        if self._levels is None:
            self._level = without_wrong_ends(draw_window(self.np_random)[None])[0]
        else:
            self._level = self._levels[self.np_random.integers(len(self._levels))]
        self.game = PlatformerGame(self._level, ops=self._ops)
        self._buttons = 0
        return self._observe(), {**self._info(), "level": to_text(self._level)}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Plays four ticks; see `gymnasium.Env.step`."""
        before = self.game.completion
        self._buttons = list(ACTIONS.values())[int(action)]
        self.game.press(self._buttons, ticks=TICKS_PER_STEP)
        reward = 100 * (self.game.completion - before)
        return self._observe(), reward, self.game.is_over, False, self._info()

    def render(self) -> np.ndarray | str | None:
        """Draws or prints the level; see `gymnasium.Env.render`."""
        if self.render_mode == "rgb_array":
            return self.game.picture()
        return to_text(self._level) if self.render_mode == "ansi" else None

    def _observe(self) -> np.ndarray:
        return draw_pixels(self.game.now, self.game.finish_column) if self._shows_pixels else self._vector()

    def _vector(self) -> np.ndarray:
        seen = self.game.now
        x, y, vx, vy = seen.position[-1].tolist()
        row, column = int(y // TILE_SIZE), int(x // TILE_SIZE)
        rows = np.arange(row - ABOVE, row + BELOW + 1)
        columns = np.arange(column - BEHIND, column + AHEAD + 1)
        is_inside = (rows >= 0) & (rows < HEIGHT)  # above and below the level there is nothing
        tiles = seen.tiles[-1][np.ix_(np.clip(rows, 0, HEIGHT - 1), np.clip(columns, 0, WIDTH - 1))]
        moving = np.zeros(VIEW, np.float32)
        for sprite in seen.sprites[-1]:
            place = int(sprite["y"] // TILE_SIZE) - rows[0], int(sprite["x"] // TILE_SIZE) - columns[0]
            if _MEANS[int(sprite["kind"])] and 0 <= place[0] < VIEW[0] and 0 <= place[1] < VIEW[1]:
                moving[place] = _MEANS[int(sprite["kind"])]
        numbers = (
            vx / _FASTEST[0], vy / _FASTEST[1], seen.power[-1] / 2, seen.is_protected[-1], bool(self._buttons & JUMP),
            x % TILE_SIZE / TILE_SIZE, y % TILE_SIZE / TILE_SIZE,
        )  # fmt: skip
        observation = np.concatenate([(_BLOCKS[tiles] * is_inside[:, None]).ravel(), moving.ravel(), numbers])
        return np.clip(observation, -1, 1).astype(np.float32)

    def _info(self) -> dict:
        game = self.game
        return {
            "status": game.status, "completion": game.completion, "ticks": game.tick, "is_won": game.status == WON,
        }  # fmt: skip


def _read_levels(path: Path) -> np.ndarray:
    """Returns the levels of a text file or an archive: uint8, shape (levels, 16, 56)."""
    if path.suffix != ".npz":
        return read_level(path)[None]
    try:
        levels = read_npz(path, growth=_ARCHIVE_GROWTH)["metadata_level"]
    except (*DAMAGE, OSError) as error:
        raise NeurozooError(
            f"{path} holds no platform levels ({error}). Name the archive.npz of a run of the game mario, or a "
            "text file."
        ) from error
    if levels.shape[1:] != (HEIGHT, WIDTH) or not len(levels):
        raise NeurozooError(f"{path} holds no platform levels. Name the archive.npz of a run of the game mario.")
    return levels
