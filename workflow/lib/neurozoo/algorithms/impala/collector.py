"""What a learner has instead of a player of its own: rollouts that its actors send."""

from collections.abc import Sequence

from neurozoo.algorithms.impala.actor import Game
from neurozoo.algorithms.impala.rollouts import RolloutBuffer
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.compute.mpi import Alone, Ranks
from neurozoo.networks.keras_networks import MEMORY, KerasLayout


class Collector(RolloutBuffer):
    """Puts the unrolls of several ranks together. It has the interface of a `Player`; a step is a whole rollout.

    Args:
        actors: The ranks that act for this learner, in the order of their environments.
    """

    def __init__(
        self, settings: ImpalaSettings, *, layout: KerasLayout, ranks: Ranks | Alone, actors: Sequence[int]
    ) -> None:
        super().__init__(layout, length=settings.unroll_length, num_envs=settings.num_envs)
        self._ranks = ranks
        self._actors = list(actors)

    def play_step(self) -> list[Game]:
        """Waits for the unrolls of all actors; returns the games that have ended."""
        games: list[Game] = []
        first = 0
        for rank in self._actors:
            facts, arrays = self._ranks.receive(rank)
            count = arrays["actions"].shape[1]
            here = slice(first, first + count)
            for name in self.rollout.ARRAYS:
                getattr(self.rollout, name)[:, here] = arrays[name]
            self.rollout.bootstrap[here] = arrays["bootstrap"]
            for name, part in zip(MEMORY, self.rollout.state, strict=False):
                part[here] = arrays[f"begin_{name}"]
            games += [Game(first + environment, *others) for environment, *others in facts["games"]]
            first += count
        self.step = self._length
        return games

    def play_rollout(self) -> list[Game]:
        """The same, unless the rollout is already here."""
        return [] if self.is_rollout_over else self.play_step()

    def close(self) -> None:
        """Nothing has to end."""
