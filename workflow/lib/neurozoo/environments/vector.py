"""Environments that step together, for learners: the interface, and Atari games."""

import functools
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Discrete

from neurozoo.environments.protocols import Protocol
from neurozoo.errors import NeurozooError
from neurozoo.randomness import MAX_SEED

SeedOf = Callable[[int, int], int]  # from environment and episode


class Step(NamedTuple):
    """The results of one step of all environments. Arrays have shape (num_envs,)."""

    rewards: np.ndarray  # points, float32
    is_over: np.ndarray  # whether the game is over (terminated)
    is_cut: np.ndarray  # whether the protocol's frame limit ended the episode before the game was over (truncated)
    is_life_lost: np.ndarray  # whether the agent has fewer lives than before the step


class VectorEnvironment(ABC):
    """Copies of a game that step together, with a state that can be saved and restored exactly."""

    count: int  # number of environments, below called num_envs
    num_actions: int  # number of actions
    lives: np.ndarray  # lives left, shape (num_envs,)
    episodes: np.ndarray  # number of the current episode of each environment, from 0
    # Whether a limit of steps only stops an episode, so that learners count what would have followed. In Atari games it
    # ends them, which is the convention of the field.
    limits_only_stop = False
    # Observations: uint8, shape (num_envs, channels, height, width). Of games with screens (num_envs, 4, 84, 84),
    # oldest screen first; zeros before the first screen.
    stacks: np.ndarray

    @property
    def screens(self) -> np.ndarray:
        """The newest screens: uint8, shape (num_envs, height, width); 84 x 84 in games that have screens."""
        return self.stacks[:, -1]

    def start_episodes(self, mask: np.ndarray) -> None:
        """Ends the episodes of some environments and starts their next ones; `mask` is bool, shape (num_envs,)."""
        self.episodes[mask] += 1
        self._reset(mask)

    @abstractmethod
    def send(self, actions: np.ndarray) -> None:
        """Starts a step of all environments with indices of actions, shape (num_envs,), and returns at once."""

    @abstractmethod
    def receive(self) -> Step:
        """Waits for the results of the step. Call `start_episodes` next for environments whose episode has ended."""

    @abstractmethod
    def get_state(self) -> dict:
        """Returns the state, except what `get_arrays` returns, as plain JSON."""

    @abstractmethod
    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state: of games with screens the actions since the starts of the episodes."""

    @abstractmethod
    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned.

        Raises:
            NeurozooError: The screens differ from those of the saved state.
        """

    def close(self) -> None:  # noqa: B027  # mazes hold nothing
        """Frees the environments."""

    @abstractmethod
    def _reset(self, mask: np.ndarray) -> None:
        """Starts the current episodes of some environments."""


