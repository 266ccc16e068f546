"""The parameters of Keras networks: named arrays, and what they start with."""

import math
from typing import NamedTuple

import numpy as np

LSTM = "lstm"  # name of the layer
GATES = 4  # of an LSTM: input, forget, cell, output
TRUNCATED = 2.0  # initial weights lie within this many standard deviations


class ParameterArray(NamedTuple):
    """One array of a layer's parameters."""

    layer: str  # name of the layer with the weights
    part: str  # w(eights), weights u from the LSTM's own output, or b(iases); of layer normalisation `gain` or `offset`
    shape: tuple[int, ...]  # as in Keras
    bound: float  # standard deviation of the initial values (LSTM: bound of uniform ones); else what they start with

    @property
    def name(self) -> str:
        """Such as `conv1/w`."""
        return f"{self.layer}/{self.part}"


def weight_arrays(layer: str, *shape: int) -> list[ParameterArray]:
    """Returns weights of a shape, and the biases of their outputs."""
    deviation = 1 / math.sqrt(math.prod(shape[:-1]))
    return [ParameterArray(layer, "w", shape, deviation), ParameterArray(layer, "b", shape[-1:], 0.0)]


def lstm_arrays(inputs: int, units: int) -> list[ParameterArray]:
    """Returns the arrays of an LSTM."""
    bound = math.sqrt(6 / (inputs + units + GATES * units))  # Glorot's, for both kernels as one matrix
    return [
        ParameterArray(LSTM, "w", (inputs, GATES * units), bound),
        ParameterArray(LSTM, "u", (units, GATES * units), bound),
        ParameterArray(LSTM, "b", (GATES * units,), 0.0),
    ]


def orthogonal(random: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Draws a matrix whose shorter rows or columns are orthonormal: float32, shape (rows, columns).

    Source: Saxe et al. 2014, arXiv:1312.6120.
    """
    tall, signs = np.linalg.qr(random.standard_normal((max(rows, columns), min(rows, columns))))
    tall = tall * np.sign(np.diag(signs))
    return (tall if rows >= columns else tall.T).astype(np.float32)


def truncated_normal(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draws standard normal numbers, and draws those beyond `TRUNCATED` again."""
    values = random.standard_normal(shape)
    while (outside := np.abs(values) > TRUNCATED).any():
        values[outside] = random.standard_normal(int(outside.sum()))
    return values
