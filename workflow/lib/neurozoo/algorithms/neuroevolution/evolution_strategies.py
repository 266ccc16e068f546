"""Evolution strategies: Salimans et al. 2017 (arXiv:1703.03864), in the form published with Such et al. 2017."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from neurozoo.algorithms.neuroevolution.base import Batch, Solution, Starts
from neurozoo.algorithms.neuroevolution.cutoff import EpisodeCutoff
from neurozoo.algorithms.neuroevolution.observation_statistics import ObservationStatistics
from neurozoo.algorithms.neuroevolution.ranks import TiedRanks, centered_ranks
from neurozoo.algorithms.neuroevolution.schedules import Schedule
from neurozoo.algorithms.neuroevolution.search_distribution import SearchDistribution
from neurozoo.algorithms.neuroevolution.settings import EsSettings
from neurozoo.environments.protocols import Protocol
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome, decode
from neurozoo.networks.description import Layout
from neurozoo.randomness import Entropy, Purpose, generator
from neurozoo.records.published_log import ES_FIELDS


class EvolutionStrategy:
    """One set of weights that climbs the mean score of its perturbations.

    One generation has two phases of `ask` and `tell`. First, mirrored pairs of perturbed weights play one episode each;
    their scores give the step. Then the new weights play test episodes, which select nothing and which no budget
    counts. Before the first generation the initial weights are tested, too.

    Deviations from the published code are listed in `docs/es.md`.

    Args:
        settings: The settings.
        entropy: What random numbers depend on besides their address; see `run_entropy`.
        layout: The network.
        noise: The noise table.
        protocol: How episodes are played.
        start: A genome with the initial weights; none for random ones.

    Attributes:
        threads: Threads that add up the gradient, which does not depend on their number.

    Source: Salimans et al. 2017, arXiv:1703.03864; Such et al. 2017, arXiv:1712.06567, and the published code.
    """

    fields = ES_FIELDS
    behaviour = "none"
    threads = 1

    def __init__(
        self,
        settings: EsSettings,
        *,
        entropy: Entropy,
        layout: Layout,
        noise: np.ndarray,
        protocol: Protocol,
        start: Sequence[Genome] = (),
    ) -> None:
        self.settings = settings
        self._entropy = entropy
        self._starts = Starts(self._entropy, protocol, action_noise=settings.action_noise)
        self._statistics: ObservationStatistics | None = None
        if layout.needs_statistics:
            self._statistics = ObservationStatistics(layout.observation_shape, share=settings.observation_statistics)
            self.behaviour = "observation_sums"
        self._noise = noise
        self._last_index = len(noise) - layout.parameter_count
        self._schedule = Schedule.from_setting(settings.mutation_power)
        self._cutoff = EpisodeCutoff.from_setting(settings.episode_cutoff_mode)
        self.iteration = 0  # finished generations
        self.steps = 0
        self.frames = 0
        self.best: Solution | None = None
        self._initial: dict[str, float] | None = None  # scores of the initial weights
        theta = (
            decode(start[0], noise=noise, layout=layout)
            if start
            else initial_theta(self._entropy, layout=layout, noise=noise)
        )
        self._agent = SearchDistribution(theta, settings=settings)
        self._start_generation()

    def _start_generation(self) -> None:
        self._phase = "population" if self._initial else "initial"
        self._power = self._schedule.value(iteration=self.iteration, steps=self.steps, frames=self.frames)
        random = generator(self._entropy, Purpose.OFFSPRING, self.iteration)
        self._indices = random.integers(self._last_index + 1, size=self.settings.population_size // 2)
        self._fields: dict[str, object] = {}

    @property
    def reference(self) -> np.ndarray | None:
        """Mean and standard deviation of observations; they change after each population."""
        return self._statistics.reference if self._statistics else None

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; read only between generations."""
        return self.frames >= self.settings.frames

    def ask(self) -> Batch:
        """Returns the episodes of the current phase; a second call returns the same."""
        if self._phase == "population":
            genomes = self._agent.perturbed(self._indices, power=self._power)
            return Batch(
                self._phase,
                (self._agent.genome,),
                tuple(
                    self._starts.episode(
                        genome, Purpose.POPULATION_EPISODE, self.iteration, individual, cutoff=self._cutoff.limit
                    )
                    for individual, genome in enumerate(genomes)
                ),
            )
        purpose = Purpose.INITIAL_EPISODE if self._phase == "initial" else Purpose.TEST_EPISODE
        return Batch(
            self._phase,
            (self._agent.genome,),
            tuple(
                self._starts.episode(
                    self._agent.genome, purpose, self.iteration, repeat, cutoff=self.settings.test_cutoff
                )
                for repeat in range(self.settings.num_test_episodes)
            ),
            is_counted=False,
        )

    def tell(self, results: Sequence[EpisodeResult]) -> dict[str, object] | None:
        """Takes the results of the last `ask`, in its order.

        Returns:
            None, or after the test episodes the report of the generation: the standard keys `frames`, `score`,
            `score_episodes`, `test_score` and `test_episodes`, the published fields, without times, and `Norm`,
            `GradNorm` and `UpdateRatio` as in the distributed code.
        """
        count = self.settings.population_size if self._phase == "population" else self.settings.num_test_episodes
        if len(results) != count:
            raise ValueError(f"{count} results were expected, but {len(results)} came")
        if self._phase == "initial":
            scores = [result.score for result in results]
            self._initial = {
                "InitialRewMax": float(max(scores)),
                "InitialRewMean": float(np.mean(scores)),
                "InitialRewMedian": float(np.median(scores)),
            }
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
        fitness = processed(results, self.settings.return_proc_mode, ties=self.settings.tied_ranks)
        scores = [result.score for result in results]
        steps = sum(result.steps for result in results)
        self.steps += steps
        self.frames += sum(result.frames for result in results)
        limit = self._cutoff.limit
        self._fields |= {
            "MutationPower": self._power,
            "TimestepLimitPerEpisode": limit,
            "PopulationEpRewMax": float(max(scores)),
            "PopulationEpRewMean": float(np.mean(scores)),
            "PopulationEpRewMedian": float(np.median(scores)),
            "PopulationEpCount": len(scores),
            "PopulationTimesteps": steps,
            "TimestepsThisIter": steps,
            "TimestepsComputed": self.steps,
            "TimestepsSoFar": self.steps,
            **self._agent.follow(fitness, indices=self._indices, noise=self._noise, threads=self.threads),
        }
        if self._statistics:
            self._statistics.add(results, generator(self._entropy, Purpose.OBSERVATION_STATISTICS, self.iteration))
            self._fields["ObCount"] = self._statistics.count
        share_at_limit = 0.0 if limit is None else float(np.mean([result.steps >= limit for result in results]))
        self._cutoff = self._cutoff.after(share_at_limit)

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
            **(self._initial or {}),
        }

    def get_state(self) -> dict:
        """Returns what the next generation depends on, as plain JSON; only between generations."""
        return {
            "iteration": self.iteration,
            "steps": self.steps,
            "frames": self.frames,
            "cutoff_limit": self._cutoff.limit,
            "initial": self._initial,
            "test_score": self.best and self.best.test_score,
            "agent": self._agent.get_state(),
            **({"observations": self._statistics.get_state()} if self._statistics else {}),
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the weights and the optimizer's slots, such as `theta-00012`; float32, shape (parameters,)."""
        sums = {f"observations-{self.iteration:05}": self._statistics.sums} if self._statistics else {}
        return {**self._agent.get_arrays(), **sums}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned, as if there had been no interruption.

        Raises:
            LookupError, TypeError, ValueError: `state` is something else.
        """
        self.iteration, self.steps, self.frames = state["iteration"], state["steps"], state["frames"]
        self._cutoff = replace(self._cutoff, limit=state["cutoff_limit"])
        self._initial = state["initial"] and dict(state["initial"])
        self._agent.set_state(state["agent"], arrays)
        if self._statistics:
            self._statistics.set_state(state["observations"], arrays[f"observations-{self.iteration:05}"])
        self.best = None
        if state["test_score"] is not None:
            self.best = Solution(self._agent.genome, None, state["test_score"], self.iteration, self.frames)
        self._start_generation()


def initial_theta(entropy: Entropy, *address: int, layout: Layout, noise: np.ndarray) -> np.ndarray:
    """Draws the initial weights of a run: those of a genome without mutations.

    Args:
        entropy: See `run_entropy`.
        address: Number of the agent, if there are several.
        layout: The network.
        noise: The noise table.
    """
    random = generator(entropy, Purpose.INITIAL_WEIGHTS, *address)
    index = int(random.integers(len(noise) - layout.parameter_count + 1))
    return layout.initialise(noise[index : index + layout.parameter_count])


def processed(results: Sequence[EpisodeResult], mode: str, *, ties: TiedRanks = "order") -> np.ndarray:
    """Returns the fitness of the perturbed weights, which weights the gradient.

    Args:
        results: One episode each.
        mode: `centered_rank`: ranks of the scores. `sign`: sums of the signs of the rewards. `centered_sign_rank`:
            ranks of these sums.
        ties: Ranks of equal scores, see `centered_ranks`.

    Returns:
        float32, shape (results,).
    """
    if mode == "centered_rank":
        return centered_ranks(np.array([result.score for result in results]), ties=ties)
    signs = np.array([result.sign_score for result in results], np.float32)
    return signs if mode == "sign" else centered_ranks(signs, ties=ties)
