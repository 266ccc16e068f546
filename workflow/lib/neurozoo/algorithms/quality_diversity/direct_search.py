"""Searches without a surrogate: every proposed level is evaluated."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from ribs.emitters import EvolutionStrategyEmitter

from neurozoo.algorithms.quality_diversity.emitters import MapElitesEmitter
from neurozoo.algorithms.quality_diversity.level_search import LevelSearchSession, Proposal
from neurozoo.algorithms.quality_diversity.settings import (
    CmaMeSettings,
    DomainRandomizationSettings,
    MapElitesSettings,
)
from neurozoo.algorithms.session import RunContext, Watch
from neurozoo.environments.level_domains import LevelDomain
from neurozoo.errors import NeurozooError
from neurozoo.randomness import MAX_SEED, Purpose, generator

RANDOM_SIGMA = 0.2  # standard deviation of random solutions of real numbers


def random_solutions(domain: LevelDomain, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draws solutions: whole numbers uniformly, real ones around 0; shape (count, dimensions)."""
    if domain.num_values is None:
        return (RANDOM_SIGMA * rng.standard_normal((count, domain.solution_size))).astype(np.float32)
    return rng.integers(domain.num_values, size=(count, domain.solution_size)).astype(np.int8)


def require_whole_numbers(domain: LevelDomain, algo: str) -> int:
    """Returns the number of values of a solution's entries.

    Raises:
        NeurozooError: The domain's solutions are real numbers, which cannot be mutated as whole numbers are.
    """
    if domain.num_values is None:
        raise NeurozooError(
            f"{algo} changes whole numbers, but solutions of {domain.name!r} are real numbers. Use cma_me."
        )
    return domain.num_values


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
        self._emitters = map_elites_emitters(self.archive, self.settings, self.domain, algo="map_elites")

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


def map_elites_emitters(archive: Any, settings: Any, domain: LevelDomain, *, algo: str) -> list[MapElitesEmitter]:
    """Returns the emitters that `MapElitesSettings` and `DsageSettings` describe; `draw_from` seeds them.

    Raises:
        NeurozooError: Solutions of the domain are real numbers.
    """
    num_values = require_whole_numbers(domain, algo)
    return [
        MapElitesEmitter(
            archive,
            num_values=num_values,
            batch_size=settings.batch_size,
            initial_population=settings.initial_population,
            num_mutations=settings.num_mutations,
            rng=np.random.default_rng(number),
        )
        for number in range(settings.num_emitters)
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
        middle = 0.0 if domain.num_values is None else (domain.num_values - 1) / 2
        self._emitters = [
            EvolutionStrategyEmitter(
                self.archive,
                x0=np.full(domain.solution_size, middle),
                sigma0=s.sigma0,
                ranker=s.ranker,
                selection_rule=s.selection_rule,
                restart_rule=s.restart_rule,
                batch_size=s.batch_size,
                seed=int(generator(context.entropy, Purpose.EMITTER, number).integers(MAX_SEED)),
            )
            for number in range(s.num_emitters)
        ]

    @property
    def solution_type(self) -> type[np.generic]:
        """Evolution strategies propose real numbers in every domain."""
        return np.float32

    def propose(self, watch: Watch) -> Proposal:
        """Asks all emitters."""
        return Proposal(self._ask())

    def tell(self, batch: np.ndarray, add_info: Mapping[str, np.ndarray]) -> None:
        """Tells each emitter what came of its solutions; one whose solutions failed or were cut off is not told."""
        size, good = self.settings.batch_size, ~batch["failed"]
        status, value = np.zeros(len(batch), np.int32), np.zeros(len(batch), np.float32)
        status[good], value[good] = add_info["status"], add_info["value"]
        for number, emitter in enumerate(self._emitters):
            own = slice(number * size, (number + 1) * size)
            if len(batch[own]) == size and good[own].all():
                emitter.tell(
                    batch["solution"][own],
                    batch["objective"][own],
                    self._measures(batch[own]),
                    {"status": status[own], "value": value[own]},
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
