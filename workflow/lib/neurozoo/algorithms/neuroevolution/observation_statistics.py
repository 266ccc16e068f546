"""Running statistics of observations, by which networks scale what they see.

Source: the published code of Salimans et al. 2017, arXiv:1703.03864, and of Such et al. 2017, arXiv:1712.06567
(RunningStat).
"""

from collections.abc import Sequence

import numpy as np

from neurozoo.evaluation import EpisodeResult

INITIAL = 0.01  # of the sum of squares and of the count: the first mean is 0, the first standard deviation 1
LEAST_VARIANCE = 0.01


class ObservationStatistics:
    """Sums over the observations of some episodes of every population.

    An episode enters them with the probability `share`. An observation has the shape (height, width, channels).

    Attributes:
        sums: Of the observations and of their squares: float64, shape (2, numbers).
        count: Number of observations.
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
