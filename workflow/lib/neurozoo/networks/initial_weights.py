"""Draws of initial weights."""

import numpy as np


def orthogonal(random: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Draws a matrix whose shorter rows or columns are orthonormal: float32, shape (rows, columns).

    Source: Saxe et al. 2014, arXiv:1312.6120.
    """
    tall, signs = np.linalg.qr(random.standard_normal((max(rows, columns), min(rows, columns))))
    tall = tall * np.sign(np.diag(signs))
    return (tall if rows >= columns else tall.T).astype(np.float32)
