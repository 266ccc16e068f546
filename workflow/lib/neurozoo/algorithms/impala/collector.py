"""What a learner has instead of a player of its own: rollouts that its actors send."""

from collections.abc import Mapping, Sequence

import numpy as np

from neurozoo.algorithms.impala.actor import Game
from neurozoo.algorithms.impala.player import make_rollout
from neurozoo.algorithms.impala.rollouts import Rollout
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.compute.mpi import Alone, Ranks
from neurozoo.networks.keras_networks import MEMORY, KerasLayout


class Collector:
    """Puts the unrolls of several ranks together. It has the interface of a `Player`; a step is a whole rollout.

    Args:
        settings: The settings.
        layout: The network.
        ranks: The ranks of the run.
        actors: The ranks that act for this learner, in the order of their environments.

    Attributes:
        rollouts: Finished rollouts.
        step: Steps of the current rollout that are here: none or all.
        rollout: The current rollout.
    """

    def __init__(
        self, settings: ImpalaSettings, *, layout: KerasLayout, ranks: Ranks | Alone, actors: Sequence[int]
    ) -> None:
        self.rollouts = self.step = 0
        self._length = settings.unroll_length
        self._ranks = ranks
        self._actors = list(actors)
        self.rollout, self._other = (
            make_rollout(layout, length=settings.unroll_length, num_envs=settings.num_envs) for _ in range(2)
        )

    @property
    def is_rollout_over(self) -> bool:
        """Whether the current rollout is here."""
        return self.step == self._length

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

    def next_rollout(self, version: int) -> Rollout:
        """See `Player.next_rollout`."""
        self.rollout, self._other = self._other, self.rollout
        self.rollout.version = version
        self.rollouts += 1
        self.step = 0
        return self._other

    def close(self) -> None:
        """Nothing has to end."""

    def get_state(self) -> dict:
        """Returns what continuing depends on, except what `get_arrays` returns, as plain JSON."""
        return {"rollouts": self.rollouts, "step": self.step, "version": self.rollout.version}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state."""
        arrays = self.rollout.get_arrays(self.step) if self.step else {}
        return {f"rollout-{name}": array for name, array in arrays.items()}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned."""
        self.rollouts, self.step = int(state["rollouts"]), int(state["step"])
        self.rollout.version = int(state["version"])
        if self.step:
            own = {name.removeprefix("rollout-"): each for name, each in arrays.items()}
            self.rollout.set_arrays(self.step, own)


def unrolls_of(rollout: Rollout) -> dict[str, np.ndarray]:
    """Returns the arrays of a whole rollout, as `Collector` takes them."""
    return rollout.get_arrays(len(rollout.actions))
