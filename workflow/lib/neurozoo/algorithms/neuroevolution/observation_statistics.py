"""Running statistics of observations, by which networks scale what they see.

Source: the published code of Salimans et al. 2017, arXiv:1703.03864, and of Such et al. 2017, arXiv:1712.06567
(RunningStat).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from neurozoo.evaluation import EpisodeResult

INITIAL = 0.01  # of the sum of squares and of the count: the first mean is 0, the first standard deviation 1
LEAST_VARIANCE = 0.01


class ObservationStatistics:
    """Sums over the observations of some episodes of every population.

    Args:
        shape: (height, width, channels) of an observation.
        share: Probability with which an episode enters the statistics.

    Attributes:
        sums: Sums of the observations and of their squares: float64, shape (2, numbers).
        count: Number of observations.
    """

    def __init__(self, shape: tuple[int, int, int], *, share: float) -> None:
        self._shape, self._share = shape, share
        self.sums = np.zeros((2, int(np.prod(shape))))
        self.sums[1] = INITIAL
        self.count = INITIAL

    def add(self, results: Sequence[EpisodeResult], random: np.random.Generator) -> None:
        """Adds the observations of some episodes, which `random` chooses."""
        chosen = random.random(len(results)) < self._share
        for result, is_chosen in zip(results, chosen, strict=True):
            if is_chosen:
                assert result.behaviour is not None  # the algorithm asks for the sums
                self.sums = self.sums + result.behaviour  # a new array: the old one may be in a state
                self.count += result.steps

    @property
    def reference(self) -> np.ndarray:
        """Mean and standard deviation: float32, shape (2, height, width, channels)."""
        mean, square = self.sums / self.count
        deviation = np.sqrt(np.maximum(square - mean * mean, LEAST_VARIANCE))
        return np.stack([mean, deviation]).astype(np.float32).reshape(2, *self._shape)

    def get_state(self) -> dict:
        """Returns the state without `sums`, as plain JSON."""
        return {"count": self.count}

    def set_state(self, state: Mapping, sums: np.ndarray) -> None:
        """Continues from `get_state` and `sums`."""
        self.count, self.sums = float(state["count"]), sums
