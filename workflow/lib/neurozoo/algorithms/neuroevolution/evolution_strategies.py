"""Evolution strategies: Salimans et al. 2017 (arXiv:1703.03864), in the form published with Such et al. 2017."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from typing_extensions import override

from neurozoo.algorithms.neuroevolution.base import Algorithm, Batch, Solution
from neurozoo.algorithms.neuroevolution.search_distribution import SearchDistribution, centered_ranks
from neurozoo.algorithms.neuroevolution.settings import EsSettings, GradientSettings
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome, decode
from neurozoo.randomness import Purpose, generator
from neurozoo.records.published_log import ES_FIELDS

INITIAL = 0.01  # of the sum of squares and of the count: the first mean is 0, the first standard deviation 1
LEAST_VARIANCE = 0.01

AnyGradientSettings = TypeVar("AnyGradientSettings", bound=GradientSettings)


class GradientSearch(Algorithm[AnyGradientSettings]):
    """What evolution strategies share: mirrored pairs of perturbed weights, and tests of the weights."""

    _phase: str
    _agent: SearchDistribution  # that moves in this generation

    @override
    def _start_generation(self) -> None:
        super()._start_generation()
        random = generator(self._entropy, Purpose.OFFSPRING, self.iteration)
        self._indices = random.integers(self._num_indices, size=self.settings.population_size // 2)

    def _random_agent(self, *address: int) -> SearchDistribution:
        """Draws initial weights, those of a genome without mutations."""
        index = int(generator(self._entropy, Purpose.INITIAL_WEIGHTS, *address).integers(self._num_indices))
        noise = self._noise[index : index + self._layout.parameter_count]
        return SearchDistribution(self._layout.initialise(noise), settings=self.settings)

    def _perturbed(self) -> Batch:
        genomes = self._agent.perturbed(self._indices, power=self._power)
        episodes = (
            self._episode(genome, Purpose.POPULATION_EPISODE, self.iteration, individual)
            for individual, genome in enumerate(genomes)
        )
        return Batch(self._phase, (self._agent.genome,), tuple(episodes))

    def _played(self, purpose: Purpose, count: int, *, is_counted: bool) -> Batch:
        genome = self._agent.genome
        episodes = tuple(self._episode(genome, purpose, self.iteration, repeat) for repeat in range(count))
        return Batch(self._phase, (genome,), episodes, is_counted)

    def _follow(self, fitness: np.ndarray) -> dict[str, float]:
        return self._agent.follow(fitness, indices=self._indices, noise=self._noise, threads=self.threads)


class ObservationStatistics:
    """Running statistics of observations, by which networks scale what they see.

    An episode of a population enters them with the probability `share`. An observation has the shape (height, width,
    channels).

    Attributes:
        sums: Of the observations and of their squares: float64, shape (2, numbers).
        count: Number of observations.

    Source: the published code of Salimans et al. 2017 and of Such et al. 2017 (RunningStat).
    """

    def __init__(self, shape: tuple[int, int, int], *, share: float) -> None:
        self._shape, self._share = shape, share
        self.sums = np.zeros((2, int(np.prod(shape))))
        self.sums[1] = INITIAL
        self.count = INITIAL

    def add(self, results: Sequence[EpisodeResult], random: np.random.Generator) -> None:
        """Adds the observations of some episodes, which `random` chooses."""
        for place in np.flatnonzero(random.random(len(results)) < self._share).tolist():
            self.sums = self.sums + np.asarray(results[place].behaviour)  # a new array: the old one may be in a state
            self.count += results[place].steps

    @property
    def reference(self) -> np.ndarray:
        """Mean and standard deviation: float32, shape (2, height, width, channels)."""
        mean, square = self.sums / self.count
        deviation = np.sqrt(np.maximum(square - mean * mean, LEAST_VARIANCE))
        return np.stack([mean, deviation]).astype(np.float32).reshape(2, *self._shape)


class EvolutionStrategy(GradientSearch[EsSettings]):
    """One set of weights that climbs the mean score of its perturbations.

    One generation has two phases of `ask` and `tell`. First, mirrored pairs of perturbed weights play one episode each;
    their scores give the step. Then the new weights play test episodes, which select nothing and which no budget
    counts. Before the first generation the initial weights are tested, too. A genome in `start` holds initial weights.

    Deviations from the published code are listed in `docs/es.md`.

    Source: Salimans et al. 2017, arXiv:1703.03864; Such et al. 2017, arXiv:1712.06567, and the published code.
    """

    fields = ES_FIELDS

    @override
    def _begin(self, start: Sequence[Genome]) -> None:
        self._statistics: ObservationStatistics | None = None
        if self._layout.needs_statistics:
            shape = self._layout.observation_shape
            self._statistics = ObservationStatistics(shape, share=self.settings.observation_statistics)
            self.behaviour = "observation_sums"
            self.reference = self._statistics.reference
        self._initial: dict[str, float] = {}  # scores of the initial weights
        if start:
            theta = decode(start[0], noise=self._noise, layout=self._layout)
            self._agent = SearchDistribution(theta, settings=self.settings)
        else:
            self._agent = self._random_agent()

    @override
    def _start_generation(self) -> None:
        super()._start_generation()
        self._phase = "population" if self._initial else "initial"

    @override
    def ask(self) -> Batch:
        if self._phase == "population":
            return self._perturbed()
        purpose = Purpose.INITIAL_EPISODE if self._phase == "initial" else Purpose.TEST_EPISODE
        return self._played(purpose, self.settings.num_test_episodes, is_counted=False)

    @override
    def tell(self, results: Sequence[EpisodeResult]) -> dict[str, object] | None:
        if self._phase == "initial":
            self._initial = _statistics_of(results, "InitialRew")
            self._phase = "population"
            return None
        if self._phase == "population":
            self._tell_population(results)
            self._phase = "test"
            return None
        report = self._tell_test(results)
        self._start_generation()
        return report

    def _tell_population(self, results: Sequence[EpisodeResult]) -> None:
        mode = self.settings.return_proc_mode
        values = np.array([r.score if mode == "centered_rank" else r.sign_score for r in results])
        fitness = values.astype(np.float32) if mode == "sign" else centered_ranks(values, ties=self.settings.tied_ranks)
        steps = sum(result.steps for result in results)
        self._count(results)
        self._fields |= {
            "MutationPower": self._power,
            "TimestepLimitPerEpisode": self._cutoff.limit,
            **_statistics_of(results, "PopulationEpRew"),
            "PopulationEpCount": len(results),
            "PopulationTimesteps": steps,
            "TimestepsThisIter": steps,
            "TimestepsComputed": self.steps,
            "TimestepsSoFar": self.steps,
            **self._follow(fitness),  # `Norm`, `GradNorm` and `UpdateRatio` as in the distributed code
        }
        if self._statistics:
            self._statistics.add(results, generator(self._entropy, Purpose.OBSERVATION_STATISTICS, self.iteration))
            self._fields["ObCount"] = self._statistics.count
            self.reference = self._statistics.reference
        self._cutoff = self._cutoff.after(self._share_at_limit(results))

    def _tell_test(self, results: Sequence[EpisodeResult]) -> dict[str, object]:
        scores = [result.score for result in results]
        score = float(np.mean(scores))
        self.iteration += 1
        self.best = Solution(self._agent.genome, None, score, self.iteration, self.frames)
        return {
            "frames": self.frames,
            "score": score,
            "score_episodes": len(results),
            "test_score": score,
            "test_episodes": len(results),
            "Iteration": self.iteration,
            **self._fields,
            "TestRewMean": score,
            "TestRewMedian": float(np.median(scores)),
            "TestEpCount": len(results),
            "TestEpLenSum": sum(result.steps for result in results),
            **self._initial,
        }

    @override
    def get_state(self) -> dict:
        observations = {"observations": {"count": self._statistics.count}} if self._statistics else {}
        return {**super().get_state(), "initial": self._initial, "agent": self._agent.get_state(), **observations}

    @override
    def get_arrays(self) -> dict[str, np.ndarray]:
        sums = {f"observations-{self.iteration:05}": self._statistics.sums} if self._statistics else {}
        return {**self._agent.get_arrays(), **sums}

    @override
    def _restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> Genome:
        self._initial = dict(state["initial"])
        self._agent.set_state(state["agent"], arrays)
        if self._statistics:
            self._statistics.count = state["observations"]["count"]
            self._statistics.sums = arrays[f"observations-{self.iteration:05}"]
            self.reference = self._statistics.reference
        return self._agent.genome


def _statistics_of(results: Sequence[EpisodeResult], name: str) -> dict[str, float]:
    scores = [result.score for result in results]
    return {f"{name}Max": max(scores), f"{name}Mean": float(np.mean(scores)), f"{name}Median": float(np.median(scores))}
