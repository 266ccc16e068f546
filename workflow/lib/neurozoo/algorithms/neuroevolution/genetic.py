"""The genetic algorithm of Such et al. 2017 (arXiv:1712.06567); without parents it is random search."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from neurozoo.algorithms.neuroevolution.base import Batch, Solution, Starts
from neurozoo.algorithms.neuroevolution.cutoff import EpisodeCutoff
from neurozoo.algorithms.neuroevolution.elites import ELITE_RULES, Birth, Contest, Elite, Individual, Round
from neurozoo.algorithms.neuroevolution.schedules import Schedule
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.algorithms.neuroevolution.stages import Stages
from neurozoo.environments.protocols import Protocol
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.genomes.genome import KEEPS_BEST_ELITE, Genome
from neurozoo.genomes.packing import pack, unpack
from neurozoo.networks.description import Layout
from neurozoo.randomness import Entropy, Purpose, generator
from neurozoo.records.published_log import GA_FIELDS

# Fields that a run lacks if its elite rule has no validation.
VALIDATION_FIELDS = {
    "TruncatedPopulationRewMean",
    "TruncatedPopulationValidationRewMean",
    "TruncatedPopulationEliteValidationRewMean",
}
# Of runs in stages: width of the widest river that counts, and share of the population's attempts that solved it.
STAGE_FIELDS = ("Stage", "StageSolvedShare")


class GeneticAlgorithm:
    """Truncation selection with mutations and an elite.

    One generation has at least two phases of `ask` and `tell`. First, the population plays one episode each. Then come
    the rounds of the elite rule (published: the best of the population and the previous elite, several episodes each).
    At the end the elite plays test episodes, which select nothing and which no budget counts.

    Deviations from the published code: the logged mutation power is the one that was used (not the next one); the
    best solution so far is the elite with the best validation mean (not the elite of the generation whose validated
    candidates had the best mean together); random numbers depend only on seeds and counters, so runs can be repeated.

    Args:
        settings: The settings.
        entropy: What random numbers depend on besides their address; see `run_entropy`.
        layout: The network.
        noise: The noise table, of which only the length matters.
        protocol: How episodes are played.
        start: Genomes whose children the first generation are, best first; none for a random first generation.

    Source: Such et al. 2017, arXiv:1712.06567, and the published code.
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
        self._founders: tuple[tuple[Genome, Birth], ...] = ()  # the parents if none have been selected
        if settings.first_generation == "mutations":
            first = generator(self._entropy, Purpose.OFFSPRING, 0)  # the addresses of children are longer
            self._founders = ((Genome(int(first.integers(self._indices))), (0, 0)),)
        if start:
            chosen = start[: settings.selection_threshold]
            self._founders = tuple((genome, (0, place)) for place, genome in enumerate(chosen))
        self._parents: tuple[tuple[Genome, Birth], ...] = self._founders
        self._rule = ELITE_RULES[settings.elite_rule]
        self._keeps_best = settings.elite_rule in KEEPS_BEST_ELITE
        self._stages = None if settings.stage_threshold is None else Stages(settings.stage_threshold)
        if self._stages:
            self.behaviour = "final_position"
        self._elite: Elite | None = None
        self.best: Solution | None = None
        self._start_generation()

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a report that the text log prints, in order."""
        unknown = VALIDATION_FIELDS if self.settings.elite_rule == "carried" else ()
        return (*(name for name in GA_FIELDS if name not in unknown), *(STAGE_FIELDS if self._stages else ()))

    def _start_generation(self) -> None:
        self._power = self._schedule.value(iteration=self.iteration, steps=self.steps, frames=self.frames)
        self._offspring = tuple(self._child(i) for i in range(self.settings.population_size))
        self._fields: dict[str, Any] = {}
        self._validation_steps_now = 0
        self._contest: Contest | None = None  # None until the population has played
        self._round: Round | None = None  # of the contest; None before and after it

    def _child(self, individual: int) -> tuple[Genome, Birth | None]:
        random = generator(self._entropy, Purpose.OFFSPRING, self.iteration, individual)
        if not self._parents:
            return Genome(int(random.integers(self._indices))), None
        parent, birth = self._parents[random.integers(len(self._parents))]
        return parent.mutated(int(random.integers(self._indices)), self._power), birth

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; read only between generations."""
        return self.frames >= self.settings.frames

    def ask(self) -> Batch:
        """Returns the episodes of the current phase; a second call returns the same."""
        parents = [genome for genome, _ in self._parents]
        if self._elite:
            parents.append(self._elite.individual.genome)
        if self._contest is None:
            phase = "population"
            episodes = [
                self._episode(genome, Purpose.POPULATION_EPISODE, individual, 0)
                for individual, (genome, _) in enumerate(self._offspring)
            ]
        elif self._round:
            phase = self._round.phase
            episodes = [
                self._episode(
                    player.genome, Purpose.VALIDATION_EPISODE, 0 if self._round.is_paired else individual, repeat
                )
                for individual, player in enumerate(self._round.players)
                for repeat in self._round.repeats
            ]
        else:
            phase = "test"
            genome = self._contest.elite.individual.genome
            episodes = [
                self._episode(genome, Purpose.TEST_EPISODE, 0, repeat)
                for repeat in range(self.settings.num_test_episodes)
            ]
        return Batch(phase, tuple(dict.fromkeys(parents)), tuple(episodes), is_counted=phase != "test")

    def _episode(self, genome: Genome, purpose: Purpose, individual: int, repeat: int) -> Episode:
        cutoff = self.settings.test_cutoff if purpose == Purpose.TEST_EPISODE else self._cutoff.limit
        return self._starts.episode(genome, purpose, self.iteration, individual, repeat, cutoff=cutoff)

    def tell(self, results: Sequence[EpisodeResult]) -> dict[str, object] | None:
        """Takes the results of the last `ask`, in its order.

        Returns:
            None, or after the test episodes the report of the generation: the standard keys `frames`, `score` and
            `score_episodes` (of the elite), `test_score` and `test_episodes` (of the best solution so far), the
            published fields, without times, `Lineage` (see `neurozoo.records.lineage`), and `STAGE_FIELDS` if the run
            has stages.
        """
        if self._stages and (self._contest is None or self._round):  # tests count all levels
            results = self._stages.scored(results)
        if self._contest is None:
            self._contest = self._tell_population(results)
        elif self._round:
            self._tell_contest(self._contest, self._round, results)
        else:
            report = self._tell_test(self._contest, results)
            self._start_generation()
            return report
        self._round = self._contest.ask()
        return None

    def _tell_population(self, results: Sequence[EpisodeResult]) -> Contest:
        scores = [result.score for result in results]
        population = [
            Individual(genome, (self.iteration + 1, place), parent, score)
            for place, ((genome, parent), score) in enumerate(zip(self._offspring, scores, strict=True))
        ]
        ranked = sorted(population, key=lambda individual: -individual.fitness)  # stable
        self._count(results)
        if self._stages:
            self._stages.look_at(results)
            self._fields |= dict(zip(STAGE_FIELDS, (self._stages.stage, self._stages.share), strict=True))
        steps = sum(result.steps for result in results)
        self._population_steps += steps
        limit = self._cutoff.limit
        self._share_at_limit = 0.0 if limit is None else float(np.mean([r.steps >= limit for r in results]))
        self._fields |= {
            "MutationPower": self._power,
            "PopulationEpRewMax": max(scores),
            "PopulationEpRewMean": float(np.mean(scores)),
            "PopulationEpCount": len(scores),
            "PopulationTimesteps": steps,
            "NumSelectedIndividuals": self.settings.selection_threshold,
        }
        return self._rule(ranked, self._elite, self.settings)

    def _tell_contest(self, contest: Contest, played: Round, results: Sequence[EpisodeResult]) -> None:
        count = len(played.players) * len(played.repeats)
        if len(results) != count:
            raise ValueError(f"{count} results were expected, but {len(results)} came")
        contest.tell(results)
        self._count(results)
        self._validation_steps_now += sum(result.steps for result in results)

    def _tell_test(self, contest: Contest, results: Sequence[EpisodeResult]) -> dict[str, object]:
        elite = contest.elite
        test_score = float(np.mean([result.score for result in results]))
        self.iteration += 1
        self._validation_steps += self._validation_steps_now
        self.best = best = self._better(elite, test_score)
        fields = {
            "TruncatedPopulationEliteIndex": contest.place,
            "TruncatedPopulationEliteSeeds": elite.individual.genome.to_json(),
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
        parents = self._select_parents(contest)
        report = {
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
        self._elite = elite
        self._parents = tuple((parent.genome, parent.birth) for parent in parents) or self._founders
        self._cutoff = self._cutoff.after(self._share_at_limit)
        if self._stages:
            self._stages.advance()
        return report

    def _better(self, elite: Elite, test_score: float) -> Solution:
        """Returns the best solution so far, which the elite may be."""
        best, genome = self.best, elite.individual.genome
        if best and self._keeps_best and best.validation_score is not None and elite.score <= best.validation_score:
            return best
        if best and not self._keeps_best and genome == best.genome:
            return replace(best, validation_score=elite.score, test_score=test_score)
        return Solution(genome, elite.score, test_score, self.iteration, self.frames)

    def _select_parents(self, contest: Contest) -> list[Individual]:
        count = self.settings.selection_threshold
        top = list(contest.ranked[:count])
        elite = contest.elite.individual
        if count and elite.genome not in [individual.genome for individual in top]:
            top = [elite, *top[: count - 1]]
        return top

    def _count(self, results: Sequence[EpisodeResult]) -> None:
        self.steps += sum(result.steps for result in results)
        self.frames += sum(result.frames for result in results)

    def get_state(self) -> dict:
        """Returns what the next generation depends on, as plain JSON; only between generations."""
        return {
            "iteration": self.iteration,
            "steps": self.steps,
            "frames": self.frames,
            "validation_steps": self._validation_steps,
            "population_steps": self._population_steps,
            "cutoff_limit": self._cutoff.limit,
            "genomes": self._packed()[0],
            "parent_births": [list(birth) for _, birth in self._parents],
            "elite": self._elite.to_json() if self._elite else None,
            "best": {**vars(self.best), "genome": None} if self.best else None,
            **({"stage": self._stages.stage} if self._stages else {}),
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the blocks of mutations that the genomes in the state share."""
        return self._packed()[1]

    def _packed(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Packs the genomes of the parents, of the elite and of the best solution, in this order."""
        others = [self._elite.individual.genome] if self._elite else []
        return pack([*(genome for genome, _ in self._parents), *others, *([self.best.genome] if self.best else [])])

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` returned, as if there had been no interruption.

        Raises:
            LookupError, TypeError, ValueError: `state` is something else.
        """
        self.iteration, self.steps, self.frames = state["iteration"], state["steps"], state["frames"]
        self._validation_steps, self._population_steps = state["validation_steps"], state["population_steps"]
        self._cutoff = replace(self._cutoff, limit=state["cutoff_limit"])
        genomes = _read_genomes(state, arrays)
        births = [(generation, place) for generation, place in state["parent_births"]]
        elite, best = state["elite"], state["best"]
        self._parents = tuple(zip([genomes.pop(0) for _ in births], births, strict=True))
        self._elite = Elite.from_json(elite, genome=genomes.pop(0)) if elite else None
        self.best = Solution(**{**best, "genome": genomes.pop(0)}) if best else None
        if self._stages:
            self._stages.stage = state["stage"]
        self._start_generation()


def _read_genomes(state: Mapping, arrays: Mapping[str, np.ndarray]) -> list[Genome]:
    """Returns the genomes in a state: those of the parents, then of the elite and of the best solution, if any.

    A state of an earlier version has them at their places, each in full.

    Raises:
        LookupError, TypeError, ValueError, NeurozooError: `state` is something else.
    """
    if "genomes" in state:
        return unpack(state["genomes"], arrays)
    elite = [state["elite"]["individual"][0]] if state["elite"] else []
    best = [state["best"]["genome"]] if state["best"] else []
    return [Genome.from_json(genome) for genome in (*state["parents"], *elite, *best)]


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
