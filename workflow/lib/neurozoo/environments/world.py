"""The interface of environments that are played step by step, and what the games that are not Atari's share."""

from abc import ABC, abstractmethod

import numpy as np

from neurozoo.environments.observations import observation_shape
from neurozoo.environments.protocols import Protocol, output_names
from neurozoo.errors import NeurozooError


def largest(outputs: np.ndarray) -> int:
    """Returns the index of the largest output (of equal ones the first). The comparison is that of the native core."""
    values = np.asarray(outputs).tolist()
    return values.index(max(values))


class World(ABC):
    """An environment: one game under one protocol. An episode depends only on them, `noops` and `seed`.

    Attributes:
        protocol: Its `max_frames` may be replaced between episodes.
        shape: Shape of an observation.
        num_outputs: Number of network outputs that `act` takes.
        steps: Steps since the episode's start.
        frames: Frames since the episode's start, after no-ops.
        is_done: Whether the episode is over.
    """

    _planes: list[np.ndarray]

    def __init__(self, game: str, protocol: Protocol):
        self.game = game
        self.protocol = protocol
        self.shape = observation_shape(game, protocol)
        self.num_outputs = len(output_names(game, protocol))
        self.steps = self.frames = 0
        self.is_done = True

    @property
    @abstractmethod
    def screen(self) -> np.ndarray:
        """A picture for people, in colour: uint8, `screen_shape`."""

    @property
    @abstractmethod
    def screen_shape(self) -> tuple[int, int, int]:
        """(height, width, 3)."""

    @property
    def observation(self) -> np.ndarray:
        """The last planes, oldest first: float32, `shape.observation`."""
        return np.concatenate(self._planes, axis=-1)

    @property
    def plane(self) -> np.ndarray:
        """The newest plane: float32, `shape.plane`."""
        return self._planes[-1]

    @property
    def ram(self) -> np.ndarray:
        """The console's memory: uint8, shape (bytes,); (0,) for games without it."""
        return np.zeros(0, np.uint8)

    def set_ram(self, address: int, value: int) -> None:
        """Writes a byte of the console's memory.

        Raises:
            NeurozooError: The game has no such memory.
        """
        raise NeurozooError(f"{self.game} has no console memory that could be changed.")

    @property
    def final_positions(self) -> np.ndarray:
        """float32, (rows, coordinates): see `EpisodeResult.behaviour`; (0, 0) for games without it."""
        return np.zeros((0, 0), np.float32)

    def reset(self, *, noops: int = 0, seed: int = 0) -> np.ndarray:
        """Starts an episode.

        Args:
            noops: Number of single-frame no-ops at the start, in Atari games.
            seed: Seed of everything random.

        Returns:
            The first observation: planes of zeros, or copies of the first plane, and then the first plane.

        Raises:
            NeurozooError: `noops` or `seed` is negative.
        """
        if noops < 0 or seed < 0:
            raise NeurozooError(f"noops and seed should be 0 or more, but got noops={noops} and seed={seed}.")
        self._start(seed, noops)
        self.steps = self.frames = 0
        self.is_done = False
        first = self._new_plane()
        before = first if self.shape.repeats_first else np.zeros(self.shape.plane, np.float32)
        self._planes = [before] * (self.shape.stack - 1) + [first]
        return self.observation

    @abstractmethod
    def act(self, outputs: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """Plays one step with a network's outputs.

        Args:
            outputs: float32, shape (num_outputs,). The largest chooses the action (of equal ones the first);
                continuous outputs are all used.

        Returns:
            The observation, the reward in points, and whether the episode is over.

        Raises:
            NeurozooError: The episode is over, or the outputs have another shape.
        """

    def save(self) -> tuple | None:
        """Returns the state of the running episode, which can be copied and pickled; None in games that cannot."""
        return None

    def restore(self, saved: tuple) -> None:
        """Goes back to the state that `save` returned. Arrays and generators in it are the world's from then on."""
        raise NeurozooError(f"{self.game} has no states that could be restored.")

    def close(self) -> None:  # noqa: B027  # most games hold nothing
        """Gives back what the game holds, such as windows and processes; afterwards it cannot be played."""

    @abstractmethod
    def _start(self, seed: int, noops: int) -> None:
        """Starts an episode of the game."""

    @abstractmethod
    def _new_plane(self) -> np.ndarray:
        """Draws the newest plane: float32, `shape.plane`."""

    def _check_running(self) -> None:
        if self.is_done:
            raise NeurozooError("The episode is over; call reset() to start the next one.")

    def _check_outputs(self, outputs: np.ndarray) -> None:
        if np.shape(outputs) != (self.num_outputs,):
            raise NeurozooError(
                f"{self.game} takes {self.num_outputs} outputs, but got an array of shape {np.shape(outputs)}."
            )


class SingleFrameWorld(World):
    """A game whose steps are single frames, and whose episodes begin without no-ops; a subclass plays it.

    Attributes:
        is_truncated: Whether a limit of steps has ended the episode.
    """

    is_truncated = False

    @property
    def attempts_left(self) -> int:
        """Attempts of the episode that have not ended; 0 in games with one."""
        return 0

    @abstractmethod
    def _play(self, outputs: np.ndarray, is_last: bool) -> tuple[float, bool]:
        """Plays one step and returns the reward and whether the episode is over.

        `is_last` is true in the step that reaches the frame limit.
        """

    def reset(self, *, noops: int = 0, seed: int = 0) -> np.ndarray:
        """Starts an episode; see `World.reset`."""
        self.is_truncated = False
        return super().reset(noops=noops, seed=seed)

    def act(self, outputs: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """Plays one step; see `World.act`."""
        self._check_running()
        self._check_outputs(outputs)
        is_last = self.steps + 1 >= self.protocol.max_frames
        reward, is_over = self._play(outputs, is_last)
        self.steps = self.frames = self.steps + 1
        self.is_done = is_over or is_last
        self.is_truncated |= is_last
        self._planes = [*self._planes[1:], self._new_plane()]
        return self.observation, reward, self.is_done
