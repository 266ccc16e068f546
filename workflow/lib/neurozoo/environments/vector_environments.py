"""Several environments that step together, for learners: the interface, and the factory for every game."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol as Interface

import numpy as np

from neurozoo.environments.mazes.curriculum import Curriculum
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.vector import AtariVectorEnvironment, SeedOf, Step


class VectorEnvironment(Interface):
    """Copies of a game that step together, with a state that can be saved and restored exactly.

    Attributes:
        count: Number of environments, below called num_envs.
        num_actions: Number of actions.
        lives: Lives left, shape (num_envs,).
        episodes: Number of the current episode of each environment, from 0.
    """

    count: int
    num_actions: int
    lives: np.ndarray
    episodes: np.ndarray

    @property
    def stacks(self) -> np.ndarray:
        """Observations: uint8, shape (num_envs, channels, height, width).

        Of games with screens (num_envs, 4, 84, 84), oldest screen first; zeros before the first screen.
        """

    @property
    def screens(self) -> np.ndarray:
        """The newest screens: uint8, shape (num_envs, height, width); 84 x 84 in games that have screens."""

    def start_episodes(self, mask: np.ndarray) -> None:
        """Ends the episodes of some environments and starts their next ones; `mask` is bool, shape (num_envs,)."""

    def send(self, actions: np.ndarray) -> None:
        """Starts a step of all environments with indices of actions, shape (num_envs,)."""

    def receive(self) -> Step:
        """Waits for the results of the step. Call `start_episodes` next for environments whose episode has ended."""

    def get_state(self) -> dict:
        """Returns the state, except what `get_arrays` returns, as plain JSON."""

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state: of games with screens the actions since the starts of the episodes."""

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned.

        Raises:
            NeurozooError: The screens differ from those of the saved state.
        """

    def close(self) -> None:
        """Frees the environments."""


def make_vector_environment(
    game: str,
    protocol: Protocol,
    *,
    count: int,
    threads: int,
    seed_of: SeedOf,
    ops: Path | None = None,
    curriculum: Curriculum | None = None,
) -> VectorEnvironment:
    """Makes several environments of a game.

    Args:
        game: Game id such as `pong`.
        protocol: How episodes are played.
        count: Number of environments.
        threads: Threads of emulators.
        seed_of: Function from the index of an environment and the number of its episode to the episode's seed.
        ops: The op library, which plays Atari games faster; None to do without.
        curriculum: What mazes of the training are like; None for those of tests.

    Raises:
        NeurozooError: Learners cannot play the game under the protocol.
    """
    if protocol.world in ("river_crossing", "gymnasium"):
        from neurozoo.environments.world_vector import WorldVectorEnvironment

        return WorldVectorEnvironment(game, protocol, count=count, seed_of=seed_of)
    if protocol.world == "maze":
        from neurozoo.environments.mazes.vector import seeded_mazes

        return seeded_mazes(protocol, count=count, seed_of=seed_of, curriculum=curriculum)
    return AtariVectorEnvironment(game, protocol, count=count, threads=threads, seed_of=seed_of, ops=ops)
