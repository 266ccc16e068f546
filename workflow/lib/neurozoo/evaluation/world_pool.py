"""Environments of the op, which its threads step in lockstep, for the batched engine."""

import os
from collections.abc import Sequence

import numpy as np

from neurozoo.environments.protocols import Protocol
from neurozoo.evaluation import Episode
from neurozoo.evaluation.native import shaped_behaviours, world_attributes
from neurozoo.native import load_ops
from neurozoo.native.resource import Resource

BEGUN, PLAYING, ENDED = 1, 2, 3  # states that `advance` returns; 0: no episode


class WorldPool:
    """Plays one episode in each of its environments. Results do not depend on the number of threads.

    Raises:
        NeurozooError: The library or the ROM is missing or does not fit, or a thread cannot be started.
    """

    def __init__(
        self, ops: str | os.PathLike, *, game: str, protocol: Protocol, worlds: int, threads: int, behaviour: str
    ) -> None:
        self._ops = load_ops(ops)
        self._protocol, self._behaviour = protocol, behaviour
        self._worlds = Resource(
            self._ops.neurozoo_worlds,
            name="pool of environments",
            **world_attributes(game, protocol),
            behaviour=behaviour,
            num_worlds=worlds,
            num_threads=threads,
        )

    def start(self, worlds: Sequence[int], episodes: Sequence[Episode]) -> None:
        """Starts an episode in each of some environments, at the next `advance`."""
        self._worlds.call(
            self._ops.neurozoo_start,
            worlds=np.array(worlds, np.int32),
            noops=np.array([episode.noops for episode in episodes], np.int64),
            seeds=np.array([episode.seed for episode in episodes], np.int64),
            max_frames=np.array([episode.max_frames for episode in episodes], np.int64),
        )

    def advance(self, first: int, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Resets environments that were started and steps those that play. Releases the GIL meanwhile.

        Args:
            first: Index of the first environment.
            outputs: float32, (worlds, outputs), the networks' outputs for this environment and the next ones.

        Returns:
            The newest planes, float32, (worlds, height, width, channels), zeros where no episode is played;
            rewards, float64, (worlds,); states, uint8, (worlds,).

        Raises:
            NeurozooError: An environment failed. The pool can no longer be used.
        """
        news = self._worlds.call(self._ops.neurozoo_advance, first=first, outputs=outputs)
        planes, rewards, states = (column.numpy() for column in news)
        return planes, rewards, states

    def outcomes(self, worlds: Sequence[int]) -> list[tuple]:
        """Returns score, sign score, steps, frames and behaviour of episodes that have ended, once for each."""
        *facts, data, sizes = self._worlds.call(self._ops.neurozoo_outcomes, worlds=np.array(worlds, np.int32))
        described = shaped_behaviours(data.numpy(), sizes.numpy(), behaviour=self._behaviour, protocol=self._protocol)
        return list(zip(*(fact.numpy().tolist() for fact in facts), described, strict=True))

    def close(self) -> None:
        """Ends the threads and frees the memory."""
        self._worlds.close()
