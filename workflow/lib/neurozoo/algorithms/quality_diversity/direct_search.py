"""Searches without a surrogate: every proposed level is evaluated."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from ribs.emitters import EvolutionStrategyEmitter

from neurozoo.algorithms.quality_diversity.emitters import ChildrenEmitter, GaussianMapElitesEmitter, MapElitesEmitter
from neurozoo.algorithms.quality_diversity.level_search import LevelSearchSession, Proposal
from neurozoo.algorithms.quality_diversity.settings import (
    CmaMeSettings,
    DomainRandomizationSettings,
    MapElitesSettings,
)
from neurozoo.algorithms.session import RunContext, Watch
from neurozoo.environments.level_domains import LevelDomain
from neurozoo.randomness import MAX_SEED, Purpose, generator

RANDOM_SIGMA = 0.2  # standard deviation of random solutions of real numbers


def random_solutions(domain: LevelDomain, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draws solutions: whole numbers uniformly, real ones around 0; shape (count, dimensions)."""
    if domain.num_values is None:
        return (RANDOM_SIGMA * rng.standard_normal((count, domain.solution_size))).astype(np.float32)
    return rng.integers(domain.num_values, size=(count, domain.solution_size)).astype(np.int8)


class DomainRandomizationSession(LevelSearchSession):
    """Evaluates independent random levels."""

    settings: DomainRandomizationSettings

    def propose(self, watch: Watch) -> Proposal:
        """Returns random solutions."""
        rng = generator(self.context.entropy, Purpose.OFFSPRING, self.iteration)
        return Proposal(random_solutions(self.domain, self.settings.batch_size, rng))


class MapElitesSession(LevelSearchSession):
    """Evaluates changed copies of elites."""

    settings: MapElitesSettings

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self._emitters = map_elites_emitters(self.archive, self.settings, self.domain)

    def propose(self, watch: Watch) -> Proposal:
        """Asks all emitters."""
        entropy = self.context.entropy
        self.archive.draw_from(generator(entropy, Purpose.EMITTER, self.iteration))
        for number, emitter in enumerate(self._emitters):
            emitter.draw_from(generator(entropy, Purpose.EMITTER, self.iteration, number))
        return Proposal(np.concatenate([emitter.ask() for emitter in self._emitters]))

    def replay(self, batch: np.ndarray) -> None:
        """Counts an ask: how many random solutions an emitter has proposed is all that it remembers."""
        for emitter in self._emitters:
            emitter.skip()


def map_elites_emitters(archive: Any, settings: Any, domain: LevelDomain) -> Sequence[ChildrenEmitter]:
    """Returns the emitters that `MapElitesSettings` and `DsageSettings` describe; `draw_from` seeds them."""
    shared = {"batch_size": settings.batch_size, "initial_population": settings.initial_population}
    rngs = [np.random.default_rng(number) for number in range(settings.num_emitters)]
    if domain.num_values is None:
        sigmas = {"initial_sigma": RANDOM_SIGMA, "mutation_sigma": settings.mutation_sigma}
        return [GaussianMapElitesEmitter(archive, **shared, **sigmas, rng=rng) for rng in rngs]
    whole = {"num_values": domain.num_values, "num_mutations": settings.num_mutations}
    return [MapElitesEmitter(archive, **shared, **whole, rng=rng) for rng in rngs]


def evolution_strategies(
    archive: Any, domain: LevelDomain, seeds: Iterable[int], **choices: Any
) -> list[EvolutionStrategyEmitter]:
    """Returns pyribs' evolution strategies, one for each seed, that begin in the middle of the solutions.

    Args:
        archive: What they climb in.
        domain: The domain of the levels.
        seeds: Seeds of their random numbers.
        choices: `sigma0`, `batch_size`, and if not that of CMA-ME, `ranker`, `selection_rule` and `restart_rule`.
    """
    middle = 0.0 if domain.num_values is None else (domain.num_values - 1) / 2
    rules = {"ranker": "2imp", "selection_rule": "filter", "restart_rule": "no_improvement", **choices}
    return [
        EvolutionStrategyEmitter(archive, x0=np.full(domain.solution_size, middle), seed=seed, **rules)
        for seed in seeds
    ]


class CmaMeSession(LevelSearchSession):
    """Lets pyribs' evolution strategies propose; each climbs towards what improves the archive.

    Their state is not saved: after an interruption they are told the evaluated levels again.
    """

    settings: CmaMeSettings

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        s, domain = self.settings, self.domain
        self.archive.draw_from(generator(context.entropy, Purpose.EMITTER))
        self._emitters = evolution_strategies(
            self.archive,
            domain,
            (int(generator(context.entropy, Purpose.EMITTER, n).integers(MAX_SEED)) for n in range(s.num_emitters)),
            sigma0=s.sigma0,
            batch_size=s.batch_size,
            ranker=s.ranker,
            selection_rule=s.selection_rule,
            restart_rule=s.restart_rule,
        )

    @property
    def solution_type(self) -> type[np.generic]:
        """Evolution strategies propose real numbers in every domain."""
        return np.float32

    def propose(self, watch: Watch) -> Proposal:
        """Asks all emitters."""
        return Proposal(self._ask())

    def tell(self, batch: np.ndarray, add_info: Mapping[str, np.ndarray]) -> None:
        """Tells each emitter what came of its solutions; one is not told if all of them failed or some were cut off.

        The published search drops failed solutions, but an emitter of pyribs wants them all. They count as not added,
        and as worse than all others.
        """
        size, good = self.settings.batch_size, ~batch["failed"]
        status, value = np.zeros(len(batch), np.int32), np.zeros(len(batch), np.float32)
        status[good], value[good] = add_info["status"], add_info["value"]
        for number, emitter in enumerate(self._emitters):
            own = slice(number * size, (number + 1) * size)
            if len(batch[own]) < size or not good[own].any():
                continue
            failed = ~good[own]
            objectives, measures, values = batch["objective"][own].copy(), self._measures(batch[own]), value[own].copy()
            for scores in (objectives, values):
                scores[failed] = scores[~failed].min() - 1
            measures[failed] = measures[~failed].mean(axis=0)
            emitter.tell(
                batch["solution"][own],
                objectives,
                measures,
                {"status": status[own], "value": values},
                evaluation=np.zeros(size, np.int64),
            )

    def replay(self, batch: np.ndarray) -> None:
        """Asks as before the interruption.

        Raises:
            ValueError: The emitters propose something else, as another version of pyribs or NumPy might.
        """
        if not np.array_equal(self._ask()[: len(batch)], batch["solution"]):
            raise ValueError("the emitters no longer propose the solutions of the state")

    def _ask(self) -> np.ndarray:
        return np.concatenate([emitter.ask() for emitter in self._emitters]).astype(np.float32)
