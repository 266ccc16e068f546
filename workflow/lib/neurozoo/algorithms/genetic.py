"""The genetic algorithm of Such et al. 2017 (arXiv:1712.06567); without parents it is random search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from neurozoo.algorithms.base import Batch, Solution, Starts
from neurozoo.algorithms.cutoff import EpisodeCutoff
from neurozoo.algorithms.randomness import Purpose, generator
from neurozoo.algorithms.schedules import Schedule
from neurozoo.algorithms.settings import GaSettings
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.games import Protocol
from neurozoo.genomes import Genome
from neurozoo.networks import Layout
from neurozoo.tabular import GA_FIELDS


@dataclass(frozen=True)
class Candidate:
    """A genome and the mean score of its training episode."""

    genome: Genome
    fitness: float


class GeneticAlgorithm:
    """Truncation selection over mutations, with an elite that is validated anew in every generation.

    One generation is three rounds of `ask` and `tell`: the population, one episode each; the best of it and the
    previous elite, several episodes each, of which the best becomes the elite; and test episodes of the elite, by
    which nothing is chosen and which no budget counts.

    Deviations from the published code: the logged mutation power is the one that was used (not the next one); the
    best solution so far is the elite with the best validation mean (not the elite of the generation whose validated
    candidates had the best mean together); randomness is counted, so that runs repeat.

    Args:
        settings: What can be set.
        run: Number of the run, part of the seed.
        layout: The network.
        noise: The noise table, of which only the length matters.
        protocol: How episodes are played.

    Source: Such et al. 2017, arXiv:1712.06567, and the published code.
    """

    fields = GA_FIELDS
    behaviour = "none"

    def __init__(
        self, settings: GaSettings, *, run: int, layout: Layout, noise: np.ndarray, protocol: Protocol
    ) -> None:
        self.settings = settings
        self._entropy = (settings.seed, run)
        self._starts = Starts(self._entropy, protocol)
        self._indices = len(noise) - layout.parameter_count + 1
        self._schedule = Schedule.from_setting(settings.mutation_power)
        self._cutoff = EpisodeCutoff.from_setting(settings.episode_cutoff_mode)
        self.iteration = 0  # finished generations
        self.steps = 0
        self.frames = 0
        self._validation_steps = 0
        self._population_steps = 0
        self._parents: tuple[Genome, ...] = ()
        self._elite: Candidate | None = None
        self.best: Solution | None = None
        self._start_generation()

    def _start_generation(self) -> None:
        self._phase = "population"
        self._power = self._schedule.value(iteration=self.iteration, steps=self.steps, frames=self.frames)
        self._offspring = tuple(self._child(i) for i in range(self.settings.population_size))
        self._fields: dict[str, object] = {}
        self._sorted: list[Candidate] = []
        self._validated: list[Candidate] = []
        self._chosen: tuple[Candidate, float] | None = None

    def _child(self, individual: int) -> Genome:
        random = generator(self._entropy, Purpose.OFFSPRING, self.iteration, individual)
        if not self._parents:
            return Genome(int(random.integers(self._indices)))
        parent = self._parents[random.integers(len(self._parents))]
        return parent.mutated(int(random.integers(self._indices)), self._power)

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; only asked between generations."""
        return self.frames >= self.settings.frames

    def ask(self) -> Batch:
        """Returns the episodes of the present phase; asking twice gives the same."""
        held = (*self._parents, *((self._elite.genome,) if self._elite else ()))
        if self._phase == "population":
            genomes, repeats, purpose = self._offspring, 1, Purpose.POPULATION_EPISODE
        elif self._phase == "validation":
            genomes, repeats = [c.genome for c in self._validated], self.settings.num_validation_episodes
            purpose = Purpose.VALIDATION_EPISODE
        else:
            genomes, repeats, purpose = [self._chosen[0].genome], self.settings.num_test_episodes, Purpose.TEST_EPISODE
        return Batch(
            self._phase,
            tuple(dict.fromkeys(held)),
            tuple(
                self._episode(genome, purpose, individual, repeat)
                for individual, genome in enumerate(genomes)
                for repeat in range(repeats)
            ),
            is_counted=self._phase != "test",
        )

    def _episode(self, genome: Genome, purpose: Purpose, individual: int, repeat: int) -> Episode:
        cutoff = None if purpose == Purpose.TEST_EPISODE else self._cutoff.limit
        return self._starts.episode(genome, purpose, self.iteration, individual, repeat, cutoff=cutoff)

    def tell(self, results: Sequence[EpisodeResult]) -> dict[str, object] | None:
        """Takes the results of the last `ask`, in its order.

        Returns:
            None, or after the test episodes the report of the generation: the standard keys `frames`, `score`,
            `test_score` and `test_episodes` (of the best solution so far) and the published fields, without times.
        """
        if self._phase == "population":
            self._tell_population(results)
            self._phase = "validation"
            return None
        if self._phase == "validation":
            self._tell_validation(results)
            self._phase = "test"
            return None
        report = self._tell_test(results)
        self._start_generation()
        return report

    def _tell_population(self, results: Sequence[EpisodeResult]) -> None:
        scores = [result.score for result in results]
        candidates = [Candidate(genome, score) for genome, score in zip(self._offspring, scores, strict=True)]
        self._sorted = sorted(candidates, key=lambda candidate: -candidate.fitness)  # stable
        count = self.settings.validation_threshold
        self._validated = [self._elite, *self._sorted[: count - 1]] if self._elite else self._sorted[:count]
        self._count(results)
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

    def _tell_validation(self, results: Sequence[EpisodeResult]) -> None:
        shape = (len(self._validated), self.settings.num_validation_episodes)
        means = np.array([result.score for result in results]).reshape(shape).mean(axis=1)
        index = int(means.argmax())  # the first of equals
        self._chosen = (self._validated[index], float(means[index]))
        self._count(results)
        steps = sum(result.steps for result in results)
        self._validation_steps += steps
        self._fields |= {
            "TruncatedPopulationRewMean": float(np.mean([c.fitness for c in self._validated])),
            "TruncatedPopulationValidationRewMean": float(means.mean()),
            "TruncatedPopulationEliteValidationRewMean": float(means[index]),
            "TruncatedPopulationEliteIndex": index,
            "TruncatedPopulationEliteSeeds": self._chosen[0].genome.to_json(),
            "ValidationTimestepsThisIter": steps,
            "ValidationTimestepsSoFar": self._validation_steps,
            "TimestepsThisIter": self._fields["PopulationTimesteps"] + steps,
            "TimestepsComputed": self._population_steps,
            "TimestepsSoFar": self.steps,
        }

    def _tell_test(self, results: Sequence[EpisodeResult]) -> dict[str, object]:
        elite, validation_score = self._chosen
        test_score = float(np.mean([result.score for result in results]))
        self.iteration += 1
        if self.best is None or validation_score > self.best.validation_score:
            self.best = Solution(elite.genome, validation_score, test_score, self.iteration, self.frames)
        report = {
            "frames": self.frames,
            "score": validation_score,
            "test_score": self.best.test_score,
            "test_episodes": len(results),
            "Iteration": self.iteration,
            **self._fields,
            "TruncatedPopulationEliteTestRewMean": test_score,
            "TruncatedPopulationEliteTestEpCount": len(results),
            "TruncatedPopulationEliteTestEpLenSum": sum(result.steps for result in results),
        }
        self._elite = elite
        self._select_parents()
        self._cutoff = self._cutoff.after(self._share_at_limit)
        return report

    def _select_parents(self) -> None:
        count = self.settings.selection_threshold
        top = [candidate.genome for candidate in self._sorted[:count]]
        if count and self._elite.genome not in top:
            top = [self._elite.genome, *top[: count - 1]]
        self._parents = tuple(top)

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
            "parents": [genome.to_json() for genome in self._parents],
            "elite": {"genome": self._elite.genome.to_json(), "fitness": self._elite.fitness} if self._elite else None,
            "best": {**vars(self.best), "genome": self.best.genome.to_json()} if self.best else None,
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns nothing: genomes are small enough for the state itself."""
        return {}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` returned, as if nothing had happened.

        Raises:
            LookupError, TypeError: `state` is something else.
        """
        self.iteration, self.steps, self.frames = state["iteration"], state["steps"], state["frames"]
        self._validation_steps, self._population_steps = state["validation_steps"], state["population_steps"]
        self._cutoff = replace(self._cutoff, limit=state["cutoff_limit"])
        self._parents = tuple(Genome.from_json(genome) for genome in state["parents"])
        elite, best = state["elite"], state["best"]
        self._elite = Candidate(Genome.from_json(elite["genome"]), elite["fitness"]) if elite else None
        self.best = Solution(**{**best, "genome": Genome.from_json(best["genome"])}) if best else None
        self._start_generation()
