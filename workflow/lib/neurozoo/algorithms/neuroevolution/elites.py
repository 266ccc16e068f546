"""The rules by which a generation of the genetic algorithm chooses its elite.

A rule is a class, and an object of it is the contest of one generation: `ask` returns the next round of episodes,
`tell` takes their results, and after the last round `elite` is the winner.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome

Birth = tuple[int, int]  # generation, from 1 (0: before the first), and index in its population, from 0


@dataclass(frozen=True)
class Individual:
    """A genome that has played its training episode."""

    genome: Genome
    birth: Birth  # identifies it within the run
    parent: Birth | None  # the birth of its parent
    fitness: float  # score of its training episode

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
    """Sums over the episodes that an individual has played in races."""

    episodes: int = 0  # their number
    score: float = 0.0
    frames: int = 0
    final_episodes: int = 0  # in last rounds
    final_score: float = 0.0  # of these

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
    """The winner of a contest."""

    individual: Individual
    score: float  # in reports
    evidence: RaceTotals = RaceTotals()  # its episodes in races

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
    """Episodes to be played before the next decision."""

    phase: str  # each occurs once per generation
    players: tuple[Individual, ...]
    repeats: range  # numbers of the episodes that each of them plays
    is_paired: bool  # whether episodes of equal number start alike for all players, with the same emulator seed


class Contest:
    """The contest of one generation, over its population `ranked` by training score, the best first.

    This one is over before it begins; rules with episodes extend it.

    Attributes:
        ranked: The individuals from which parents are taken, best first.
        candidates: The individuals that played in the contest.
        scores: The mean score of each candidate.
        place: The winner's index in the previous elite, if any, followed by the population by rank.
        elite: The winner, after the last round.
        elite_episodes: Number of episodes of which its score is the mean.
    """

    candidates: tuple[Individual, ...] = ()
    scores: Sequence[float] = ()
    place: int
    elite: Elite
    elite_episodes = 1

    def __init__(self, ranked: Sequence[Individual], elite: Elite | None, settings: GaSettings) -> None:
        self.ranked = ranked

    def ask(self) -> Round | None:
        """Returns the next round; None after the last one."""
        return None

    def tell(self, results: Sequence[EpisodeResult]) -> None:
        """Takes the results of the round that `ask` returned, player by player; of equals, the first one wins."""


class Validation(Contest):
    """The published rule: the previous elite and the best of the population play again, and the best mean wins.

    Source: the published code of Such et al. 2017, arXiv:1712.06567.
    """

    def __init__(self, ranked: Sequence[Individual], elite: Elite | None, settings: GaSettings) -> None:
        super().__init__(ranked, elite, settings)
        count = settings.validation_threshold
        # At least one of the population: else nobody could ever take the elite's place.
        self.candidates = (elite.individual, *ranked[: max(1, count - 1)]) if elite else tuple(ranked[:count])
        self.elite_episodes = settings.num_validation_episodes

    @override
    def ask(self) -> Round | None:
        repeats = range(self.elite_episodes)
        return None if self.scores else Round("validation", self.candidates, repeats, is_paired=False)

    @override
    def tell(self, results: Sequence[EpisodeResult]) -> None:
        scores = np.array([result.score for result in results]).reshape(len(self.candidates), -1).mean(axis=1)
        self.scores = scores.tolist()
        self.place = int(np.argmax(scores))
        self.elite = Elite(self.candidates[self.place], self.scores[self.place])


class CarriedScore(Contest):
    """The rule of the distributed code and of cshenton: the best training score of all generations wins, unvalidated.

    That score is the best of very many single episodes, and so much too high. One lucky episode wins for a long time.

    Source: the code of 2017 of Such et al., arXiv:1712.06567, and cshenton/neuroevolution.
    """

    def __init__(self, ranked: Sequence[Individual], elite: Elite | None, settings: GaSettings) -> None:
        individuals = [elite.individual, *ranked] if elite else [*ranked]
        super().__init__(sorted(individuals, key=lambda individual: -individual.fitness), elite, settings)  # stable
        self.place = individuals.index(self.ranked[0])
        self.elite = Elite(self.ranked[0], self.ranked[0].fitness)


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
        super().__init__(ranked, elite, settings)
        count = settings.validation_threshold
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

    @property
    def _is_last(self) -> bool:
        return len(self._challengers) == 1

    @property
    def _players(self) -> tuple[Individual, ...]:
        joins = (self._elite.individual,) if self._elite and self._is_last else ()
        return (*joins, *self._challengers)

    @override
    def ask(self) -> Round | None:
        if self.scores:
            return None
        repeats = range(self._repeats, self._repeats + self._length())
        return Round(f"validation-{self._number}", self._players, repeats, is_paired=True)

    def _length(self) -> int:
        """Returns the number of episodes for each player of the next round."""
        rounds = len(self._challengers).bit_length()
        shares = [(self._budget - self._episodes) / rounds / len(self._players)]
        if self._number > 1:
            known = self._mean_frames(self._players)
            shares.append((self._allowance() - self._frames) / rounds / (len(self._players) * known))
        return max(1, int(min(shares)))

    def _allowance(self) -> float:
        """Returns the number of frames that the published rule would probably need."""
        has_evidence = any(self._evidence[individual.birth].episodes for individual in self._published)
        # Else the published rule would play the elite alone, whose episodes no longer count.
        return self._budget * self._mean_frames(self._published if has_evidence else self._challengers)

    def _mean_frames(self, players: Sequence[Individual]) -> float:
        """Returns the mean over players of their mean frames per episode; who has not played yet does not count."""
        played = [totals for player in players if (totals := self._evidence[player.birth]).episodes]
        return float(np.mean([max(totals.frames, 1) / totals.episodes for totals in played]))

    @override
    def tell(self, results: Sequence[EpisodeResult]) -> None:
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
        if not is_last:
            self._challengers = order[: len(order) // 2]
            return
        winner, evidence = order[0], self._evidence[order[0].birth]
        self.scores = [self._mean(candidate) for candidate in self.candidates]
        self.place = self.candidates.index(winner)
        self.elite = Elite(winner, evidence.final_score / evidence.final_episodes, evidence)
        self.elite_episodes = evidence.final_episodes

    def _mean(self, player: Individual) -> float:
        evidence = self._evidence[player.birth]
        return evidence.score / evidence.episodes


def racing_candidates(episodes: int, population_size: int) -> int:
    """Returns the number of challengers at the start of a race: a power of two, at most a third of its episodes.

    A race with one episode per player and round, the elite's included, has twice as many episodes as challengers.
    """
    most = max(1, min(episodes // 3, population_size))
    return 1 << (most.bit_length() - 1)


ELITE_RULES: dict[str, type[Contest]] = {"validated": Validation, "racing": Race, "carried": CarriedScore}
