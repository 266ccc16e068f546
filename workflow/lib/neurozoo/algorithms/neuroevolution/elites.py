"""The rules by which a generation of the genetic algorithm chooses its elite.

A rule is a class, and an object of it is the contest of one generation: `ask` returns the next round of episodes,
`tell` takes their results, and after the last round `elite` is the winner.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol as Interface

import numpy as np

from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome

Birth = tuple[int, int]  # generation, from 1 (0: before the first), and index in its population, from 0


@dataclass(frozen=True)
class Individual:
    """A genome that has played its training episode.

    Attributes:
        genome: The recipe of its weights.
        birth: Identifies it within the run.
        parent: The birth of its parent; None if it has none.
        fitness: Score of its training episode.
    """

    genome: Genome
    birth: Birth
    parent: Birth | None
    fitness: float

    def to_json(self) -> list:
        """Returns everything but the genome as plain JSON."""
        return [list(self.birth), self.parent and list(self.parent), self.fitness]

    @classmethod
    def from_json(cls, value: Sequence, *, genome: Genome) -> "Individual":
        """Reads what `to_json` returned."""
        birth, parent, fitness = value
        return cls(genome, tuple(birth), parent and tuple(parent), fitness)


@dataclass(frozen=True)
class RaceTotals:
    """Sums over the episodes that an individual has played in races.

    Attributes:
        episodes: Number of episodes.
        score: Sum of their scores.
        frames: Sum of their frames.
        final_episodes: Number of episodes in last rounds.
        final_score: Sum of the scores in last rounds.
    """

    episodes: int = 0
    score: float = 0.0
    frames: int = 0
    final_episodes: int = 0
    final_score: float = 0.0

    def plus(self, results: Sequence[EpisodeResult], *, is_final: bool) -> "RaceTotals":
        """Returns the sums including these episodes."""
        score = sum(result.score for result in results)
        return RaceTotals(
            self.episodes + len(results),
            self.score + score,
            self.frames + sum(result.frames for result in results),
            self.final_episodes + is_final * len(results),
            self.final_score + is_final * score,
        )


@dataclass(frozen=True)
class Elite:
    """The winner of a contest.

    Attributes:
        individual: The individual.
        score: The score that reports give.
        evidence: Its episodes in races; empty under other rules.
    """

    individual: Individual
    score: float
    evidence: RaceTotals = field(default_factory=RaceTotals)

    def to_json(self) -> dict:
        """Returns everything but the genome as plain JSON."""
        return {"individual": self.individual.to_json(), "score": self.score, "evidence": vars(self.evidence)}

    @classmethod
    def from_json(cls, value: Mapping, *, genome: Genome) -> "Elite":
        """Reads what `to_json` returned."""
        return cls(
            Individual.from_json(value["individual"], genome=genome), value["score"], RaceTotals(**value["evidence"])
        )


@dataclass(frozen=True)
class Round:
    """Episodes to be played before the next decision.

    Attributes:
        phase: Its name; each occurs once per generation.
        players: The individuals that play.
        repeats: Numbers of the episodes that each of them plays.
        is_paired: Whether episodes of equal number start alike for all players, with the same emulator seed.
    """

    phase: str
    players: tuple[Individual, ...]
    repeats: range
    is_paired: bool


class Contest(Interface):
    """The contest of one generation, made by `Class(ranked, elite, settings)`.

    `ranked` is the population, best training score first; `elite` is that of the previous generation, or None.

    Attributes:
        ranked: The individuals from which parents are taken, best first.
        candidates: The individuals that played in the contest.
        scores: The mean score of each candidate.
        place: The winner's index in the previous elite, if any, followed by the population by rank.
        elite: The winner, after the last round.
        elite_episodes: Number of episodes of which its score is the mean.
    """

    ranked: Sequence[Individual]
    candidates: Sequence[Individual]
    scores: Sequence[float]
    place: int
    elite: Elite
    elite_episodes: int

    def ask(self) -> Round | None:
        """Returns the next round; None after the last one."""

    def tell(self, results: Sequence[EpisodeResult]) -> None:
        """Takes the results of the round that `ask` returned, player by player."""


class Validation(Contest):
    """The published rule: the previous elite and the best of the population play again, and the best mean wins.

    Source: the published code of Such et al. 2017, arXiv:1712.06567.
    """

    def __init__(self, ranked: Sequence[Individual], elite: Elite | None, settings: GaSettings) -> None:
        count = settings.validation_threshold
        self.ranked = ranked
        # At least one of the population: else nobody could ever take the elite's place.
        self.candidates = (elite.individual, *ranked[: max(1, count - 1)]) if elite else tuple(ranked[:count])
        self.scores: list[float] = []
        self._repeats = self.elite_episodes = settings.num_validation_episodes

    def ask(self) -> Round | None:
        """Returns the only round."""
        return None if self.scores else Round("validation", self.candidates, range(self._repeats), is_paired=False)

    def tell(self, results: Sequence[EpisodeResult]) -> None:
        """Takes the results and chooses the winner; of equals, the first one."""
        shape = (len(self.candidates), self._repeats)
        self.scores = np.array([result.score for result in results]).reshape(shape).mean(axis=1).tolist()
        self.place = int(np.argmax(self.scores))
        self.elite = Elite(self.candidates[self.place], self.scores[self.place])


class CarriedScore(Contest):
    """The rule of the distributed code and of cshenton: the best training score of all generations wins, unvalidated.

    That score is the best of very many single episodes, and so much too high. One lucky episode wins for a long time.

    Source: the code of 2017 of Such et al., arXiv:1712.06567, and cshenton/neuroevolution.
    """

    elite_episodes = 1

    def __init__(self, ranked: Sequence[Individual], elite: Elite | None, settings: GaSettings) -> None:
        individuals = [elite.individual, *ranked] if elite else [*ranked]
        self.ranked = sorted(individuals, key=lambda individual: -individual.fitness)  # stable
        self.candidates, self.scores = (), ()
        self.place = individuals.index(self.ranked[0])
        self.elite = Elite(self.ranked[0], self.ranked[0].fitness)

    def ask(self) -> Round | None:
        """Returns None: there is nothing to play."""
        return None

    def tell(self, results: Sequence[EpisodeResult]) -> None:
        """Is never called."""
        raise AssertionError("This rule plays no episodes.")


class Race(Contest):
    """Sequential halving over many challengers, then a duel with the elite, so that one lucky episode does not win.

    Many of the best of the population play a few episodes. The better half, by the mean of all their episodes in the
    race, plays the next round, until one challenger is left. The challenger and the elite play the last round. The
    elite's episodes of earlier races count, too, and the challenger must beat their mean. All players of a race get the
    same starts and emulator seeds. The reported score is the mean of the episodes in last rounds only: the winner was
    selected by those of earlier rounds, so their mean is too high.

    When a stage begins, or the limit of steps grows, the elite's earlier episodes no longer count: others would be
    scored by other rules.

    A race has at most `validation_threshold * num_validation_episodes` episodes, shared equally among its rounds. Each
    round after the first is also kept short enough that the race should not need more frames than the published rule.
    These are estimated from the mean episode length of the individuals that the published rule would validate. Each
    player of a round always plays at least one episode.

    Source: Karnin et al. 2013, "Almost optimal exploration in multi-armed bandits" (sequential halving).
    """

    def __init__(self, ranked: Sequence[Individual], elite: Elite | None, settings: GaSettings) -> None:
        count = settings.validation_threshold
        self.ranked = ranked
        self._elite = elite
        self._budget = count * settings.num_validation_episodes
        self._challengers = list(ranked[: racing_candidates(self._budget, len(ranked))])
        self._evidence = {challenger.birth: RaceTotals() for challenger in self._challengers}
        self.candidates = (*((elite.individual,) if elite else ()), *self._challengers)
        if elite:
            self._evidence[elite.individual.birth] = elite.evidence
        self._published = (self.candidates if elite else self._challengers)[:count]
        self._number = 1  # of the next round
        self._repeats = 0  # episodes that each remaining challenger has played
        self._episodes = self._frames = 0  # of all players
        self._is_over = False

    @property
    def _is_last(self) -> bool:
        return len(self._challengers) == 1

    @property
    def _players(self) -> tuple[Individual, ...]:
        joins = (self._elite.individual,) if self._elite and self._is_last else ()
        return (*joins, *self._challengers)

    def ask(self) -> Round | None:
        """Returns the next round; None after the duel."""
        if self._is_over:
            return None
        repeats = range(self._repeats, self._repeats + self._length())
        return Round(f"validation-{self._number}", self._players, repeats, is_paired=True)

    def _length(self) -> int:
        """Returns the number of episodes for each player of the next round."""
        rounds = len(self._challengers).bit_length()
        players = [self._evidence[player.birth] for player in self._players]
        shares = [(self._budget - self._episodes) / rounds / len(players)]
        if self._number > 1:
            known = _mean_frames(players)
            shares.append((self._allowance() - self._frames) / rounds / (len(players) * known))
        return max(1, int(min(shares)))

    def _allowance(self) -> float:
        """Returns the number of frames that the published rule would probably need."""
        published = [self._evidence[individual.birth] for individual in self._published]
        if not any(totals.episodes for totals in published):  # the elite alone, and its episodes no longer count
            published = [self._evidence[challenger.birth] for challenger in self._challengers]
        return self._budget * _mean_frames(published)

    def tell(self, results: Sequence[EpisodeResult]) -> None:
        """Takes the results of a round; drops the worse half, or chooses the winner (of equals, the first one)."""
        players, is_last = self._players, self._is_last
        length = len(results) // len(players)
        for place, player in enumerate(players):
            played = results[place * length : (place + 1) * length]
            self._evidence[player.birth] = self._evidence[player.birth].plus(played, is_final=is_last)
        self._number += 1
        self._repeats += length
        self._episodes += len(results)
        self._frames += sum(result.frames for result in results)
        order = sorted(players, key=lambda player: -self._mean(player))  # stable
        if is_last:
            self._is_over = True
            self._choose(order[0])
        else:
            self._challengers = order[: len(order) // 2]

    def _mean(self, player: Individual) -> float:
        evidence = self._evidence[player.birth]
        return evidence.score / evidence.episodes

    def _choose(self, winner: Individual) -> None:
        evidence = self._evidence[winner.birth]
        self.scores = [self._mean(candidate) for candidate in self.candidates]
        self.place = self.candidates.index(winner)
        self.elite = Elite(winner, evidence.final_score / evidence.final_episodes, evidence)
        self.elite_episodes = evidence.final_episodes


def racing_candidates(episodes: int, population_size: int) -> int:
    """Returns the number of challengers at the start of a race: a power of two, at most a third of its episodes.

    A race with one episode per player and round, the elite's included, has twice as many episodes as challengers.
    """
    most = max(1, min(episodes // 3, population_size))
    return 1 << (most.bit_length() - 1)


def _mean_frames(players: Sequence[RaceTotals]) -> float:
    """Returns the mean over players of their mean frames per episode; who has not played yet does not count."""
    return float(np.mean([max(totals.frames, 1) / totals.episodes for totals in players if totals.episodes]))


ELITE_RULES: dict[str, Callable[[Sequence[Individual], Elite | None, GaSettings], Contest]] = {
    "validated": Validation,
    "racing": Race,
    "carried": CarriedScore,
}
