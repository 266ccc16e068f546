"""What the forms of the genetic algorithm share: how children are made, and how an elite is chosen and reported."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from neurozoo.algorithms.neuroevolution.base import Solution, Starts
from neurozoo.algorithms.neuroevolution.cutoff import EpisodeCutoff
from neurozoo.algorithms.neuroevolution.elites import ELITE_RULES, Birth, Contest, Elite, Individual, RaceTotals, Round
from neurozoo.algorithms.neuroevolution.schedules import Schedule
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.algorithms.neuroevolution.stages import Stages
from neurozoo.environments.protocols import Protocol
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.genomes.genome import KEEPS_BEST_ELITE, Genome
from neurozoo.genomes.packing import pack, unpack
from neurozoo.networks.description import Layout
from neurozoo.randomness import Entropy, Purpose, generator
from neurozoo.records.published_log import ELITE_GENOME, GA_FIELDS

# Fields that a run lacks if its elite rule has no validation.
VALIDATION_FIELDS = {
    "TruncatedPopulationRewMean",
    "TruncatedPopulationValidationRewMean",
    "TruncatedPopulationEliteValidationRewMean",
}
# Of runs in stages: width of the widest river that counts, and share of the population's attempts that solved it.
STAGE_FIELDS = ("Stage", "StageSolvedShare")

Parents = tuple[tuple[Genome, Birth], ...]


class GeneticSearch:
    """The base of the genetic algorithm by generations and of its asynchronous form.

    Args:
        settings: The settings.
        entropy: What random numbers depend on besides their address; see `run_entropy`.
        layout: The network.
        noise: The noise table, of which only the length matters.
        protocol: How episodes are played.
        start: Genomes whose children the first generation are, best first; none for a random first generation.

    Attributes:
        behaviour, threads, reference, iteration, steps, frames, best: As those of `base.Algorithm`.
    """

    behaviour = "none"
    threads = 1
    reference: np.ndarray | None = None

    def __init__(
        self,
        settings: GaSettings,
        *,
        entropy: Entropy,
        layout: Layout,
        noise: np.ndarray,
        protocol: Protocol,
        start: Sequence[Genome] = (),
    ) -> None:
        self.settings = settings
        self._begin(protocol)
        self._entropy = entropy
        self._starts = Starts(self._entropy, protocol)
        self._indices = len(noise) - layout.parameter_count + 1
        self._schedule = Schedule.from_setting(settings.mutation_power)
        self._cutoff = EpisodeCutoff.from_setting(settings.episode_cutoff_mode)
        self.iteration = 0  # finished generations
        self.steps = 0
        self.frames = 0
        self._validation_steps = 0
        self._population_steps = 0
        self._founders: Parents = ()  # the parents if none have been selected
        if settings.first_generation == "mutations":
            first = generator(self._entropy, Purpose.OFFSPRING, 0)  # the addresses of children are longer
            self._founders = ((Genome(int(first.integers(self._indices))), (0, 0)),)
        if start:
            chosen = start[: settings.selection_threshold]
            self._founders = tuple((genome, (0, place)) for place, genome in enumerate(chosen))
        self._parents: Parents = self._founders
        self._rule = ELITE_RULES[settings.elite_rule]
        self._keeps_best = settings.elite_rule in KEEPS_BEST_ELITE
        self._stages = None if settings.stage_threshold is None else Stages(settings.stage_threshold)
        if self._stages:
            self.behaviour = "final_position"
        self._elite: Elite | None = None
        self.best: Solution | None = None
        self._best_rules = self._rules  # by which the best solution was scored
        self._start_generation()

    @property
    def _rules(self) -> list[int | None]:
        """What scores of training and validation depend on and may change: the limit of steps, and the stage."""
        return [self._cutoff.limit, self._stages.stage if self._stages else None]

    def _begin(self, protocol: Protocol) -> None:
        """Prepares what only this form of the algorithm keeps from report to report."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a report that the text log prints, in order."""
        unknown = VALIDATION_FIELDS if self.settings.elite_rule == "carried" else ()
        return (*(name for name in GA_FIELDS if name not in unknown), *(STAGE_FIELDS if self._stages else ()))

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; read only after a report."""
        return self.frames >= self.settings.frames

    def _start_generation(self) -> None:
        """Prepares the next report."""
        self._power = self._schedule.value(iteration=self.iteration, steps=self.steps, frames=self.frames)
        self._fields: dict[str, Any] = {}
        self._validation_steps_now = 0
        self._contest: Contest | None = None  # None until the population has played
        self._round: Round | None = None  # of the contest; None before and after it

    def _child(self, parents: Parents, *address: int) -> tuple[Genome, Birth | None]:
        random = generator(self._entropy, Purpose.OFFSPRING, *address)
        if not parents:
            return Genome(int(random.integers(self._indices))), None
        parent, birth = parents[random.integers(len(parents))]
        return parent.mutated(int(random.integers(self._indices)), self._power), birth

    def _round_episodes(self, played: Round) -> list[Episode]:
        return [
            self._episode(player.genome, Purpose.VALIDATION_EPISODE, 0 if played.is_paired else individual, repeat)
            for individual, player in enumerate(played.players)
            for repeat in played.repeats
        ]

    def _test_episodes(self, contest: Contest) -> list[Episode]:
        genome = contest.elite.individual.genome
        return [
            self._episode(genome, Purpose.TEST_EPISODE, 0, repeat) for repeat in range(self.settings.num_test_episodes)
        ]

    def _episode(self, genome: Genome, purpose: Purpose, individual: int, repeat: int) -> Episode:
        cutoff = self.settings.test_cutoff if purpose == Purpose.TEST_EPISODE else self._cutoff.limit
        return self._starts.episode(genome, purpose, self.iteration, individual, repeat, cutoff=cutoff)

    def _count(self, results: Sequence[EpisodeResult]) -> None:
        self.steps += sum(result.steps for result in results)
        self.frames += sum(result.frames for result in results)

    def _describe_population(
        self, results: Sequence[EpisodeResult], *, limited: Sequence[EpisodeResult] | None = None
    ) -> None:
        """Puts what the population's episodes came to into the next report.

        Args:
            results: The results.
            limited: Those with the present limit of steps, if not all have it.
        """
        scores = [result.score for result in results]
        steps = sum(result.steps for result in results)
        self._population_steps += steps
        limit = self._cutoff.limit
        limited = results if limited is None else limited
        at_limit = [limit is not None and result.steps >= limit for result in limited]
        self._share_at_limit = float(np.mean(at_limit)) if at_limit else 0.0
        self._fields |= {
            "MutationPower": self._power,
            "PopulationEpRewMax": max(scores),
            "PopulationEpRewMean": float(np.mean(scores)),
            "PopulationEpCount": len(scores),
            "PopulationTimesteps": steps,
            "NumSelectedIndividuals": self.settings.selection_threshold,
        }

    def _tell_contest(self, contest: Contest, played: Round, results: Sequence[EpisodeResult]) -> None:
        count = len(played.players) * len(played.repeats)
        if len(results) != count:
            raise ValueError(f"{count} results were expected, but {len(results)} came")
        contest.tell(results)
        self._count(results)
        self._validation_steps_now += sum(result.steps for result in results)

    def _report(
        self, contest: Contest, results: Sequence[EpisodeResult], parents: Sequence[Individual]
    ) -> dict[str, object]:
        """Ends a generation after its test episodes.

        Args:
            contest: Its contest, after the last round.
            results: The results of the test episodes.
            parents: The individuals that the lineage marks as parents.

        Returns:
            The report: the standard keys `frames`, `score` and `score_episodes` (of the elite), `test_score` and
            `test_episodes` (of the best solution so far), the published fields, without times, `Lineage` (see
            `neurozoo.records.lineage`), and `STAGE_FIELDS` if the run has stages.
        """
        elite = contest.elite
        test_score = float(np.mean([result.score for result in results]))
        self.iteration += 1
        self._validation_steps += self._validation_steps_now
        self.best = best = self._better(elite, test_score)
        self._best_rules = self._rules
        fields = {
            "TruncatedPopulationEliteIndex": contest.place,
            ELITE_GENOME: elite.individual.genome.to_json(),
            "TruncatedPopulationEliteTestRewMean": test_score,
            "TruncatedPopulationEliteTestEpCount": len(results),
            "TruncatedPopulationEliteTestEpLenSum": sum(result.steps for result in results),
            "ValidationTimestepsThisIter": self._validation_steps_now,
            "ValidationTimestepsSoFar": self._validation_steps,
            "TimestepsThisIter": self._fields["PopulationTimesteps"] + self._validation_steps_now,
            "TimestepsComputed": self._population_steps,
            "TimestepsSoFar": self.steps,
        }
        if contest.candidates:
            fields |= {
                "TruncatedPopulationRewMean": float(np.mean([c.fitness for c in contest.candidates])),
                "TruncatedPopulationValidationRewMean": float(np.mean(contest.scores)),
                "TruncatedPopulationEliteValidationRewMean": elite.score,
            }
        self._elite, limit = elite, self._cutoff.limit
        self._cutoff = self._cutoff.after(self._share_at_limit)
        if self._cutoff.limit != limit:
            self._forget_evidence()
        return {
            "frames": self.frames,
            "score": elite.score,
            "score_episodes": contest.elite_episodes,
            "test_score": best.test_score,
            "test_episodes": len(results),
            "Iteration": self.iteration,
            **self._fields,
            **fields,
            "Lineage": lineage_rows(contest, parents),
        }

    def _forget_evidence(self) -> None:
        """Lets the elite's episodes of earlier races not count, because episodes are scored by other rules now."""
        if self._elite:
            self._elite = replace(self._elite, evidence=RaceTotals())

    def _better(self, elite: Elite, test_score: float) -> Solution:
        """Returns the best solution so far, which the elite may be.

        One that was scored by other rules cannot be compared with the elite, and makes way.
        """
        best, genome = self.best, elite.individual.genome
        score = best.validation_score if best and self._best_rules == self._rules else None
        if best and self._keeps_best and score is not None and elite.score <= score:
            return best
        if best and not self._keeps_best and genome == best.genome:
            return replace(best, validation_score=elite.score, test_score=test_score)
        return Solution(genome, elite.score, test_score, self.iteration, self.frames)

    def get_state(self) -> dict:
        """Returns what the search depends on after a report, as plain JSON."""
        return {
            "iteration": self.iteration,
            "steps": self.steps,
            "frames": self.frames,
            "validation_steps": self._validation_steps,
            "population_steps": self._population_steps,
            "cutoff_limit": self._cutoff.limit,
            "genomes": pack(self._genomes())[0],
            "parent_births": [list(birth) for _, birth in self._parents],
            "elite": self._elite.to_json() if self._elite else None,
            "best": {**vars(self.best), "genome": None} if self.best else None,
            "best_rules": self._best_rules,
            **({"stage": self._stages.stage} if self._stages else {}),
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the blocks of mutations that the genomes in the state share."""
        return pack(self._genomes())[1]

    def _genomes(self) -> list[Genome]:
        """Returns the genomes in the state: of the parents, of the elite and of the best solution, in this order."""
        elite = [self._elite.individual.genome] if self._elite else []
        return [*(genome for genome, _ in self._parents), *elite, *([self.best.genome] if self.best else [])]

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` returned, as if there had been no interruption.

        Raises:
            LookupError, TypeError, ValueError: `state` is something else.
        """
        self._restore(state, iter(unpack(state["genomes"], arrays)))
        self._start_generation()

    def _restore(self, state: Mapping, genomes: Iterator[Genome]) -> None:
        """Takes over a state, whose genomes come in the order of `_genomes`."""
        self.iteration, self.steps, self.frames = state["iteration"], state["steps"], state["frames"]
        self._validation_steps, self._population_steps = state["validation_steps"], state["population_steps"]
        self._cutoff = replace(self._cutoff, limit=state["cutoff_limit"])
        births = [(generation, place) for generation, place in state["parent_births"]]
        elite, best = state["elite"], state["best"]
        self._parents = tuple((next_genome(genomes), birth) for birth in births)
        self._elite = Elite.from_json(elite, genome=next_genome(genomes)) if elite else None
        self.best = Solution(**{**best, "genome": next_genome(genomes)}) if best else None
        if self._stages:
            self._stages.stage = state["stage"]
        self._best_rules = state["best_rules"]


def next_genome(genomes: Iterator[Genome]) -> Genome:
    """Returns the next of a state's genomes.

    Raises:
        ValueError: There is none.
    """
    for genome in genomes:
        return genome
    raise ValueError("the state has too few genomes")


def with_elite(ranked: Sequence[Individual], elite: Individual | None, count: int) -> list[Individual]:
    """Returns the parents: the best individuals, and the elite, which takes the place of the last one if need be.

    Args:
        ranked: The population, best first.
        elite: The elite, if there is one.
        count: Number of parents.
    """
    top = list(ranked[:count])
    if elite and count and elite.genome not in [individual.genome for individual in top]:
        top = [elite, *top[: count - 1]]
    return top


def lineage_rows(contest: Contest, parents: Sequence[Individual]) -> list[list]:
    """Lists the individuals that were selected or validated in a generation, with the columns of `records.lineage`.

    Args:
        contest: The generation's contest, after its last round.
        parents: The parents of the next generation.
    """
    elite = contest.elite.individual
    scores = dict(zip((candidate.birth for candidate in contest.candidates), contest.scores, strict=True))
    if contest.candidates:
        scores[elite.birth] = contest.elite.score
    births = {parent.birth for parent in parents}
    individuals = {individual.birth: individual for individual in (*parents, *contest.candidates, elite)}
    rows = []
    for birth, individual in individuals.items():
        power = individual.genome.mutations[-1].power if individual.genome.mutations else None
        parent = individual.parent or (None, None)
        marks = [birth in births, birth == elite.birth]
        rows.append([*birth, *parent, power, individual.fitness, scores.get(birth), *marks])
    return rows
