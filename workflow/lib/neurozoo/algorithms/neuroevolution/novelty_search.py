"""Evolution strategies that search for novel behaviour: NS-ES, NSR-ES and NSRA-ES (Conti et al. 2018)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from neurozoo.algorithms.neuroevolution.base import Batch, Solution, Starts
from neurozoo.algorithms.neuroevolution.cutoff import EpisodeCutoff
from neurozoo.algorithms.neuroevolution.evolution_strategies import initial_theta
from neurozoo.algorithms.neuroevolution.novelty import Archive, behaviours_of, choose_behaviour, mean_behaviour, novelty
from neurozoo.algorithms.neuroevolution.ranks import centered_ranks
from neurozoo.algorithms.neuroevolution.schedules import Schedule
from neurozoo.algorithms.neuroevolution.search_distribution import SearchDistribution
from neurozoo.algorithms.neuroevolution.settings import NoveltySettings, NsraSettings
from neurozoo.environments.protocols import Protocol
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome, Weights
from neurozoo.networks.description import Layout
from neurozoo.randomness import Entropy, Purpose, generator
from neurozoo.records.published_log import NOVELTY_FIELDS


class NoveltyStrategy:
    """NS-ES: a few evolution strategies that all move away from the behaviours in their common archive.

    One generation moves one agent, chosen by its novelty, in three phases of `ask` and `tell`. First, mirrored pairs of
    perturbed weights play one episode each; their behaviours give the step. Then the new weights play `rollouts`: a
    mean behaviour goes into the archive, and the mean score decides which weights are the result. At the end they play
    test episodes, which select nothing and which no budget counts. Before the first generation, the behaviour of every
    agent goes into the archive (`initial`).

    Deviations from the published code are listed in `docs/novelty.md`.

    Args:
        settings: The settings.
        entropy: What random numbers depend on besides their address; see `run_entropy`.
        layout: The network.
        noise: The noise table.
        protocol: How episodes are played.

    Attributes:
        threads: Threads that add up the gradient, which does not depend on their number.

    Source: Conti et al. 2018, arXiv:1712.06560, and the published code.
    """

    fields = NOVELTY_FIELDS
    threads = 1
    reference: np.ndarray | None = None

    def __init__(
        self, settings: NoveltySettings, *, entropy: Entropy, layout: Layout, noise: np.ndarray, protocol: Protocol
    ) -> None:
        self.settings = settings
        self.behaviour = choose_behaviour(settings.behaviour, protocol=protocol)
        self._entropy = entropy
        self._starts = Starts(self._entropy, protocol)
        self._noise = noise
        self._last_index = len(noise) - layout.parameter_count
        self._schedule = Schedule.from_setting(settings.mutation_power)
        self._cutoff = EpisodeCutoff.from_setting(settings.episode_cutoff_mode)
        self.iteration = 0  # finished generations
        self.steps = 0
        self.frames = 0
        self._episodes = 0
        self.best: Solution | None = None
        self._best_limit = self._cutoff.limit  # with which the best solution was scored
        self._archive = Archive()
        self._agents = [
            SearchDistribution(initial_theta(self._entropy, number, layout=layout, noise=noise), settings=settings)
            for number in range(settings.num_agents)
        ]
        self._newest: list[int] = []  # index in the archive of the newest behaviour of each agent
        self._start_generation()

    def _start_generation(self) -> None:
        self._power = self._schedule.value(iteration=self.iteration, steps=self.steps, frames=self.frames)
        random = generator(self._entropy, Purpose.OFFSPRING, self.iteration)
        self._indices = random.integers(self._last_index + 1, size=self.settings.population_size // 2)
        self._steps_now = self._episodes_now = 0
        self._fields: dict[str, object] = {}
        self._phase = "initial"
        if self._newest:
            self._choose_agent()

    def _choose_agent(self) -> None:
        self._phase = "population"
        own = [self._archive.behaviours[place] for place in self._newest]
        novelties = novelty(own, self._archive.behaviours, nearest=self.settings.num_neighbours)
        if self.settings.selection == "round_robin":
            self._number = self.iteration % len(self._agents)
        else:
            draw = generator(self._entropy, Purpose.AGENT_CHOICE, self.iteration).random()
            shares = novelties if novelties.sum() > 0 else np.ones(len(novelties))
            bounds = np.cumsum(shares)
            self._number = int(np.searchsorted(bounds, draw * bounds[-1], side="right"))
        self._agent = self._agents[self._number]
        self._fields |= {"ParentId": self._number, "AgentNovelty": float(novelties[self._number])}

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; read only between generations."""
        return self.frames >= self.settings.frames

    def ask(self) -> Batch:
        """Returns the episodes of the current phase; a second call returns the same."""
        at, cutoff = self.iteration, self._cutoff.limit
        if self._phase == "initial":
            # They begin the archive and count in the budget: no tests, as the first episodes of `es` are.
            starts = partial(self._starts.episode, cutoff=cutoff, seeds_of=Purpose.POPULATION_EPISODE)
            episodes = [
                starts(agent.genome, Purpose.INITIAL_EPISODE, at, number, repeat)
                for number, agent in enumerate(self._agents)
                for repeat in range(self.settings.num_rollouts)
            ]
            return Batch(self._phase, tuple(agent.genome for agent in self._agents), tuple(episodes))
        genome = self._agent.genome
        if self._phase == "population":
            genomes = self._agent.perturbed(self._indices, power=self._power)
            episodes = [
                self._starts.episode(child, Purpose.POPULATION_EPISODE, at, individual, cutoff=cutoff)
                for individual, child in enumerate(genomes)
            ]
        elif self._phase == "rollouts":
            episodes = [
                self._starts.episode(genome, Purpose.AGENT_EPISODE, at, repeat, cutoff=cutoff)
                for repeat in range(self.settings.num_validation_episodes)
            ]
        else:
            episodes = [
                self._starts.episode(genome, Purpose.TEST_EPISODE, at, repeat, cutoff=self.settings.test_cutoff)
                for repeat in range(self.settings.num_test_episodes)
            ]
        return Batch(self._phase, (genome,), tuple(episodes), is_counted=self._phase != "test")

    def tell(self, results: Sequence[EpisodeResult]) -> dict[str, object] | None:
        """Takes the results of the last `ask`, in its order; those of `test` need no behaviours.

        Returns:
            None, or after the test episodes the report of the generation: the standard keys `frames`, `score` and
            `score_episodes` (mean and number of the rollouts), `test_score` and `test_episodes` (of the best solution
            so far) and the fields of `NOVELTY_FIELDS`, without times.

        Raises:
            ValueError: The number of results is wrong, or an episode lacks its behaviour.
        """
        settings = self.settings
        count = {
            "initial": settings.num_agents * settings.num_rollouts,
            "population": settings.population_size,
            "rollouts": settings.num_validation_episodes,
            "test": settings.num_test_episodes,
        }[self._phase]
        if len(results) != count:
            raise ValueError(f"{count} results were expected, but {len(results)} came")
        if self._phase == "test":
            report = self._tell_test(results)
            self._start_generation()
            return report
        behaviours = behaviours_of(results)
        self._count(results)
        if self._phase == "initial":
            self._tell_initial(behaviours)
        elif self._phase == "population":
            self._tell_population(results, behaviours)
            self._phase = "rollouts"
        else:
            self._tell_rollouts(results, behaviours)
            self._phase = "test"
        return None

    def _tell_initial(self, behaviours: Sequence[np.ndarray]) -> None:
        repeats = self.settings.num_rollouts
        groups = [behaviours[start : start + repeats] for start in range(0, len(behaviours), repeats)]
        self._archive.add([mean_behaviour(group) for group in groups])
        self._newest = list(range(len(self._agents)))
        self._choose_agent()

    def _tell_population(self, results: Sequence[EpisodeResult], behaviours: Sequence[np.ndarray]) -> None:
        scores = np.array([result.score for result in results])
        lengths = np.array([result.steps for result in results])
        novelties = novelty(behaviours, self._archive.behaviours, nearest=self.settings.num_neighbours)
        ties = self.settings.tied_ranks
        fitness = self._fitness(centered_ranks(scores, ties=ties), centered_ranks(novelties, ties=ties))
        self._scores = np.sort(scores)
        limit = self._cutoff.limit
        self._fields |= {
            "MutationPower": self._power,
            "RewardWeight": self._reward_weight,
            "EpRewMax": float(scores.max()),
            "EpRewMean": float(scores.mean()),
            "EpRewStd": float(scores.std()),
            "EpLenMean": float(lengths.mean()),
            "NoveltyMax": float(novelties.max()),
            "NoveltyMean": float(novelties.mean()),
            "TimestepLimitPerEpisode": limit,
            **self._agent.follow(fitness, indices=self._indices, noise=self._noise, threads=self.threads),
        }
        self._cutoff = self._cutoff.after(0.0 if limit is None else float((lengths >= limit).mean()))

    @property
    def _reward_weight(self) -> float:
        return 0.0

    def _fitness(self, rewards: np.ndarray, novelties: np.ndarray) -> np.ndarray:
        weight = np.float32(self._reward_weight)
        return weight * rewards + (np.float32(1) - weight) * novelties

    def _tell_rollouts(self, results: Sequence[EpisodeResult], behaviours: Sequence[np.ndarray]) -> None:
        self._newest[self._number] = len(self._archive)
        self._archive.add([mean_behaviour(behaviours[: self.settings.num_rollouts])])
        scores = np.array([result.score for result in results])
        ranks = np.searchsorted(self._scores, scores) / len(self._scores)
        self._score = float(scores.mean())
        self._fields |= {
            "EvalEpRewMean": self._score,
            "EvalEpRewStd": float(scores.std()),
            "EvalEpLenMean": float(np.mean([result.steps for result in results])),
            "EvalPopRank": float(ranks.mean()),
            "EvalEpCount": len(scores),
        }
        self._adapt()

    def _adapt(self) -> None:
        """Adapts the weight of rewards after the rollouts."""

    def _tell_test(self, results: Sequence[EpisodeResult]) -> dict[str, object]:
        test_score = float(np.mean([result.score for result in results]))
        self.iteration += 1
        best, limit = self.best, self._cutoff.limit
        is_comparable, self._best_limit = self._best_limit == limit, limit
        score = best.validation_score if best and is_comparable else None
        if best is None or score is None or self._score > score:
            best = self.best = Solution(self._agent.genome, self._score, test_score, self.iteration, self.frames)
        return {
            "frames": self.frames,
            "score": self._score,
            "score_episodes": self._fields["EvalEpCount"],
            "test_score": best.test_score,
            "test_episodes": len(results),
            "Iteration": self.iteration,
            **self._fields,
            "TestRewMean": test_score,
            "TestEpCount": len(results),
            "TestEpLenSum": sum(result.steps for result in results),
            "ArchiveSize": len(self._archive),
            "EpisodesThisIter": self._episodes_now,
            "EpisodesSoFar": self._episodes,
            "TimestepsThisIter": self._steps_now,
            "TimestepsSoFar": self.steps,
        }

    def _count(self, results: Sequence[EpisodeResult]) -> None:
        steps = sum(result.steps for result in results)
        self.steps += steps
        self._steps_now += steps
        self.frames += sum(result.frames for result in results)
        self._episodes += len(results)
        self._episodes_now += len(results)

    def get_state(self) -> dict:
        """Returns what the next generation depends on, as plain JSON; only between generations."""
        return {
            "iteration": self.iteration,
            "steps": self.steps,
            "frames": self.frames,
            "episodes": self._episodes,
            "cutoff_limit": self._cutoff.limit,
            "agents": [agent.get_state() for agent in self._agents],
            "newest": list(self._newest),
            "archive": self._archive.get_state(),
            "best": {**vars(self.best), "genome": None} if self.best else None,
            "best_limit": self._best_limit,
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns weights and optimizers (`agent0-theta-00012`), the archive (`archive-00007`) and the best weights."""
        arrays = self._archive.get_arrays()
        for number, agent in enumerate(self._agents):
            arrays |= agent.get_arrays(f"agent{number}-")
        if self.best and isinstance(weights := self.best.genome.initial, Weights):
            arrays[f"best-{self.best.iteration:05}"] = weights.theta
        return arrays

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned, as if there had been no interruption.

        Raises:
            LookupError, TypeError, ValueError: `state` is something else.
        """
        self.iteration, self.steps, self.frames = state["iteration"], state["steps"], state["frames"]
        self._episodes = state["episodes"]
        self._cutoff = replace(self._cutoff, limit=state["cutoff_limit"])
        self._best_limit = state["best_limit"]
        self._archive.set_state(state["archive"], arrays)
        for number, (agent, its_state) in enumerate(zip(self._agents, state["agents"], strict=True)):
            agent.set_state(its_state, arrays, f"agent{number}-")
        self._newest = list(state["newest"])
        best = state["best"]
        if best:
            best = {**best, "genome": Genome(Weights.of(arrays[f"best-{best['iteration']:05}"]))}
        self.best = Solution(**best) if best else None
        self._start_generation()


class NoveltyRewardStrategy(NoveltyStrategy):
    """NSR-ES: rewards and novelty have equal weights.

    Source: Conti et al. 2018, arXiv:1712.06560.
    """

    @property
    def _reward_weight(self) -> float:
        return 0.5


class AdaptiveNoveltyStrategy(NoveltyStrategy):
    """NSRA-ES: the weight of rewards adapts. It falls while the score does not improve, so that novelty counts more.

    Source: Conti et al. 2018, arXiv:1712.06560, algorithm 3.
    """

    settings: NsraSettings

    def __init__(self, settings: NsraSettings, **facts: Any) -> None:
        self._schedule_of_weight = WeightSchedule(settings)
        super().__init__(settings, **facts)

    @property
    def _reward_weight(self) -> float:
        return self._schedule_of_weight.weight

    def _adapt(self) -> None:
        self._schedule_of_weight.tell(self._score, is_comparable=self._best_limit == self._cutoff.limit)

    def get_state(self) -> dict:
        """Returns what the next generation depends on, as plain JSON; only between generations."""
        return {**super().get_state(), "reward_weight": self._schedule_of_weight.get_state()}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned, as if there had been no interruption.

        Raises:
            LookupError, TypeError, ValueError: `state` is something else.
        """
        self._schedule_of_weight.set_state(state["reward_weight"])
        super().set_state(state, arrays)


class WeightSchedule:
    """The weight of rewards: it rises after every new best score, and falls after some generations without one.

    Args:
        settings: `reward_weight` (the start), `weight_step` and `patience` (in generations).

    Attributes:
        weight: From 0 (novelty alone) to 1 (rewards alone).
    """

    def __init__(self, settings: NsraSettings) -> None:
        self._settings = settings
        self.weight = float(settings.reward_weight)
        self._best: float | None = None
        self._waited = 0

    def tell(self, score: float, *, is_comparable: bool = True) -> None:
        """Takes the mean score of the newest weights.

        Args:
            score: The score.
            is_comparable: Whether earlier scores had the same limit of steps. If not, the search begins anew with this
                one, and the weight stays.
        """
        if not is_comparable:
            self._best, self._waited = score, 0
        elif self._best is None or score > self._best:
            self._best, self._waited = score, 0
            self._move(1)
        else:
            self._waited += 1
            if self._waited >= self._settings.patience:
                self._waited = 0
                self._move(-1)

    def _move(self, direction: int) -> None:
        moved = self.weight + direction * self._settings.weight_step
        self.weight = min(max(round(moved, 9), 0.0), 1.0)  # rounded: 20 steps of 0.05 lead from 1 to 0

    def get_state(self) -> dict:
        """Returns everything as plain JSON."""
        return {"weight": self.weight, "best": self._best, "waited": self._waited}

    def set_state(self, state: Mapping) -> None:
        """Continues from what `get_state` returned.

        Raises:
            LookupError, TypeError: `state` is something else.
        """
        self.weight, self._best, self._waited = state["weight"], state["best"], state["waited"]
