"""Statistics of a phase of deep Q-learning, in the columns of simple_dqn."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass
class PhaseStatistics:
    """The counts of a random, training or test phase; plain JSON.

    Attributes:
        steps: Steps of this phase.
        games: Returns of the games that ended in it, unclipped.
        lives: Terminals in the replay memory: ended games, and lost lives if `life_loss` is `terminal`.
        epsilon: Probability of a random action in the last step.
        costs: Sum of the costs of its updates.
        updates: Their number.
        seconds: Wall time.
        unfinished: Return of an unfinished game, which is the score of a test in which no game ended.
    """

    steps: int = 0
    games: list[float] = field(default_factory=list)
    lives: int = 0
    epsilon: float = 0.0
    costs: float = 0.0
    updates: int = 0
    seconds: float = 0.0
    unfinished: float = 0.0

    def add_cost(self, cost: float) -> None:
        """Counts an update, whose cost is half the mean square of its unclipped errors."""
        self.costs += cost
        self.updates += 1

    def columns(self, shared: Mapping[str, object]) -> dict[str, object]:
        """Returns the columns of simple_dqn's table, and `nr_lives_games`.

        `meancost` is the mean over this phase; the original divides by the updates of the whole run.
        """
        games = self.games
        return {
            "steps": self.steps,
            "nr_games": len(games),
            "average_reward": float(np.mean(games)) if games else None,
            "min_game_reward": min(games, default=None),
            "max_game_reward": max(games, default=None),
            "last_exploration_rate": self.epsilon,
            **shared,
            "meancost": self.costs / self.updates if self.updates else 0.0,
            "epoch_time": self.seconds,
            "steps_per_second": self.steps / max(self.seconds, 1e-9),
            "nr_lives_games": self.lives,
        }
