"""The order in which episodes are played."""

import math
from collections.abc import Iterable, Mapping

from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.genomes.genome import Genome


class LongestFirst:
    """Starts the longest episodes first, so that fewer threads wait for the last one to end.

    An episode is expected to be as long as the last one of its genome in this generation or the one before, or else of
    its parent. Episodes of unknown length come first of all. Results do not depend on the order.
    """

    def __init__(self) -> None:
        self._generation = 0
        self._steps: dict[Genome, int] = {}
        self._steps_before: dict[Genome, int] = {}

    def genomes(self, genomes: Iterable[Genome]) -> list[Genome]:
        """Sorts genomes that are to be pinned."""
        return sorted(genomes, key=self._place)

    def episodes(self, episodes: Mapping[int, Episode]) -> dict[int, Episode]:
        """Sorts numbered episodes."""
        return dict(sorted(episodes.items(), key=lambda item: self._place(item[1].genome)))

    def learn(self, generation: int, episodes: Iterable[Episode], results: Iterable[EpisodeResult]) -> None:
        """Remembers the lengths of a generation's episodes."""
        if generation != self._generation:
            self._generation, self._steps_before, self._steps = generation, self._steps, {}
        for episode, result in zip(episodes, results, strict=True):
            self._steps[episode.genome] = result.steps

    def _place(self, genome: Genome) -> float:
        for known in (genome, genome.parent):
            for steps in (self._steps, self._steps_before):
                if known in steps:
                    return -steps[known]
        return -math.inf
