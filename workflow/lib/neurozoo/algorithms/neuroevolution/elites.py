"""How a generation of the genetic algorithm chooses its elite, and what is known of it afterwards.

A rule is a class; an object of it is one generation's contest: `ask` says who plays next, `tell` takes the results, and
after the last round `elite` is the choice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol as Interface

import numpy as np

from neurozoo.algorithms.settings import GaSettings
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes import Genome

Birth = tuple[int, int]  # generation, from 1 (0: before the first), and place in its population, from 0


@dataclass(frozen=True)
class Individual:
    """One who has played a training episode.

    Attributes:
        genome: The recipe of its weights.
        birth: Its name in the run.
        parent: Its parent's birth; None if its weights are fresh.
        fitness: Score of its training episode.
    """

    genome: Genome
    birth: Birth
    parent: Birth | None
    fitness: float

    def to_json(self) -> list:
        """Returns all of it as plain JSON."""
        return [self.genome.to_json(), list(self.birth), self.parent and list(self.parent), self.fitness]

    @classmethod
    def from_json(cls, value: Sequence) -> "Individual":
        """Reads what `to_json` returned."""
        genome, birth, parent, fitness = value
        return cls(Genome.from_json(genome), tuple(birth), parent and tuple(parent), fitness)


@dataclass(frozen=True)
class Evidence:
    """Sums over the episodes that somebody has played in races.

    Attributes:
        episodes: Number of them.
        score: Sum of their scores.
        frames: Sum of their frames.
        final_episodes: Number of those in last rounds, which nobody had to survive in order to play them.
        final_score: Sum of their scores.
    """

    episodes: int = 0
    score: float = 0.0
    frames: int = 0
    final_episodes: int = 0
    final_score: float = 0.0

    def plus(self, results: Sequence[EpisodeResult], *, is_final: bool) -> "Evidence":
        """Returns the sums with these episodes."""
        score = sum(result.score for result in results)
        return Evidence(
            self.episodes + len(results),
            self.score + score,
            self.frames + sum(result.frames for result in results),
            self.final_episodes + is_final * len(results),
            self.final_score + is_final * score,
        )


@dataclass(frozen=True)
class Elite:
    """The chosen one.

    Attributes:
        individual: Who it is.
        score: What it is reported with.
        evidence: Its episodes in races; empty under other rules.
    """

    individual: Individual
    score: float
    evidence: Evidence = field(default_factory=Evidence)

    def to_json(self) -> dict:
        """Returns all of it as plain JSON."""
        return {"individual": self.individual.to_json(), "score": self.score, "evidence": vars(self.evidence)}

    @classmethod
    def from_json(cls, value: Mapping) -> "Elite":
        """Reads what `to_json` returned."""
        return cls(Individual.from_json(value["individual"]), value["score"], Evidence(**value["evidence"]))


@dataclass(frozen=True)
class Round:
    """Episodes to be played before the next decision.

    Attributes:
        phase: Its name, once per generation.
        players: Who plays.
        repeats: Numbers of the episodes that each of them plays.
        is_paired: Whether episodes of equal number start alike for all players, with the same emulator seed.
    """

    phase: str
    players: tuple[Individual, ...]
    repeats: range
    is_paired: bool


class Contest(Interface):
    """One generation's choice of an elite, made by `Class(ranked, elite, settings)`.

    `ranked` is the population, best training score first; `elite` is that of the previous generation.

    Attributes:
        remembers_best: Whether the run's result is the elite with the best score of all generations; otherwise it is
            the last elite.
        ranked: From whom parents are taken, best first.
        candidates: Who played in the contest.
        scores: The mean score of each of them.
        place: The elite's place among the previous elite, if any, and the population by rank.
        elite: The choice, after the last round.
        elite_episodes: Of how many episodes its score is the mean.
    """

    remembers_best: bool
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


class Validation:
    """The published rule: the previous elite and the best of the population play anew, and the best mean wins.

    Source: the published code of Such et al. 2017, arXiv:1712.06567.
    """

    remembers_best = True

    def __init__(self, ranked: Sequence[Individual], elite: Elite | None, settings: GaSettings) -> None:
        count = settings.validation_threshold
        self.ranked = ranked
        self.candidates = (elite.individual, *ranked[: count - 1]) if elite else tuple(ranked[:count])
        self.scores: list[float] = []
        self._repeats = self.elite_episodes = settings.num_validation_episodes

    def ask(self) -> Round | None:
        """Returns the only round."""
        return None if self.scores else Round("validation", self.candidates, range(self._repeats), is_paired=False)

    def tell(self, results: Sequence[EpisodeResult]) -> None:
        """Takes the results, and chooses; of equals the first one wins."""
        shape = (len(self.candidates), self._repeats)
        self.scores = np.array([result.score for result in results]).reshape(shape).mean(axis=1).tolist()
        self.place = int(np.argmax(self.scores))
        self.elite = Elite(self.candidates[self.place], self.scores[self.place])


class CarriedScore:
    """The rule of the distributed code and of cshenton: who had the best training score of all keeps it, untested.

    The score is the best of very many single episodes, and so much too good; a lucky run stays elite for long.

    Source: the code of 2017 of Such et al., arXiv:1712.06567, and cshenton/neuroevolution.
    """

    remembers_best = False
    elite_episodes = 1

    def __init__(self, ranked: Sequence[Individual], elite: Elite | None, settings: GaSettings) -> None:
        everybody = [elite.individual, *ranked] if elite else [*ranked]
        self.ranked = sorted(everybody, key=lambda individual: -individual.fitness)  # stable
        self.candidates, self.scores = (), ()
        self.place = everybody.index(self.ranked[0])
        self.elite = Elite(self.ranked[0], self.ranked[0].fitness)

    def ask(self) -> Round | None:
        """Returns nothing: there is nothing to play."""
        return None

    def tell(self, results: Sequence[EpisodeResult]) -> None:
        """Is never called."""
        raise AssertionError("No episodes were asked for.")


class Race:
    """Sequential halving over many candidates, then a duel with the elite, which nobody wins by one lucky episode.

    Many of the best of the population play a few episodes; the better half by the mean of all their episodes in the
    race plays the next round, until one challenger is left. It and the elite play the last round. The elite's episodes
    of earlier generations count with it, and the challenger has to beat their mean. All players of a race meet the same
    starts and emulator seeds. What the elite is reported with is the mean of its episodes in last rounds only: those
    of earlier rounds are the ones that it survived by, and so too good.

    A race has at most `validation_threshold * num_validation_episodes` episodes, which are shared out equally among the
    rounds. Each round after the first is kept so short that the race is expected to need no more frames than the
    published rule would: that many episodes of the mean length that those whom the published rule would validate have
    shown. Only the least, one episode for each player of a round, is always played.

    Source: Karnin et al. 2013, "Almost optimal exploration in multi-armed bandits" (sequential halving).
    """

    remembers_best = False

    def __init__(self, ranked: Sequence[Individual], elite: Elite | None, settings: GaSettings) -> None:
        count = settings.validation_threshold
        self.ranked = ranked
        self._elite = elite
        self._budget = count * settings.num_validation_episodes
        self._challengers = list(ranked[: racing_candidates(self._budget, len(ranked))])
        self._evidence = {challenger.birth: Evidence() for challenger in self._challengers}
        self.candidates = (*((elite.individual,) if elite else ()), *self._challengers)
        if elite:
            self._evidence[elite.individual.birth] = elite.evidence
        self._published = (self.candidates if elite else self._challengers)[:count]
        self._number = 1  # of the round
        self._repeats = 0  # episodes of each who is still in the race
        self._episodes = self._frames = 0  # of everybody
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
        """Returns how many episodes each player of the next round plays."""
        rounds = len(self._challengers).bit_length()
        players = [self._evidence[player.birth] for player in self._players]
        shares = [(self._budget - self._episodes) / rounds / len(players)]
        if self._number > 1:
            shares.append((self._allowance() - self._frames) / rounds / sum(map(_mean_frames, players)))
        return max(1, int(min(shares)))

    def _allowance(self) -> float:
        """Returns how many frames the published rule would be expected to need."""
        known = [self._evidence[individual.birth] for individual in self._published]
        return self._budget * float(np.mean([_mean_frames(evidence) for evidence in known]))

    def tell(self, results: Sequence[EpisodeResult]) -> None:
        """Takes the results of a round, and drops the worse half, or chooses; of equals the first one wins."""
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
    """Returns how many challengers start a race: a power of two, at most a third of the race's episodes.

    Halving them down to one, with one episode for each in every round and one for the elite, takes twice as many.
    """
    most = max(1, min(episodes // 3, population_size))
    return 1 << (most.bit_length() - 1)


def _mean_frames(evidence: Evidence) -> float:
    return max(evidence.frames, 1) / evidence.episodes


ELITE_RULES = {"validated": Validation, "racing": Race, "carried": CarriedScore}
