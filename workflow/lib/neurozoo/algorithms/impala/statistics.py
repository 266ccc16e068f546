"""What a report says of an epoch: means over its updates, rates, and how old the actions were."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_EPISODES = 5_000  # rows of a report, of each learner


@dataclass
class EpochStatistics:
    """Sums over the updates and rollouts of an epoch; plain JSON.

    Attributes:
        sums: Sums of the figures of all updates, by name.
        updates: Their number.
        lags: Ages of the rollouts that were learned from: rollouts learned from since their weights were handed over.
        seconds: Wall time of playing and learning.
        waited: Seconds of these in which the learner had nothing to learn from; of several learners, the longest.
        scores: Scores of the games that ended.
        episodes: Their rows in the report, see `neurozoo.records.episodes`, without the last column. If there are more
            than `MOST_EPISODES`, every other one goes, and from then on every other one is left out, and so on.
        episodes_seen: Number of games of which rows were offered.
        games_per_episode: How many of these each row stands for, a power of two.
    """

    sums: dict[str, float] = field(default_factory=dict)
    updates: int = 0
    lags: list[int] = field(default_factory=list)
    seconds: float = 0.0
    waited: float = 0.0
    scores: list[float] = field(default_factory=list)
    episodes: list[list] = field(default_factory=list)
    episodes_seen: int = 0
    games_per_episode: int = 1

    def add(self, figures: Mapping[str, float]) -> None:
        """Counts an update."""
        self.updates += 1
        for name, value in figures.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def add_episode(self, row: list) -> None:
        """Keeps the row of a game that has ended, unless there are too many."""
        if self.episodes_seen % self.games_per_episode == 0:
            self.episodes.append(row)
        self.episodes_seen += 1
        if len(self.episodes) > MOST_EPISODES:
            self.games_per_episode *= 2
            del self.episodes[1::2]

    def with_other(self, other: "EpochStatistics") -> "EpochStatistics":
        """Returns the statistics of this learner and another one; seconds are those of this one."""
        most = max(self.games_per_episode, other.games_per_episode)
        return EpochStatistics(
            sums={name: total + other.sums.get(name, 0.0) for name, total in self.sums.items()},
            updates=self.updates + other.updates,
            lags=self.lags + other.lags,
            seconds=self.seconds,
            waited=max(self.waited, other.waited),
            scores=self.scores + other.scores,
            episodes=[row for each in (self, other) for row in each.episodes[:: most // each.games_per_episode]],
            episodes_seen=self.episodes_seen + other.episodes_seen,
            games_per_episode=most,
        )

    def columns(self, *, steps: int, frames: int) -> dict[str, object]:
        """Returns the columns of an epoch of so many steps and frames."""
        seconds = max(self.seconds, 1e-9)
        episodes = sorted(self.episodes, key=lambda row: (row[0], row[3]))  # by frames and environment
        return {
            "steps_per_s": steps / seconds,
            "frames_per_s": frames / seconds,
            **{name: total / self.updates for name, total in self.sums.items()},
            "lag_mean": sum(self.lags) / len(self.lags) if self.lags else None,
            "lag_max": max(self.lags, default=None),
            "wait_data_share": min(1.0, self.waited / seconds),
            "games": len(self.scores),
            "games_won_share": sum(score > 0 for score in self.scores) / len(self.scores) if self.scores else None,
            "game_score_min": min(self.scores, default=None),
            "game_score_max": max(self.scores, default=None),
            "Episodes": [[*row, self.games_per_episode] for row in episodes],
        }