class ReplayedVectorEnvironment(VectorEnvironment):
    """Copies of a game whose state is the actions since the starts of their episodes, which are played again.

    Every episode has a seed of its own, from `seed_of`. The state of the game itself is never saved.
    """

    action_type: type = np.uint8  # of saved actions

    def __init__(self, count: int, seed_of: SeedOf) -> None:
        self.count = count
        self.episodes = np.zeros(count, np.int64)
        self._seed_of = seed_of
        self._played: list[list[int]] = [[] for _ in range(count)]

    def start_episodes(self, mask: np.ndarray) -> None:
        """Ends the episodes of some environments and starts their next ones."""
        for index in np.flatnonzero(mask):
            self._played[index] = []
        super().start_episodes(mask)

    def get_state(self) -> dict:
        """Returns which episodes the environments are in, and a checksum of what they show."""
        lengths = [len(actions) for actions in self._played]
        return {"episodes": self.episodes.tolist(), "lengths": lengths, "seen": self._checksum()}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the actions since the starts of the episodes, one environment after the other."""
        return {"actions": np.array(list(chain.from_iterable(self._played)), self.action_type)}

    def _checksum(self) -> int:
        return zlib.crc32(np.ascontiguousarray(self.stacks).data)


def split_actions(state: Mapping, arrays: Mapping[str, np.ndarray]) -> list[list[int]]:
    """Returns the actions of each environment, from the state of a `ReplayedVectorEnvironment`."""
    return [each.tolist() for each in np.split(arrays["actions"], np.cumsum(state["lengths"])[:-1])]


class AtariVectorEnvironment(ReplayedVectorEnvironment):
    """Plays several copies of an Atari game, which step together in C++ threads.

    The core plays them, or ale-py's vector environment, which takes twice the time. Both play the same to the bit, so a
    state of one can be continued with the other. For the arguments see `make_vector_environment`.

    Raises:
        NeurozooError: ale-py's vector environment cannot play the protocol.
    """

    def __init__(
        self,
        game: str,
        protocol: Protocol,
        *,
        count: int,
        threads: int,
        seed_of: SeedOf,
        core: Path | None = None,
    ) -> None:
        if protocol.world != "atari" or protocol.preprocessing != "area" or protocol.presses_fire:
            raise NeurozooError(
                f"ale-py's vector environment does not play {game!r} under {protocol.name!r}. Choose machado2018."
            )
        self._needs_noops = protocol.max_noops > 0
        self._environment = _maker(core)(
            game,
            count,
            num_threads=min(threads, count),
            max_num_frames_per_episode=protocol.max_frames,
            repeat_action_probability=protocol.sticky_probability,
            full_action_space=protocol.action_set == "full",
            frameskip=protocol.frame_skip,
            noop_max=protocol.max_noops + self._needs_noops,  # ale-py draws fewer than this
        )
        actions = self._environment.single_action_space
        assert isinstance(actions, Discrete)  # all Atari games have buttons
        self.num_actions = int(actions.n)
        super().__init__(count, seed_of)
        self._reset(np.ones(count, bool))

    def _reset(self, mask: np.ndarray) -> None:
        chosen = np.flatnonzero(mask)
        seeds = np.array([self._seed_of(index, int(self.episodes[index])) for index in chosen.tolist()], np.int64)
        while len(chosen):
            mask = np.isin(np.arange(self.count), chosen)
            self.stacks, info = self._environment.reset(seed=seeds, options={"reset_mask": mask})
            if not self._needs_noops:
                break
            is_too_early = info["episode_frame_number"][chosen] == 0  # the protocol wants at least one no-op
            chosen, seeds = chosen[is_too_early], (seeds[is_too_early] + 1) % MAX_SEED
        self.lives = info["lives"].copy()

    def send(self, actions: np.ndarray) -> None:
        """Starts a step of all environments and returns at once."""
        for played, action in zip(self._played, actions.tolist(), strict=True):
            played.append(action)
        self._environment.send(actions.astype(np.int32))

    def receive(self) -> Step:
        """Waits for the results of the step."""
        self.stacks, rewards, is_over, is_cut, info = self._environment.recv()
        is_life_lost = info["lives"] < self.lives
        self.lives = info["lives"].copy()
        return Step(rewards.astype(np.float32), is_over.copy(), is_cut & ~is_over, is_life_lost)

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Restores the state by playing its actions again."""
        lengths = state["lengths"]
        self.episodes = np.array(state["episodes"], np.int64)
        self._played = split_actions(state, arrays)
        longest = max(lengths)
        for step in range(longest + 1):
            starts = np.array([longest - length == step for length in lengths])
            if starts.any():  # short episodes start later, so that all end together
                self._reset(starts)
            if step < longest:
                actions = [a[step - longest + len(a)] if step >= longest - len(a) else 0 for a in self._played]
                self._environment.send(np.array(actions, np.int32))
                self.stacks, *_, info = self._environment.recv()
                self.lives = info["lives"].copy()
        if self._checksum() != state["seen"]:
            raise NeurozooError(
                "The games cannot be continued: the same actions now lead to other screens. Was ale-py updated since "
                "the run was interrupted? Use the version in its config.yaml."
            )

    def close(self) -> None:
        """Ends the threads."""
        self._environment.close()


def _maker(core: Path | None) -> Callable[..., Any]:
    """Returns what makes the environments: the core, or ale-py."""
    if core is not None:
        from neurozoo.environments.native_vector import NativeVectorEnv

        return functools.partial(NativeVectorEnv, core)
    from ale_py import ALEInterface, LoggerMode
    from ale_py.vector_env import AtariVectorEnv

    ALEInterface.setLoggerMode(LoggerMode.Error)
    return functools.partial(AtariVectorEnv, use_fire_reset=False, reward_clipping=False)
