"""A sparse autoencoder: explains each state of a layer as the sum of a few of many features.

Source: Gao et al. 2024, arXiv:2406.04093 (`TopK`: only the largest activations count; unit decoder rows; the encoder
begins as the decoder's transpose). Deviations: a few thousand states instead of billions of tokens, so few features;
those that are never active stay so.
"""

from dataclasses import dataclass

import numpy as np

from neurozoo.interventions.activations import Erasure

FEATURES = 128
ACTIVE = 4  # at once, at most
UPDATES = 6_000
_BATCH, _RATE = 256, 1e-3
_DECAY = 0.2  # share of the updates at the end in which the rate falls to 0


@dataclass(frozen=True)
class SparseAutoencoder:
    """States x become `offset + scale * activations @ decoder`, see `activations`; all arrays are float32.

    Attributes:
        scale: Root mean squared distance of the states from their mean.
        offset: That mean, (units,).
        encoder: (units, features).
        bias: (features,).
        decoder: (features, units); the length of each row is 1.
    """

    scale: np.float32
    offset: np.ndarray
    encoder: np.ndarray
    bias: np.ndarray
    decoder: np.ndarray

    @classmethod
    def fit(cls, states: np.ndarray, *, seed: int, updates: int = UPDATES) -> "SparseAutoencoder":
        """Trains one on states, (states, units), by Adam on the squared error."""
        random, offset = np.random.default_rng(seed), states.mean(axis=0)
        scale = np.sqrt(np.maximum(((states - offset) ** 2).sum(axis=1).mean(), np.float32(1e-12)))
        inputs = (states - offset) / scale
        decoder = _of_length_1(random.standard_normal((FEATURES, states.shape[1]), np.float32))
        weights = [decoder, decoder.T.copy(), np.zeros(FEATURES, np.float32)]
        means, squares = ([np.zeros_like(each) for each in weights] for _ in range(2))
        found = cls(scale, offset, weights[1], weights[2], decoder)  # its arrays are the ones that change
        for update in range(1, updates + 1):
            batch = inputs[random.integers(len(inputs), size=_BATCH)]
            active = found._active(batch)
            errors = (active @ decoder - batch) * np.float32(2 / _BATCH)
            back = np.where(active > 0, errors @ decoder.T, np.float32(0))
            rate = _RATE * min(1, (updates - update + 1) / (_DECAY * updates))
            for weight, slope, mean, square in zip(
                weights, (active.T @ errors, batch.T @ back, back.sum(axis=0)), means, squares, strict=True
            ):
                mean += np.float32(0.1) * (slope - mean)
                square += np.float32(0.001) * (slope**2 - square)
                weight -= np.float32(rate / (1 - 0.9**update)) * mean / (np.sqrt(square / (1 - 0.999**update)) + 1e-8)
            decoder[:] = _of_length_1(decoder)
        return found

    def activations(self, states: np.ndarray) -> np.ndarray:
        """Returns how active each feature is, (states, features): 0 for all but the `ACTIVE` largest."""
        return self._active((states - self.offset) / self.scale)

    def explained(self, states: np.ndarray) -> float:
        """Returns the share of the states' squared distance from `offset` that the features explain."""
        left = self.offset + self.scale * self.activations(states) @ self.decoder - states
        return float(1 - (left**2).sum() / max(((states - self.offset) ** 2).sum(), 1e-12))

    def erasure(self, feature: int) -> Erasure:
        """Returns what takes a feature's part away from states in which it is active."""
        read, write = self.encoder[:, feature] / self.scale, self.decoder[feature] * self.scale
        # The activation read . (x - offset) + bias, as read . (x - mean)
        return self.offset - read * (self.bias[feature] / max(read @ read, np.float32(1e-12))), read, write

    def _active(self, inputs: np.ndarray) -> np.ndarray:
        values = inputs @ self.encoder + self.bias
        least = np.partition(values, -ACTIVE, axis=1)[:, [-ACTIVE]]
        return np.where((values >= least) & (values > 0), values, np.float32(0))


def _of_length_1(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
