"""What deep Q-learning knows of the games that its environments play at the moment."""

from collections.abc import Mapping

import numpy as np

from neurozoo.algorithms.dqn.settings import HISTORY, DqnSettings
from neurozoo.randomness import Entropy, Purpose, generator


class GamesInPlay:
    """Counts points, decisions without action (`noop_steps`) and screens of the current life, for each environment.

    Attributes:
        waits: int64, shape (num_envs,): decisions without action that are left.
        masks_lives: Whether screens before a lost life are black, in playing and in replay.
    """

    def __init__(self, settings: DqnSettings, entropy: Entropy) -> None:
        self._settings, self._entropy = settings, entropy
        self.masks_lives = settings.masks_lost_lives and (settings.life_loss, settings.windows) == (
            "terminal",
            "padded",
        )
        self.waits = np.zeros(settings.num_envs, np.int64)
        self._returns = np.zeros(settings.num_envs, np.float64)
        self._has_played = np.zeros(settings.num_envs, np.bool_)  # a step that counts in its game
        self._seen = np.ones(settings.num_envs, np.int64)  # screens of this life, at most those of a state

    def masked(self, stacks: np.ndarray) -> np.ndarray:
        """Returns what the network sees: uint8, (num_envs, HISTORY, height, width)."""
        if not self.masks_lives or self._seen.min() == HISTORY:
            return stacks
        is_older = np.arange(HISTORY) < HISTORY - self._seen[:, np.newaxis]
        return np.where(is_older[..., np.newaxis, np.newaxis], np.uint8(0), stacks)

    def count(
        self, environments: np.ndarray, rewards: np.ndarray, *, terminals: np.ndarray, ended: np.ndarray
    ) -> list[float]:
        """Counts a round, and returns the scores of the games that have ended.

        Args:
            environments: Indices of those that have not waited.
            rewards: Shape (num_envs,).
            terminals: Shape (num_envs,): where a life or a game is over, for learning.
            ended: Shape (num_envs,): where a game is over or cut off.
        """
        self._seen[environments] = np.where(
            terminals[environments], 1, np.minimum(self._seen[environments] + 1, HISTORY)
        )
        self._returns[environments] += rewards[environments]
        self._has_played[environments] = True
        # A game can end within the no-ops after a lost life; one that ends within its first no-ops was not played.
        scores = self._returns[ended & self._has_played].tolist()
        self._returns[ended], self._has_played[ended] = 0.0, False
        self.waits = np.maximum(self.waits - 1, 0)
        return scores

    def begin(self, environments: np.ndarray, address: int) -> None:
        """Begins new games; the address is the number of the round."""
        self._seen[environments] = 1
        if self._settings.noop_steps:
            self.wait(environments, address)

    def wait(self, environments: np.ndarray, address: int) -> None:
        """Draws how many decisions without action follow."""
        least, most = self._settings.noop_steps or (0, 0)
        for environment in environments:
            random = generator(self._entropy, Purpose.WAIT, int(environment), address)
            self.waits[environment] = random.integers(least, most + 1)

    def get_state(self) -> dict:
        """Returns everything as plain JSON."""
        return {
            "returns": self._returns.tolist(),
            "has_played": self._has_played.tolist(),
            "waits": self.waits.tolist(),
            **({"seen": self._seen.tolist()} if self.masks_lives else {}),
        }

    def set_state(self, state: Mapping) -> None:
        """Continues from what `get_state` returned.

        Raises:
            LookupError, TypeError, ValueError: It is something else, or of other environments.
        """
        self._returns, self.waits = np.array(state["returns"], float), np.array(state["waits"], np.int64)
        self._has_played = np.array(state["has_played"], np.bool_)
        if self.masks_lives:
            self._seen = np.array(state["seen"], np.int64)
        if len(self._returns) != self._settings.num_envs:
            raise ValueError(f"{len(self._returns)} environments")
