"""An episode that a player plays step by step, and to whose moments it can go back."""

import io
import pickle  # only written, and only to be hashed
from collections.abc import Mapping
from copy import deepcopy
from hashlib import blake2b

from neurozoo.agents.scoring import ScoredEpisode
from neurozoo.environments import World
from neurozoo.rollouts.player import Decision, Player


class Episode:
    """An episode of a player in a world, which begins as `start` says: no-ops and seed.

    The number of the episode seeds the player's noise.

    Attributes:
        score: Points so far.
    """

    def __init__(self, world: World, player: Player, start: Mapping[str, int], number: int) -> None:
        self._world, self._player, self._start = world, player, start
        self._observation, self._reward, self.score = world.reset(**start), 0.0, 0.0
        player.begin(number)

    def step(self) -> Decision:
        """Plays a step."""
        decision = self._player.decide(self._observation, self._reward)
        self._observation, self._reward, _ = self._world.act(decision.chosen)
        self.score += self._reward
        return decision

    def save(self) -> tuple | None:
        """Returns all that decides how the episode goes on, for `restore`; None in games that cannot tell."""
        world = self._world.save()
        return None if world is None else deepcopy((world, self._player.save(), self._reward, self.score))

    def restore(self, saved: tuple) -> None:
        """Goes back to the moment at which `save` was called, as often as wanted."""
        world, player, self._reward, self.score = deepcopy(saved)
        self._world.restore(world)
        self._player.restore(player)
        self._observation = self._world.observation

    def digest(self) -> bytes:
        """Returns a hash of what `save` returns; empty in games that cannot tell. Equal ones go on in the same way."""
        if (world := self._world.save()) is None:
            return b""
        pickler = pickle.Pickler(written := io.BytesIO())
        pickler.fast = True  # equal arrays give equal bytes, also if two are one object
        pickler.dump((world, self._player.save(), self._reward, self.score))
        return blake2b(written.getvalue(), digest_size=16).digest()

    @property
    def scored(self) -> ScoredEpisode:
        """The episode so far, for files."""
        return ScoredEpisode(**self._start, score=self.score, steps=self._world.steps, frames=self._world.frames)
