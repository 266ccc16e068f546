"""A sum tree: draws leaves in proportion to their priorities without looking at all of them."""

import numpy as np

FAN_OUT = 32  # wide and flat: NumPy reads 32 neighbours as quickly as 2, and a million leaves lie four levels deep


class SumTree:
    """Holds one priority per leaf; each node above holds the sum of the 32 below it.

    A sum is computed anew whenever something below it has changed. So rounding errors do not add up, and sums depend
    only on the leaves: a tree that was saved and filled again draws the same leaves.

    Source: Schaul et al. 2016, arXiv:1511.05952, appendix B.2.1, with two children per node.
    """

    def __init__(self, num_leaves: int) -> None:
        self._num_leaves = num_leaves
        self._levels: list[np.ndarray] = []  # from the leaves up, padded to whole blocks, float64
        count = num_leaves
        while True:
            blocks = -(-count // FAN_OUT)
            self._levels.append(np.zeros((blocks, FAN_OUT)))
            if blocks == 1:
                break
            count = blocks
        self._changed: list[np.ndarray] = []

    @property
    def leaves(self) -> np.ndarray:
        """The priorities, shape (num_leaves,), float64; do not write to them."""
        return self._levels[0].reshape(-1)[: self._num_leaves]

    @property
    def total(self) -> float:
        """The sum of all priorities."""
        self._sum_up()
        return float(self._levels[-1].sum())

    def set(self, leaves: np.ndarray, priorities: np.ndarray | float) -> None:
        """Changes priorities, at least 0, of leaves, shape (count,); if one is named twice, the last one counts."""
        self._levels[0].reshape(-1)[leaves] = priorities
        self._changed.append(leaves)
        if len(self._changed) > 1000:
            self._sum_up()

    def fill(self, priorities: np.ndarray | float) -> None:
        """Changes all priorities, shape (num_leaves,) or a number."""
        self.set(np.arange(self._num_leaves), priorities)

    def draw(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Draws leaves with replacement, each with probability priority / total: int64, shape (count,).

        A leaf of priority 0 can appear when a sum was rounded (about once in 10^15 draws), or when all are 0.
        """
        self._sum_up()
        left = random.random(count) * self._levels[-1].sum()
        nodes = np.zeros(count, np.int64)
        entries = np.arange(count)
        for level in reversed(self._levels):
            nodes = np.minimum(nodes, len(level) - 1)  # never in the padding
            ends = np.cumsum(level[nodes], axis=1)
            chosen = np.minimum((ends <= left[:, None]).sum(axis=1), FAN_OUT - 1)
            left -= np.where(chosen > 0, ends[entries, chosen - 1], 0.0)
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
