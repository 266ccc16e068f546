"""What the worlds that are not Atari games have in common: a step is a frame, and nothing happens before the first."""

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.games import Protocol, observation_shape, output_names


def largest(outputs: np.ndarray) -> int:
    """Returns the index of the largest output, the first of equals, as the native op compares them."""
    values = np.asarray(outputs).tolist()
    return values.index(max(values))


class SingleFrameWorld:
    """Counts steps and stacks planes; a subclass plays. See `World`.

    A subclass has `_start(seed)`, `_play(outputs, is_last) -> (reward, is_over)`, where `is_last` says that the frame
    limit is reached, and `_new_plane()`.
    """

    ram = np.zeros(0, np.uint8)
    final_positions = np.zeros((0, 0), np.float32)

    def __init__(self, game: str, protocol: Protocol):
        self.game = game
        self.protocol = protocol
        self.shape = observation_shape(game, protocol)
        self.num_outputs = len(output_names(game, protocol))
        self.steps = 0
        self.is_done = True

    @property
    def frames(self) -> int:
        """Frames since the episode's start."""
        return self.steps

    @property
    def observation(self) -> np.ndarray:
        """The last planes, oldest first, zeros before the first: float32, `shape.observation`."""
        return np.concatenate(self._planes, axis=-1)

    @property
    def plane(self) -> np.ndarray:
        """The newest plane: float32, `shape.plane`."""
        return self._planes[-1]

    def reset(self, *, noops: int = 0, seed: int = 0) -> np.ndarray:
        """Starts an episode and returns the first observation. `noops` changes nothing.

        Raises:
            NeurozooError: `noops` or `seed` is negative.
        """
        if noops < 0 or seed < 0:
            raise NeurozooError(
                f"An episode starts with noops >= 0 and seed >= 0, but noops={noops}, seed={seed} came."
            )
        self._start(seed)
        self.steps = 0
        self.is_done = False
        self._planes = [np.zeros(self.shape.plane, np.float32)] * (self.shape.stack - 1) + [self._new_plane()]
        return self.observation

    def act(self, outputs: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """Does what a network's outputs say and returns the observation, the reward and whether the episode is over.

        Raises:
            NeurozooError: The episode is over, or the outputs have another shape than (num_outputs,).
        """
        if self.is_done:
            raise NeurozooError("The episode is over; call reset() to start the next one.")
        if np.shape(outputs) != (self.num_outputs,):
            raise NeurozooError(f"{self.game} takes {self.num_outputs} outputs, but shape {np.shape(outputs)} came.")
        is_last = self.steps + 1 >= self.protocol.max_frames
        reward, is_over = self._play(outputs, is_last)
        self.steps += 1
        self.is_done = is_over or is_last
        self._planes = [*self._planes[1:], self._new_plane()]
        return self.observation, reward, self.is_done
