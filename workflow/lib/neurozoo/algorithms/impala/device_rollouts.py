"""Rollouts on a GPU, for `engine: batched`: bytes go there once, and are learned from where they lie.

Several players play side by side: while the environments of one step, the device computes the actions of another.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache
from typing import Any

import numpy as np

from neurozoo.algorithms.impala.actor import Game
from neurozoo.algorithms.impala.player import Player
from neurozoo.algorithms.impala.rollouts import Rollout, prefixed, unprefixed


@cache
def _channels_last() -> Callable[[np.ndarray], Any]:
    """Returns what sends planes, (num_envs, channels, height, width), to the device and turns them there."""
    import jax

    return jax.jit(lambda stacks: jax.numpy.moveaxis(stacks, 1, -1))


class DeviceRollout(Rollout):
    """A rollout whose observations are arrays of JAX, one per step: uint8, (num_envs, height, width, channels)."""

    def __init__(self, **shapes: Any) -> None:
        super().__init__(**shapes)
        self.observations = list(self.observations)

    def see(self, step: int, stacks: np.ndarray) -> None:
        """Sends what all environments show before a step to the device, in one copy."""
        self.observations[step] = _channels_last()(stacks)

    def get_arrays(self, step: int) -> dict[str, np.ndarray]:
        """Returns what is known before a step."""
        return super().get_arrays(step) | {"observations": np.stack(self.observations[: step + 1])}

    def set_arrays(self, step: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned."""
        import jax

        super().set_arrays(step, arrays)
        self.observations[: step + 1] = map(jax.device_put, arrays["observations"])


class SharedPlayer:
    """Players that share the environments of a run. It has the interface of a `Player`; a step is a whole rollout."""

    def __init__(self, players: Sequence[Player]) -> None:
        self._players = players
        self._threads = ThreadPoolExecutor(len(players))

    @property
    def rollouts(self) -> int:
        """Finished rollouts."""
        return self._players[0].rollouts

    @property
    def step(self) -> int:
        """Steps of the current rollout that are there."""
        return self._players[0].step

    @property
    def is_rollout_over(self) -> bool:
        """Whether the current rollout is complete."""
        return self._players[0].is_rollout_over

    def play_rollout(self) -> list[Game]:
        """Plays the current rollout to its end; returns the games that have ended."""
        return self.play_step()

    def play_step(self) -> list[Game]:
        """The same: a step is a whole rollout."""
        games: list[Game] = []
        first = 0
        for player, ended in zip(
            self._players, self._threads.map(lambda player: player.play_rollout(), self._players), strict=True
        ):
            games += [game._replace(environment=first + game.environment) for game in ended]
            first += player.count
        return games

    def next_rollout(self, version: int) -> Rollout:
        """Begins the next rollout, and returns the one before, with the environments of all players."""
        import jax

        parts = [player.next_rollout(version) for player in self._players]
        whole = copy(parts[0])
        for name in Rollout.ARRAYS[1:]:
            setattr(whole, name, np.concatenate([getattr(part, name) for part in parts], axis=1))
        stacked = [jax.numpy.stack(part.observations) for part in parts]
        whole.observations = jax.numpy.concatenate(stacked, axis=1)
        whole.bootstrap = np.concatenate([part.bootstrap for part in parts])
        whole.state = tuple(map(np.concatenate, zip(*(part.state for part in parts), strict=True)))
        return whole

    def close(self) -> None:
        """Ends the threads."""
        self._threads.shutdown()
        for player in self._players:
            player.close()

    def get_state(self) -> dict:
        """Returns what continuing depends on, except what `get_arrays` returns, as plain JSON."""
        shares = [player.get_state() for player in self._players]
        return {"rollouts": self.rollouts, "step": self.step, "shares": shares}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state."""
        shares = [prefixed(f"share{number}", player.get_arrays()) for number, player in enumerate(self._players)]
        return {name: array for share in shares for name, array in share.items()}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned."""
        for number, (player, own) in enumerate(zip(self._players, state["shares"], strict=True)):
            player.set_state(own, unprefixed(f"share{number}", arrays))
