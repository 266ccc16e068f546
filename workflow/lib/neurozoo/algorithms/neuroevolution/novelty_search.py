"""Evolution strategies that search for novel behaviour: NS-ES, NSR-ES and NSRA-ES (Conti et al. 2018)."""

from collections.abc import Mapping, Sequence

import numpy as np
from typing_extensions import override

from neurozoo.algorithms.neuroevolution.base import Batch, Solution
from neurozoo.algorithms.neuroevolution.evolution_strategies import GradientSearch
from neurozoo.algorithms.neuroevolution.novelty import Archive, behaviours_of, choose_behaviour, mean_behaviour, novelty
from neurozoo.algorithms.neuroevolution.search_distribution import centered_ranks
from neurozoo.algorithms.neuroevolution.settings import NoveltySettings, NsraSettings
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome, Weights
from neurozoo.randomness import Purpose, generator
from neurozoo.records.published_log import NOVELTY_FIELDS


class NoveltyStrategy(GradientSearch[NoveltySettings]):
    """NS-ES: a few evolution strategies that all move away from the behaviours in their common archive.

    One generation moves one agent, chosen by its novelty, in three phases of `ask` and `tell`. First, mirrored pairs of
    perturbed weights play one episode each; their behaviours give the step. Then the new weights play `rollouts`: a
    mean behaviour goes into the archive, and the mean score, the `score` of a report, decides which weights are the
    result. At the end they play test episodes, which select nothing and which no budget counts. Before the first
    generation, the behaviour of every agent goes into the archive (`initial`).

    Deviations from the published code are listed in `docs/novelty.md`.

    Source: Conti et al. 2018, arXiv:1712.06560, and the published code.
    """

    fields = NOVELTY_FIELDS

    @override
    def _begin(self, start: Sequence[Genome]) -> None:
        self.behaviour = choose_behaviour(self.settings.behaviour, protocol=self._protocol)
        self._episodes = 0
        self._archive = Archive()
        self._agents = [self._random_agent(number) for number in range(self.settings.num_agents)]
        self._newest: list[int] = []  # index in the archive of the newest behaviour of each agent

    @override
    def _start_generation(self) -> None:
        super()._start_generation()
        self._steps_before, self._episodes_before = self.steps, self._episodes
        self._phase = "initial"
        if self._newest:
            self._choose_agent()

    def _choose_agent(self) -> None:
        self._phase = "population"
        own = [self._archive.behaviours[place] for place in self._newest]
        novelties = self._novelty(own)
        if self.settings.selection == "round_robin":
            self._number = self.iteration % len(self._agents)
        else:
            draw = generator(self._entropy, Purpose.AGENT_CHOICE, self.iteration).random()
            bounds = np.cumsum(novelties if novelties.sum() > 0 else np.ones(len(novelties)))
            self._number = int(np.searchsorted(bounds, draw * bounds[-1], side="right"))
        self._agent = self._agents[self._number]
        self._fields |= {"ParentId": self._number, "AgentNovelty": float(novelties[self._number])}

    def _novelty(self, behaviours: Sequence[np.ndarray]) -> np.ndarray:
        return novelty(behaviours, self._archive.behaviours, nearest=self.settings.num_neighbours)

    @override
    def ask(self) -> Batch:
        if self._phase == "initial":
            # They begin the archive and count in the budget: no tests, as the first episodes of `es` are.
            genomes = tuple(agent.genome for agent in self._agents)
            address = Purpose.INITIAL_EPISODE, self.iteration
            episodes = (
                self._episode(genome, *address, number, repeat, seeds_of=Purpose.POPULATION_EPISODE)
                for number, genome in enumerate(genomes)
                for repeat in range(self.settings.num_rollouts)
            )
            return Batch(self._phase, genomes, tuple(episodes))
        if self._phase == "population":
            return self._perturbed()
        if self._phase == "rollouts":
            return self._played(Purpose.AGENT_EPISODE, self.settings.num_validation_episodes, is_counted=True)
        return self._played(Purpose.TEST_EPISODE, self.settings.num_test_episodes, is_counted=False)

    @override
    def tell(self, results: Sequence[EpisodeResult]) -> dict[str, object] | None:
        if self._phase == "test":
            report = self._tell_test(results)
            self._start_generation()
            return report
        behaviours = behaviours_of(results)
        self._count(results)
        self._episodes += len(results)
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
        novelties = self._novelty(behaviours)
        weight, ties = np.float32(self._reward_weight), self.settings.tied_ranks
        rewards = weight * centered_ranks(scores, ties=ties)
        fitness = rewards + (np.float32(1) - weight) * centered_ranks(novelties, ties=ties)
        self._scores = np.sort(scores)
        self._fields |= {
            "MutationPower": self._power,
            "RewardWeight": self._reward_weight,
            "EpRewMax": float(scores.max()),
            "EpRewMean": float(scores.mean()),
            "EpRewStd": float(scores.std()),
            "EpLenMean": float(np.mean([result.steps for result in results])),
            "NoveltyMax": float(novelties.max()),
            "NoveltyMean": float(novelties.mean()),
            "TimestepLimitPerEpisode": self._cutoff.limit,
            **self._follow(fitness),
        }
        self._cutoff = self._cutoff.after(self._share_at_limit(results))

    @property
    def _reward_weight(self) -> float:
        return 0.0

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

    def _tell_test(self, results: Sequence[EpisodeResult]) -> dict[str, object]:
        test_score = float(np.mean([result.score for result in results]))
        self.iteration += 1
        score = self.best.validation_score if self.best and self._best_rules == self._rules else None
        if self.best is None or score is None or self._score > score:
            self.best = Solution(self._agent.genome, self._score, test_score, self.iteration, self.frames)
        self._best_rules = self._rules
        return {
            "frames": self.frames,
            "score": self._score,
            "score_episodes": self._fields["EvalEpCount"],
            "test_score": self.best.test_score,
            "test_episodes": len(results),
            "Iteration": self.iteration,
            **self._fields,
            "TestRewMean": test_score,
            "TestEpCount": len(results),
            "TestEpLenSum": sum(result.steps for result in results),
            "ArchiveSize": len(self._archive),
            "EpisodesThisIter": self._episodes - self._episodes_before,
            "EpisodesSoFar": self._episodes,
            "TimestepsThisIter": self.steps - self._steps_before,
            "TimestepsSoFar": self.steps,
        }

    @override
    def get_state(self) -> dict:
        return {
            **super().get_state(),
            "episodes": self._episodes,
            "agents": [agent.get_state() for agent in self._agents],
            "newest": list(self._newest),
            "archive": self._archive.get_state(),
        }

    @override
    def get_arrays(self) -> dict[str, np.ndarray]:
        arrays = self._archive.get_arrays()
        for number, agent in enumerate(self._agents):
            arrays |= agent.get_arrays(f"agent{number}-")
        if self.best and isinstance(weights := self.best.genome.initial, Weights):
            arrays[f"best-{self.best.iteration:05}"] = weights.theta
        return arrays

    @override
    def _restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> Genome | None:
        self._episodes = state["episodes"]
        self._archive.set_state(state["archive"], arrays)
        for number, (agent, its_state) in enumerate(zip(self._agents, state["agents"], strict=True)):
            agent.set_state(its_state, arrays, f"agent{number}-")
        self._newest = list(state["newest"])
        best = state["best"]
        return Genome(Weights.of(arrays[f"best-{best['iteration']:05}"])) if best else None


