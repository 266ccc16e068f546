"""What the forms of the genetic algorithm share: how children are made, and how an elite is chosen and reported."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from typing_extensions import override

from neurozoo.algorithms.neuroevolution.base import Algorithm, Solution
from neurozoo.algorithms.neuroevolution.elites import ELITE_RULES, Birth, Contest, Elite, Individual, RaceTotals, Round
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.environments.river_crossing import RESOURCE_ROW, RiverRules, resource_column
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.genomes.genome import KEEPS_BEST_ELITE, Genome, Weights, decode
from neurozoo.genomes.packing import pack, unpack
from neurozoo.networks.chains import Layout
from neurozoo.randomness import Purpose, generator
from neurozoo.records.published_log import ELITE_GENOME, GA_FIELDS

# Of `crossover: neurons`, as a replication reports them: github.com/SolusHub/RiverCrossingTask
CUT_NEURONS = 0.05  # probability with which a neuron of several weights has some of both parents
MUTATED_WEIGHTS = 0.001  # probability with which a weight mutates


def crossed(first: np.ndarray, second: np.ndarray, *, is_reversed: bool, random: np.random.Generator) -> np.ndarray:
    """Cuts two parents, float32, (parameters,), at the same random place: start of the first, end of the second.

    With `is_reversed`, the child's weights come back to front, as the published code has it. Its populations evolve to
    read the same in both directions.
    """
    place = int(random.integers(len(first))) + 1  # at least one weight is that of the first
    child = np.concatenate([first[:place], second[place:]])
    return child[::-1].copy() if is_reversed else child


def crossed_by_neuron(
    first: np.ndarray, second: np.ndarray, *, neurons: Sequence[np.ndarray], random: np.random.Generator
) -> np.ndarray:
    """Takes the weights of each neuron from one of two parents, float32, (parameters,), or in part from both.

    `neurons` has the places of each neuron's weights in the vectors.
    """
    child = np.empty_like(first)
    for places in neurons:
        start, end = (first, second) if random.random() < 0.5 else (second, first)
        cut = len(places)
        if random.random() < CUT_NEURONS and cut > 1:
            cut = int(random.integers(1, cut))
        child[places[:cut]], child[places[cut:]] = start[places[:cut]], end[places[cut:]]
    return child


def child_of(
    first: Genome,
    second: Genome,
    settings: GaSettings,
    *,
    fixed: np.ndarray,
    neurons: Sequence[np.ndarray],
    power: float,
    random: np.random.Generator,
) -> Genome:
    """Returns a child of two parents, with mutated weights.

    It is for networks of few weights: genomes are weights then, instead of mutations. Parents and child share the
    weights in `fixed`, float32, (parameters,), which has NaN where weights evolve; `neurons` counts places among these.

    Source: github.com/WatchJolley/rivercrossing, the code of Jolley and Channon 2018, doi:10.1162/isal_a_00099; for
    `neurons` Robinson, Ellis and Channon 2007 (ECAL, pp. 345-354).
    """
    thetas = _theta(first)[np.isnan(fixed)], _theta(second)[np.isnan(fixed)]
    if settings.crossover == "neurons":
        theta = crossed_by_neuron(*thetas, neurons=neurons, random=random)
        mutated = np.flatnonzero(random.random(len(theta)) < MUTATED_WEIGHTS)
        theta[mutated] += random.uniform(-power, power, len(mutated)).astype(np.float32)
    else:
        theta = crossed(*thetas, is_reversed=settings.crossover == "reversed_one_point", random=random)
        theta[int(random.integers(len(theta)))] += np.float32(random.normal(0.0, power))
    return completed(theta, settings, fixed=fixed)


def completed(evolved: np.ndarray, settings: GaSettings, *, fixed: np.ndarray) -> Genome:
    """Returns the weights that evolve, none beyond `weight_limit`, and those in `fixed` as a genome."""
    limit, theta = settings.weight_limit, fixed.copy()
    theta[np.isnan(fixed)] = evolved if limit is None else np.clip(evolved, -limit, limit)
    return Genome(Weights.of(theta))


def fresh(noise: np.ndarray, layout: Layout, settings: GaSettings, *, fixed: np.ndarray, index: int) -> Genome:
    """Returns initial weights as a genome, from a place of the noise table."""
    initial = layout.initialise(noise[index : index + layout.parameter_count])
    return completed(initial[np.isnan(fixed)], settings, fixed=fixed)


def _theta(genome: Genome) -> np.ndarray:
    assert isinstance(genome.initial, Weights)  # all genomes of a run with crossover
    return genome.initial.theta


RULES = RiverRules()  # those of the core


def levels_solved(result: EpisodeResult) -> np.ndarray:
    """Returns the number of levels that each attempt of an episode solved under fixed rules: int64, shape (attempts,).

    Its behaviour is the final position: (column, row, level) at the end of each attempt.
    """
    column, row, level = np.asarray(result.behaviour, np.int64).reshape(-1, 3).T
    # An attempt ends on the resource only if it was that of the last level.
    is_complete = (column == resource_column(RULES.max_width)) & (row == RESOURCE_ROW) & (level == RULES.max_width)
    return level + is_complete


class Stages:
    """The stage of a run: the widest river that counts.

    An episode is played as always, and its score is cut: levels beyond the stage do not count. Because every world
    depends only on seed, attempt and width, this is the score of an episode without these levels.

    Attributes:
        stage: Width of the widest river that counts.
        share: Share of the last population's attempts that solved all levels of the stage; `threshold` is what it takes
            to begin the next one.

    Source: incremental evolution of Robinson, Ellis and Channon 2007 (ECAL, pp. 345-354): the next map when 80 % of the
    population succeed.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self.stage = 0
        self.share = 0.0

    def scored(self, results: Sequence[EpisodeResult]) -> list[EpisodeResult]:
        """Returns the results with the scores of this stage."""
        levels = [np.minimum(levels_solved(result), self.stage + 1) for result in results]
        return [replace(result, score=float(found.sum())) for result, found in zip(results, levels, strict=True)]

    def look_at(self, population: Sequence[EpisodeResult]) -> None:
        """Computes the share of the population's attempts that solved the stage; attempts that never began did not."""
        solved = sum(int((levels_solved(result) > self.stage).sum()) for result in population)
        self.share = solved / (len(population) * RULES.attempts)

    def advance(self) -> bool:
        """Begins the next stage if the population has solved this one; returns whether it has begun."""
        begins = self.share >= self._threshold and self.stage < RULES.max_width
        self.stage += begins
        return begins


