"""Wraps Gymnasium environments, with vectors or pictures as observations, as a `World`."""

import gymnasium
import numpy as np

from neurozoo.environments.games import gymnasium_id
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.single_frame import SingleFrameWorld, largest


class GymnasiumWorld(SingleFrameWorld):
    """A Gymnasium environment, see `World`.

    The largest output chooses a discrete action; continuous actions are the outputs, clipped to their bounds. The
    environment draws its random numbers from the episode's seed. Pictures become numbers from 0 to 1.
    """

    def __init__(self, game: str, protocol: Protocol):
        super().__init__(game, protocol)
        self._environment = _make(gymnasium_id(game))
        self._can_draw = self._environment.render_mode is not None
        self._seen = np.zeros(self.shape.plane, np.uint8 if self.shape.height > 1 else np.float32)
        self._environment.reset(seed=0)  # makes the shape of the screen known

    @property
    def screen(self) -> np.ndarray:
        """The environment's picture: uint8, (height, width, 3); black if it cannot be drawn on this machine."""
        black = np.zeros((84, 84, 3), np.uint8)
        if not self._can_draw:
            return black
        try:
            picture = self._environment.render()
        except Exception:  # optional packages and graphics drivers are missing, and each library raises its own kind
            self._can_draw = False
            return black
        return np.asarray(picture, np.uint8)

    @property
    def screen_shape(self) -> tuple[int, int, int]:
        """(height, width, 3) of `screen`."""
        return self.screen.shape

    def _start(self, seed: int) -> None:
        self._seen, _ = self._environment.reset(seed=seed)

    def _play(self, outputs: np.ndarray, is_last: bool) -> tuple[float, bool]:
        space = self._environment.action_space
        if isinstance(space, gymnasium.spaces.Discrete):
            action: int | np.ndarray = largest(outputs)
        else:
            assert isinstance(space, gymnasium.spaces.Box)  # the constructor refuses other spaces
            action = np.clip(np.nan_to_num(outputs), space.low, space.high).astype(space.dtype)
        self._seen, reward, is_terminated, is_truncated, _ = self._environment.step(action)
        self.is_truncated = bool(is_truncated and not is_terminated)
        return float(reward), bool(is_terminated or is_truncated)

    def _new_plane(self) -> np.ndarray:
        plane = np.asarray(self._seen, np.float32).reshape(self.shape.plane)
        return plane / np.float32(255) if self.shape.height > 1 else plane


def _make(identifier: str) -> gymnasium.Env:
    environment = gymnasium.make(identifier)
    if "rgb_array" in environment.metadata.get("render_modes", ()):
        environment.close()
        environment = gymnasium.make(identifier, render_mode="rgb_array")
    return environment
