"""Environments of the core, which its threads step in lockstep, for the batched engine."""

import os
from collections.abc import Sequence

import numpy as np

from neurozoo.environments.protocols import Protocol
from neurozoo.evaluation import Episode
from neurozoo.evaluation.native import make_world, shaped_behaviours, starts_of
from neurozoo.native import load_core
from neurozoo.native.functions import Object

BEGUN, PLAYING, ENDED = 1, 2, 3  # states that `advance` returns; 0: no episode


class WorldPool:
    """Plays one episode in each of its environments. Results do not depend on the number of threads."""

    def __init__(
        self, core: str | os.PathLike, *, game: str, protocol: Protocol, worlds: int, threads: int, behaviour: str
    ) -> None:
        self._native = load_core(core)
        self._protocol, self._behaviour = protocol, behaviour
        world = make_world(self._native, game, protocol)
        self._pool: Object = self._native.make_world_pool(
            world=world, behaviour=behaviour, num_worlds=worlds, num_threads=threads
        )

    def start(self, worlds: Sequence[int], episodes: Sequence[Episode]) -> None:
        """Starts an episode in each of some environments, at the next `advance`."""
        self._native.start_episodes(world_pool=self._pool, worlds=worlds, **starts_of(episodes))

    def advance(self, first: int, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Resets environments that were started and steps those that play. Releases the GIL meanwhile.

        Args:
            first: Index of the first environment.
            outputs: float32, (worlds, outputs), the networks' outputs for this environment and the next ones.

        Returns:
            The newest planes, float32, (worlds, height, width, channels), zeros where no episode is played;
            rewards, float64, (worlds,); states, uint8, (worlds,). After an error, the pool can no longer be used.
        """
        return self._native.advance_worlds(world_pool=self._pool, first=first, outputs=outputs)

    def outcomes(self, worlds: Sequence[int]) -> list[tuple]:
        """Returns score, sign score, steps, frames and behaviour of episodes that have ended, once for each."""
        *facts, data, sizes = self._native.take_outcomes(world_pool=self._pool, worlds=worlds)
        described = shaped_behaviours(data, sizes, behaviour=self._behaviour, protocol=self._protocol)
        return list(zip(*(fact.tolist() for fact in facts), described, strict=True))

    def close(self) -> None:
        """Ends the threads and frees the memory."""
        self._pool.close()