# Fields that a run lacks if its elite rule has no validation.
VALIDATION_FIELDS = {
    "TruncatedPopulationRewMean",
    "TruncatedPopulationValidationRewMean",
    "TruncatedPopulationEliteValidationRewMean",
}
# Of runs in stages: width of the widest river that counts, and share of the population's attempts that solved it.
STAGE_FIELDS = ("Stage", "StageSolvedShare")

Parents = tuple[tuple[Genome, Birth], ...]


class GeneticSearch(Algorithm[GaSettings]):
    """The base of the genetic algorithm by generations and of its asynchronous form.

    The first generation are children of the genomes in `start`, if there are any. With crossover, `start` has at most
    one: weights that do not evolve, and NaN for those that do.
    """

    @override
    def _begin(self, start: Sequence[Genome]) -> None:
        settings = self.settings
        self._validation_steps = 0
        self._founders: Parents = ()  # the parents if none have been selected
        if settings.first_generation == "mutations":
            first = generator(self._entropy, Purpose.OFFSPRING, 0)  # the addresses of children are longer
            self._founders = ((Genome(int(first.integers(self._num_indices))), (0, 0)),)
        if self._crosses:
            none = Genome(Weights.of(np.full(self._layout.parameter_count, np.nan)))
            self._fixed = _theta(start[0] if start else none)
        elif start:
            chosen = start[: settings.selection_threshold]
            self._founders = tuple((genome, (0, place)) for place, genome in enumerate(chosen))
        self._parents: Parents = self._founders
        self._elite: Elite | None = None
        self._stages = None if settings.stage_threshold is None else Stages(settings.stage_threshold)
        self._neurons = []
        if settings.crossover == "neurons":
            evolves = np.isnan(self._fixed)
            rank = np.cumsum(evolves) - 1
            self._neurons = [rank[places] for places in self._layout.neurons if evolves[places[0]]]
        self.fields = GA_FIELDS
        if settings.elite_rule == "carried":
            self.fields = tuple(name for name in GA_FIELDS if name not in VALIDATION_FIELDS)
        if self._crosses:
            self.fields = tuple(name for name in self.fields if name != ELITE_GENOME)  # weights are no recipe
        if self._stages:
            self.behaviour = "final_position"
            self.fields += STAGE_FIELDS

    @property
    def _rules(self) -> list[int | None]:
        return [*super()._rules, self._stages.stage if self._stages else None]

    @property
    def _crosses(self) -> bool:
        """Whether children have two parents and weights of their own."""
        return self.settings.crossover != "none"

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent, or the elite has the score at which the run ends."""
        target = self.settings.target_score
        return super().is_done or (target is not None and self._elite is not None and self._elite.score >= target)

    @override
    def _start_generation(self) -> None:
        super()._start_generation()
        self._validation_steps_now = 0
        self._contest: Contest | None = None  # None until the population has played
        self._round: Round | None = None  # of the contest; None before and after it

    def _child(self, parents: Parents, *address: int) -> tuple[Genome, Birth | None]:
        random = generator(self._entropy, Purpose.OFFSPRING, *address)
        if self._crosses:
            return self._crossed(parents, address[-1], random)
        if not parents:
            return Genome(int(random.integers(self._num_indices))), None
        parent, birth = parents[random.integers(len(parents))]
        return parent.mutated(int(random.integers(self._num_indices)), self._power), birth

    def _crossed(self, parents: Parents, place: int, random: np.random.Generator) -> tuple[Genome, Birth | None]:
        if not parents:
            index = int(random.integers(self._num_indices))
            return fresh(self._noise, self._layout, self.settings, fixed=self._fixed, index=index), None
        if place < self.settings.copied_parents:
            return parents[place]
        first, second = (parents[place] for place in random.integers(len(parents), size=2).tolist())
        return self._child_of(first[0], second[0], random), first[1]

    def _child_of(self, first: Genome, second: Genome, random: np.random.Generator) -> Genome:
        return child_of(
            first, second, self.settings, fixed=self._fixed, neurons=self._neurons, power=self._power, random=random
        )

    def _new_contest(self, ranked: Sequence[Individual]) -> Contest:
        return ELITE_RULES[self.settings.elite_rule](ranked, self._elite, self.settings)

    def _round_episodes(self, played: Round) -> list[Episode]:
        address = Purpose.VALIDATION_EPISODE, self.iteration
        return [
            self._episode(player.genome, *address, 0 if played.is_paired else individual, repeat)
            for individual, player in enumerate(played.players)
            for repeat in played.repeats
        ]

    def _test_episodes(self, contest: Contest) -> list[Episode]:
        genome, address = contest.elite.individual.genome, (Purpose.TEST_EPISODE, self.iteration, 0)
        return [self._episode(genome, *address, repeat) for repeat in range(self.settings.num_test_episodes)]

    def _describe_population(self, results: Sequence[EpisodeResult], *, limited: Sequence[EpisodeResult]) -> None:
        """Describes the population in the next report; `limited` are its episodes with the present limit of steps."""
        scores = [result.score for result in results]
        self._next_cutoff = self._cutoff.after(self._share_at_limit(limited))
        self._fields |= {
            "MutationPower": self._power,
            "PopulationEpRewMax": max(scores),
            "PopulationEpRewMean": float(np.mean(scores)),
            "PopulationEpCount": len(scores),
            "PopulationTimesteps": sum(result.steps for result in results),
            "NumSelectedIndividuals": self.settings.selection_threshold,
        }

    def _tell_contest(self, contest: Contest, results: Sequence[EpisodeResult]) -> None:
        contest.tell(results)
        self._count(results)
        self._validation_steps_now += sum(result.steps for result in results)

    def _report(
        self, contest: Contest, results: Sequence[EpisodeResult], parents: Sequence[Individual]
    ) -> dict[str, object]:
        """Ends a generation after its test episodes; `parents` are those that the lineage marks.

        Returns:
            The report. Its `score` is the elite's, its `test_score` that of the best solution so far. It adds `Lineage`
            (see `neurozoo.records.lineage`), and `STAGE_FIELDS` if the run has stages.
        """
        elite = contest.elite
        test_score = float(np.mean([result.score for result in results]))
        self.iteration += 1
        self._validation_steps += self._validation_steps_now
        self.best = best = self._better(elite, test_score)
        self._best_rules = self._rules
        fields = {
            "TruncatedPopulationEliteIndex": contest.place,
            **({ELITE_GENOME: elite.individual.genome.to_json()} if elite.individual.genome.is_recipe else {}),
            "TruncatedPopulationEliteTestRewMean": test_score,
            "TruncatedPopulationEliteTestEpCount": len(results),
            "TruncatedPopulationEliteTestEpLenSum": sum(result.steps for result in results),
            "ValidationTimestepsThisIter": self._validation_steps_now,
            "ValidationTimestepsSoFar": self._validation_steps,
            "TimestepsThisIter": self._fields["PopulationTimesteps"] + self._validation_steps_now,
            "TimestepsComputed": self.steps - self._validation_steps,
            "TimestepsSoFar": self.steps,
        }
        if contest.candidates:
            fields |= {
                "TruncatedPopulationRewMean": float(np.mean([c.fitness for c in contest.candidates])),
                "TruncatedPopulationValidationRewMean": float(np.mean(contest.scores)),
                "TruncatedPopulationEliteValidationRewMean": elite.score,
            }
        self._elite = elite
        if self._next_cutoff != self._cutoff:
            self._cutoff = self._next_cutoff
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
        """Returns the best solution so far, which the elite may be."""
        best, genome = self.best, elite.individual.genome
        keeps_best = self.settings.elite_rule in KEEPS_BEST_ELITE
        score = best.validation_score if best and self._best_rules == self._rules else None
        if best and keeps_best and score is not None and elite.score <= score:
            return best
        if best and not keeps_best and genome == best.genome:
            return replace(best, validation_score=elite.score, test_score=test_score)
        return Solution(genome, elite.score, test_score, self.iteration, self.frames)

    @override
    def get_state(self) -> dict:
        return {
            **super().get_state(),
            "validation_steps": self._validation_steps,
            "genomes": self._weights_name if self._crosses else pack(self._genomes())[0],
            "parent_births": [list(birth) for _, birth in self._parents],
            "elite": self._elite.to_json() if self._elite else None,
            **({"stage": self._stages.stage} if self._stages else {}),
        }

    @override
    def get_arrays(self) -> dict[str, np.ndarray]:
        if self._crosses:
            thetas = [decode(genome, noise=self._noise, layout=self._layout) for genome in self._genomes()]
            return {self._weights_name: np.array(thetas, np.float32).reshape(-1, self._layout.parameter_count)}
        return pack(self._genomes())[1]  # the blocks of mutations that the genomes share

    @property
    def _weights_name(self) -> str:
        return f"weights-{self.iteration:05}"

    def _genomes(self) -> list[Genome]:
        """Returns the genomes in the state: of the parents, of the elite and of the best solution, in this order."""
        elite = [self._elite.individual.genome] if self._elite else []
        return [*(genome for genome, _ in self._parents), *elite, *([self.best.genome] if self.best else [])]

    @override
    def _restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> Genome | None:
        if self._crosses:
            return self._take_genomes(state, [Genome(Weights.of(theta)) for theta in arrays[state["genomes"]]])
        return self._take_genomes(state, unpack(state["genomes"], arrays))

    def _take_genomes(self, state: Mapping, genomes: list[Genome]) -> Genome | None:
        """Takes over a state, whose genomes come in the order of `_genomes`; returns that of the best solution."""
        self._validation_steps = state["validation_steps"]
        births = [(generation, place) for generation, place in state["parent_births"]]
        self._parents = tuple((genomes.pop(0), birth) for birth in births)
        self._elite = Elite.from_json(state["elite"], genome=genomes.pop(0)) if state["elite"] else None
        if self._stages:
            self._stages.stage = state["stage"]
        return genomes.pop(0) if state["best"] else None


def with_elite(ranked: Sequence[Individual], elite: Individual | None, count: int) -> list[Individual]:
    """Returns `count` parents: the best, and the elite, which takes the place of the last one if need be."""
    top = list(ranked[:count])
    if elite and count and elite.genome not in [individual.genome for individual in top]:
        top = [elite, *top[: count - 1]]
    return top


def lineage_rows(contest: Contest, parents: Sequence[Individual]) -> list[list]:
    """Lists the individuals that were selected or validated in a generation, with the columns of `records.lineage`."""
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
