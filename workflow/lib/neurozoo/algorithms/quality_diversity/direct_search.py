"""Searches without a surrogate: every proposed level is evaluated."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from ribs.archives import ArchiveBase
from ribs.emitters import EvolutionStrategyEmitter

from neurozoo.algorithms.quality_diversity.archives import MapElitesEmitter, random_solutions
from neurozoo.algorithms.quality_diversity.level_search import LevelSearchSession, Proposal
from neurozoo.algorithms.quality_diversity.settings import (
    CmaMeSettings,
    DomainRandomizationSettings,
    MapElitesSettings,
)
from neurozoo.algorithms.session import RunContext, Watch
from neurozoo.environments.level_domains import LevelDomain
from neurozoo.randomness import MAX_SEED, Purpose, generator


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
        self._emitters = [
            MapElitesEmitter(self.archive, self.settings, self.domain) for _ in range(self.settings.num_emitters)
        ]

    def propose(self, watch: Watch) -> Proposal:
        """Asks all emitters."""
        entropy = self.context.entropy
        self.archive.draw_from(generator(entropy, Purpose.EMITTER, self.iteration))
        for number, emitter in enumerate(self._emitters):
            emitter.rng = generator(entropy, Purpose.EMITTER, self.iteration, number)
        return Proposal(np.concatenate([emitter.ask() for emitter in self._emitters]))

    def replay(self, batch: np.ndarray) -> None:
        """Counts an ask: how many random solutions an emitter has proposed is all that it remembers."""
        for emitter in self._emitters:
            emitter.asked += 1


def evolution_strategies(
    archive: ArchiveBase, domain: LevelDomain, rngs: Iterable[np.random.Generator], **choices: Any
) -> list[EvolutionStrategyEmitter]:
    """Returns pyribs' evolution strategies, that begin in the middle of the solutions and climb in an archive.

    Each of `rngs` draws the seed of one of them. `choices` are `sigma0`, `batch_size`, and if not that of CMA-ME,
    `ranker`, `selection_rule` and `restart_rule`.
    """
    middle = 0.0 if domain.num_values is None else (domain.num_values - 1) / 2
    rules = {"ranker": "2imp", "selection_rule": "filter", "restart_rule": "no_improvement", **choices}
    return [
        EvolutionStrategyEmitter(
            archive, x0=np.full(domain.solution_size, middle), seed=int(rng.integers(MAX_SEED)), **rules
        )
        for rng in rngs
    ]


class CmaMeSession(LevelSearchSession):
    """Lets pyribs' evolution strategies propose; each climbs towards what improves the archive.

    Their state is not saved: after an interruption they are told the evaluated levels again.
    """

    settings: CmaMeSettings
    solution_type = np.float32  # evolution strategies propose real numbers in every domain

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self.archive.draw_from(generator(context.entropy, Purpose.EMITTER))
        names = ("sigma0", "batch_size", "ranker", "selection_rule", "restart_rule")
        self._emitters = evolution_strategies(
            self.archive,
            self.domain,
            (generator(context.entropy, Purpose.EMITTER, number) for number in range(self.settings.num_emitters)),
            **{name: getattr(self.settings, name) for name in names},
        )

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
        objective, measures = batch["objective"].copy(), self.measures_of(batch)
        for number, emitter in enumerate(self._emitters):
            own = slice(number * size, (number + 1) * size)
            if len(batch[own]) < size or not good[own].any():
                continue
            failed = ~good[own]
            for scores in (objective[own], value[own]):
                scores[failed] = scores[~failed].min() - 1
            measures[own][failed] = measures[own][~failed].mean(axis=0)
            emitter.tell(
                batch["solution"][own],
                objective[own],
                measures[own],
                {"status": status[own], "value": value[own]},
                evaluation=np.zeros(size, np.int64),
            )

    def replay(self, batch: np.ndarray) -> None:
        """Asks as before the interruption; raises `ValueError` if another version of pyribs proposes something else."""
        if not np.array_equal(self._ask()[: len(batch)], batch["solution"]):
            raise ValueError("the emitters no longer propose the solutions of the state")

    def _ask(self) -> np.ndarray:
        return np.concatenate([emitter.ask() for emitter in self._emitters]).astype(np.float32)
