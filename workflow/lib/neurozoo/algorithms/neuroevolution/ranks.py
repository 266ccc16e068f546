"""The rank transformation of scores, before they weight a gradient."""

from typing import Literal

import numpy as np

TiedRanks = Literal["order", "average"]


def centered_ranks(fitness: np.ndarray, *, ties: TiedRanks = "order") -> np.ndarray:
    """Replaces scores by their ranks, so that one lucky episode cannot steer a step.

    The published code leaves the order of equal scores to an unstable sort, and so to the version of NumPy.

    Args:
        fitness: Shape (population,), higher is better.
        ties: `order`: of two equal scores the earlier one gets the lower rank. `average`: equal scores get the mean of
            their ranks. So a population of equal scores has ranks of 0, where `order` would prefer the second of each
            mirrored pair.

    Returns:
        Shape (population,), float32 in [-0.5, 0.5], summing to 0.

    Raises:
        ValueError: `fitness` is not 1-D, has fewer than 2 entries or contains NaN.

    Source: Salimans et al. 2017, arXiv:1703.03864 (rank transformation).
    """
    fitness = np.asarray(fitness)
    if fitness.ndim != 1 or len(fitness) < 2 or np.isnan(fitness).any():
        raise ValueError(f"Ranks need at least two numbers in a 1-D array without NaN, but got {fitness!r}")
    ranks = np.empty(len(fitness), np.float32)
    if ties == "average":
        _, group, sizes = np.unique(fitness, return_inverse=True, return_counts=True)
        ranks[:] = (np.cumsum(sizes) - (sizes + 1) / 2)[group]  # the last rank of each group minus half its width
    else:
        ranks[fitness.argsort(kind="stable")] = np.arange(len(fitness), dtype=np.float32)
    return ranks / np.float32(len(fitness) - 1) - np.float32(0.5)
