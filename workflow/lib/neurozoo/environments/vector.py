"""Several games of ale-py's vector environment side by side, which can be continued exactly."""

import zlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.games import Protocol

SeedOf = Callable[[int, int], int]


class Step(NamedTuple):
    """What came of one decision in every world; arrays have shape (worlds,).

    Attributes:
        rewards: Points, float32.
        is_over: Whether the game is over.
        is_cut: Whether it was ended by the protocol's limit only.
        is_life_lost: Whether there are fewer lives than before.
    """

    rewards: np.ndarray
    is_over: np.ndarray
    is_cut: np.ndarray
    is_life_lost: np.ndarray


class VectorWorlds:
    """Games of an Atari protocol, one decision of each at a time, in threads of C++.

    Every episode has a seed of its own, drawn by its address. So a world's state is the number of its episode and the
    actions since it began, which are played again to continue: the emulator's own state is never saved.

    Args:
        game: Game id such as `pong`.
        protocol: How episodes are played.
        count: Worlds.
        threads: Threads of the emulators.
        seed_of: Function from world and episode to the seed of that episode.

    Attributes:
        stacks: uint8, shape (worlds, 4, 84, 84): what is to be seen, oldest screen first, zeros before the first.
        lives: Lives left, shape (worlds,).
        episodes: Number of each world's episode, from 0.

    Raises:
        NeurozooError: The protocol is none that ale-py's vector environment plays.
    """

    def __init__(self, game: str, protocol: Protocol, *, count: int, threads: int, seed_of: SeedOf) -> None:
        from ale_py import ALEInterface, LoggerMode
        from ale_py.vector_env import AtariVectorEnv

        if protocol.world != "atari" or protocol.preprocessing != "area" or protocol.presses_fire:
            raise NeurozooError(
                f"ale-py's vector environment does not play {game!r} under {protocol.name!r}; choose machado2018."
            )
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self._environment = AtariVectorEnv(
            game,
            count,
            num_threads=min(threads, count),
            max_num_frames_per_episode=protocol.max_frames,
            repeat_action_probability=protocol.sticky_probability,
            full_action_space=protocol.action_set == "full",
            frameskip=protocol.frame_skip,
            noop_max=protocol.max_noops,
            use_fire_reset=False,
            reward_clipping=False,
        )
        self.count = count
        self.num_actions = int(self._environment.single_action_space.n)
        self.episodes = np.zeros(count, np.int64)
        self._seed_of = seed_of
        self._played: list[list[int]] = [[] for _ in range(count)]
        self._reset(np.ones(count, bool))

    def _reset(self, mask: np.ndarray) -> None:
        chosen = np.flatnonzero(mask)
        seeds = np.array([self._seed_of(world, int(self.episodes[world])) for world in chosen], np.int64)
        self.stacks, info = self._environment.reset(seed=seeds, options={"reset_mask": mask})
        self.lives = info["lives"].copy()

    @property
    def screens(self) -> np.ndarray:
        """The newest screens: uint8, shape (worlds, 84, 84)."""
        return self.stacks[:, -1]

    def start_episodes(self, mask: np.ndarray) -> None:
        """Ends the episodes of some worlds and starts their next ones.

        Args:
            mask: bool, shape (worlds,).
        """
        self.episodes[mask] += 1
        for world in np.flatnonzero(mask):
            self._played[world] = []
        self._reset(mask)

    def send(self, actions: np.ndarray) -> None:
        """Hands out a decision for each world and returns at once.

        Args:
            actions: Indices into the protocol's action set, shape (worlds,).
        """
        for played, action in zip(self._played, actions.tolist(), strict=True):
            played.append(action)
        self._environment.send(actions.astype(np.int32))

    def receive(self) -> Step:
        """Waits for what came of the decisions; worlds whose episode has ended need `start_episodes` next."""
        self.stacks, rewards, is_over, is_cut, info = self._environment.recv()
        is_life_lost = info["lives"] < self.lives
        self.lives = info["lives"].copy()
        return Step(rewards.astype(np.float32), is_over.copy(), is_cut & ~is_over, is_life_lost)

    def get_state(self) -> dict:
        """Returns where the worlds are, but for `get_arrays`, as plain JSON."""
        return {
            "episodes": self.episodes.tolist(),
            "lengths": [len(played) for played in self._played],
            "seen": zlib.crc32(np.ascontiguousarray(self.stacks)),
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the actions since the episodes began, world after world: uint8."""
        return {"actions": np.array([action for played in self._played for action in played], np.uint8)}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Plays all worlds to where they were.

        Raises:
            NeurozooError: Something else is to be seen there than before.
        """
        lengths = state["lengths"]
        self.episodes = np.array(state["episodes"], np.int64)
        played = np.split(arrays["actions"], np.cumsum(lengths)[:-1])
        self._played = [actions.tolist() for actions in played]
        longest = max(lengths)
        for step in range(longest + 1):
            starts = np.array([longest - length == step for length in lengths])
            if starts.any():  # so that all worlds arrive together
                self._reset(starts)
            if step < longest:
                actions = [a[step - longest + len(a)] if step >= longest - len(a) else 0 for a in self._played]
                self._environment.send(np.array(actions, np.int32))
                self.stacks, *_, info = self._environment.recv()
                self.lives = info["lives"].copy()
        if zlib.crc32(np.ascontiguousarray(self.stacks)) != state["seen"]:
            raise NeurozooError(
                "The games cannot be continued: the same actions now lead to other screens. Was ale-py updated since "
                "the run was interrupted? Use the version in its config.yaml."
            )

    def close(self) -> None:
        """Ends the threads."""
        self._environment.close()
