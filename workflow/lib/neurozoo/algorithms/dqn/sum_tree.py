"""A tree of sums: draws rows in proportion to their priorities without looking at all of them."""

import numpy as np

FAN_OUT = 32  # wide and flat: NumPy reads 32 neighbours as quickly as 2, and a million leaves lie four levels deep


class SumTree:
    """Holds one priority per leaf; the nodes above hold the sums of 32 below them each.

    Sums are computed anew from below whenever something below them changed. So they
    carry no rounding errors along and depend on the leaves alone: a tree that was
    saved and filled again draws the same leaves.

    Args:
        num_leaves: Number of leaves; all begin with priority 0.

    Source: Schaul et al. 2016, arXiv:1511.05952, appendix B.2.1, with two children per node.
    """

    def __init__(self, num_leaves: int) -> None:
        self._num_leaves = num_leaves
        self._levels = []  # from the leaves up, padded to whole blocks, float64
        count = num_leaves
        while True:
            blocks = -(-count // FAN_OUT)
            self._levels.append(np.zeros((blocks, FAN_OUT)))
            if blocks == 1:
                break
            count = blocks
        self._changed = []

    @property
    def leaves(self) -> np.ndarray:
        """Shape (num_leaves,), float64, the priorities; to be read only."""
        return self._levels[0].reshape(-1)[: self._num_leaves]

    @property
    def total(self) -> float:
        """The sum of all priorities."""
        self._sum_up()
        return float(self._levels[-1].sum())

    def set(self, leaves: np.ndarray, priorities: np.ndarray | float) -> None:
        """Changes priorities; of a leaf that is named twice the last one counts.

        Args:
            leaves: Shape (count,), integers.
            priorities: Shape (count,) or a number, at least 0.
        """
        self._levels[0].reshape(-1)[leaves] = priorities
        self._changed.append(leaves)
        if len(self._changed) > 1000:
            self._sum_up()

    def fill(self, priorities: np.ndarray) -> None:
        """Changes all priorities, shape (num_leaves,)."""
        self.set(np.arange(self._num_leaves), priorities)

    def draw(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Draws leaves with replacement, each with probability priority / total.

        A leaf of priority 0 can appear when a sum was rounded (about once in 10^15 draws), or when all are 0.

        Returns:
            Shape (count,), int64.
        """
        self._sum_up()
        left = random.random(count) * self._levels[-1].sum()
        nodes = np.zeros(count, np.int64)
        everybody = np.arange(count)
        for level in reversed(self._levels):
            nodes = np.minimum(nodes, len(level) - 1)  # never into the padding
            ends = np.cumsum(level[nodes], axis=1)
            chosen = np.minimum((ends <= left[:, None]).sum(axis=1), FAN_OUT - 1)
            left -= np.where(chosen > 0, ends[everybody, chosen - 1], 0.0)
            nodes = nodes * FAN_OUT + chosen
        return np.minimum(nodes, self._num_leaves - 1)

    def _sum_up(self) -> None:
        """Brings the sums above the changed leaves up to date."""
        if not self._changed:
            return
        nodes = np.concatenate(self._changed)
        self._changed = []
        for below, above in zip(self._levels, self._levels[1:], strict=False):
            nodes = np.unique(nodes // FAN_OUT)
            above.reshape(-1)[nodes] = below[nodes].sum(axis=1)
