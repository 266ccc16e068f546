"""Who does what among the ranks of a run: learners first, then ranks that only act."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Team:
    """The ranks of a run.

    Each learner has as many environments. It plays them itself, or its actors share them. Actors belong to learners in
    turn, as in impala_horovod_gym: with 2 learners, the first and the third actor belong to the first learner.

    Args:
        learners: Ranks that learn, from rank 0 on.
        actors: Ranks that only act; they follow the learners.
        num_envs: Environments of each learner.
    """

    learners: int
    actors: int
    num_envs: int

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self.learners + self.actors

    @property
    def all_environments(self) -> int:
        """Number of environments of all learners together."""
        return self.learners * self.num_envs

    def is_learner(self, rank: int) -> bool:
        """Whether a rank learns."""
        return rank < self.learners

    def learner_of(self, rank: int) -> int:
        """Returns the learner that a rank plays for; learners play for themselves."""
        return rank if self.is_learner(rank) else (rank - self.learners) % self.learners

    def actors_of(self, learner: int) -> list[int]:
        """Returns the ranks that act for a learner."""
        return [rank for rank in range(self.learners, self.size) if self.learner_of(rank) == learner]

    def players_of(self, learner: int) -> list[int]:
        """Returns which rank plays each of a learner's environments, in their order."""
        ranks = self.actors_of(learner) or [learner]
        return [rank for rank in ranks for _ in self.environments_of(rank)]

    def environments_of(self, rank: int) -> range:
        """Returns the numbers of the environments that a rank plays; none for a learner with actors."""
        learner = self.learner_of(rank)
        players = self.actors_of(learner) or [learner]
        if rank not in players:
            return range(0)
        place, first = players.index(rank), learner * self.num_envs
        return range(first + place * self.num_envs // len(players), first + (place + 1) * self.num_envs // len(players))
