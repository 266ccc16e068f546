"""The rank transformation of scores, before they weight a gradient."""

import numpy as np


def centered_ranks(fitness: np.ndarray) -> np.ndarray:
    """Replaces scores by their ranks, so that one lucky episode cannot steer a step.

    The published code leaves the order of equal scores to an unstable sort, and so to the version of NumPy.

    Args:
        fitness: Shape (population,), higher is better.

    Returns:
        Shape (population,), float32 in [-0.5, 0.5], summing to 0. Of two equal
        scores the earlier one gets the lower rank.

    Raises:
        ValueError: `fitness` is not 1-D, has fewer than 2 entries or contains NaN.

    Source: Salimans et al. 2017, arXiv:1703.03864 (rank transformation).
    """
    fitness = np.asarray(fitness)
    if fitness.ndim != 1 or len(fitness) < 2 or np.isnan(fitness).any():
        raise ValueError(f"Ranks need at least two numbers in a 1-D array without NaN, but got {fitness!r}")
    ranks = np.empty(len(fitness), np.float32)
    ranks[fitness.argsort(kind="stable")] = np.arange(len(fitness), dtype=np.float32)
    return ranks / np.float32(len(fitness) - 1) - np.float32(0.5)