class NoveltyRewardStrategy(NoveltyStrategy):
    """NSR-ES: rewards and novelty have equal weights (Conti et al. 2018, arXiv:1712.06560)."""

    @property
    def _reward_weight(self) -> float:
        return 0.5


class AdaptiveNoveltyStrategy(NoveltyStrategy):
    """NSRA-ES: the weight of rewards adapts. It falls while the score does not improve, so that novelty counts more.

    Source: Conti et al. 2018, arXiv:1712.06560, algorithm 3.
    """

    settings: NsraSettings

    @override
    def _begin(self, start: Sequence[Genome]) -> None:
        super()._begin(start)
        self._schedule_of_weight = WeightSchedule(self.settings)

    @property
    def _reward_weight(self) -> float:
        return self._schedule_of_weight.weight

    @override
    def _tell_rollouts(self, results: Sequence[EpisodeResult], behaviours: Sequence[np.ndarray]) -> None:
        super()._tell_rollouts(results, behaviours)
        self._schedule_of_weight.tell(self._score, is_comparable=self._best_rules == self._rules)

    @override
    def get_state(self) -> dict:
        return {**super().get_state(), "reward_weight": self._schedule_of_weight.get_state()}

    @override
    def _restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> Genome | None:
        self._schedule_of_weight.set_state(state["reward_weight"])
        return super()._restore(state, arrays)


class WeightSchedule:
    """The weight of rewards, from 0 (novelty alone) to 1.

    It rises after every new best score, and falls after some generations (`patience`) without one.
    """

    def __init__(self, settings: NsraSettings) -> None:
        self._settings = settings
        self.weight = float(settings.reward_weight)
        self._best: float | None = None
        self._waited = 0

    def tell(self, score: float, *, is_comparable: bool = True) -> None:
        """Takes the mean score of the newest weights.

        If earlier scores had another limit of steps, they are not comparable: the weight stays, and later scores are
        compared with this one.
        """
        direction = 0
        if not is_comparable or self._best is None or score > self._best:
            direction = int(is_comparable)
            self._best, self._waited = score, 0
        else:
            self._waited += 1
            if self._waited >= self._settings.patience:
                direction, self._waited = -1, 0
        if direction:
            moved = self.weight + direction * self._settings.weight_step
            self.weight = min(max(round(moved, 9), 0.0), 1.0)  # rounded: 20 steps of 0.05 lead from 1 to 0

    def get_state(self) -> dict:
        """Returns what `set_state` continues from."""
        return {"weight": self.weight, "best": self._best, "waited": self._waited}

    def set_state(self, state: Mapping) -> None:
        """Continues from what `get_state` returned."""
        self.weight, self._best, self._waited = state["weight"], state["best"], state["waited"]
