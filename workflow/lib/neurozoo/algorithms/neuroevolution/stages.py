"""Stages of the river crossing task: at first only the narrowest rivers count, and wider ones once these are crossed.

Source: incremental evolution of Robinson, Ellis and Channon 2007 (ECAL, pp. 345-354): the next map when 80 % of the
population succeed.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from neurozoo.environments.river_crossing import RESOURCE_ROW, RiverRules, resource_column
from neurozoo.evaluation import EpisodeResult

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
