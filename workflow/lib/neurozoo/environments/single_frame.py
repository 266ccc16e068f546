"""Base class of the environments that are not Atari games: each step is one frame, and there are no no-ops."""

from abc import ABC, abstractmethod

import numpy as np

from neurozoo.environments.observations import observation_shape
from neurozoo.environments.protocols import Protocol, output_names
from neurozoo.errors import NeurozooError


def largest(outputs: np.ndarray) -> int:
    """Returns the index of the largest output (of equal ones the first). The comparison is that of the native op."""
    values = np.asarray(outputs).tolist()
    return values.index(max(values))


class SingleFrameWorld(ABC):
    """Counts steps and stacks planes; a subclass plays the game. See `World`.

    Attributes:
        is_truncated: Whether a limit of steps has ended the episode.
    """

    ram = np.zeros(0, np.uint8)

    def __init__(self, game: str, protocol: Protocol):
        self.game = game
        self.protocol = protocol
        self.shape = observation_shape(game, protocol)
        self.num_outputs = len(output_names(game, protocol))
        self.steps = 0
        self.is_done = True
        self.is_truncated = False

    @abstractmethod
    def _start(self, seed: int) -> None:
        """Starts an episode of the game."""

    @abstractmethod
    def _play(self, outputs: np.ndarray, is_last: bool) -> tuple[float, bool]:
        """Plays one step and returns the reward and whether the episode is over.

        `is_last` is true in the step that reaches the frame limit.
        """

    @abstractmethod
    def _new_plane(self) -> np.ndarray:
        """Draws the newest plane: float32, `shape.plane`."""

    @property
    def final_positions(self) -> np.ndarray:
        """Empty unless the game has positions: float32, shape (0, 0)."""
        return np.zeros((0, 0), np.float32)

    @property
    def attempts_left(self) -> int:
        """Attempts of the episode that have not ended; 0 in games with one."""
        return 0

    @property
    def frames(self) -> int:
        """Frames since the episode's start."""
        return self.steps

    @property
    def observation(self) -> np.ndarray:
        """The last planes, oldest first; zeros before the first plane: float32, `shape.observation`."""
        return np.concatenate(self._planes, axis=-1)

    @property
    def plane(self) -> np.ndarray:
        """The newest plane: float32, `shape.plane`."""
        return self._planes[-1]

    def reset(self, *, noops: int = 0, seed: int = 0) -> np.ndarray:
        """Starts an episode and returns the first observation. `noops` has no effect.

        Raises:
            NeurozooError: `noops` or `seed` is negative.
        """
        if noops < 0 or seed < 0:
            raise NeurozooError(f"noops and seed should be 0 or more, but got noops={noops} and seed={seed}.")
        self.is_truncated = False
        self._start(seed)
        self.steps = 0
        self.is_done = False
        self._planes = [np.zeros(self.shape.plane, np.float32)] * (self.shape.stack - 1) + [self._new_plane()]
        return self.observation

    def act(self, outputs: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """Plays one step and returns the observation, the reward and whether the episode is over; see `World`.

        Raises:
            NeurozooError: The episode is over, or the shape of the outputs is not (num_outputs,).
        """
        if self.is_done:
            raise NeurozooError("The episode is over; call reset() to start the next one.")
        if np.shape(outputs) != (self.num_outputs,):
            raise NeurozooError(
                f"{self.game} takes {self.num_outputs} outputs, but got an array of shape {np.shape(outputs)}."
            )
        is_last = self.steps + 1 >= self.protocol.max_frames
        reward, is_over = self._play(outputs, is_last)
        self.steps += 1
        self.is_done = is_over or is_last
        self.is_truncated |= is_last
        self._planes = [*self._planes[1:], self._new_plane()]
        return self.observation, reward, self.is_done

    def close(self) -> None:  # noqa: B027  # most games hold nothing
        """Gives back what the game holds."""
