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
        """Trains one on states, (states, units), to the smallest squared error."""
        import keras

        random, offset = np.random.default_rng(seed), states.mean(axis=0)
        scale = np.sqrt(np.maximum(((states - offset) ** 2).sum(axis=1).mean(), np.float32(1e-12)))
        scaled = (states - offset) / scale
        inputs = keras.Input(scaled.shape[1:])
        values = keras.layers.Dense(FEATURES, activation="relu")(inputs)
        active = values * keras.ops.cast(values >= keras.ops.top_k(values, ACTIVE)[0][:, -1:], "float32")
        of_length_1 = keras.constraints.UnitNorm(axis=1)
        outputs = keras.layers.Dense(scaled.shape[1], use_bias=False, kernel_constraint=of_length_1)(active)
        model = keras.Model(inputs, outputs)
        model.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(_RATE, updates)), "mse")
        decoder = of_length_1(random.standard_normal((FEATURES, scaled.shape[1]), np.float32))
        model.set_weights([np.transpose(decoder), np.zeros(FEATURES, np.float32), decoder])
        for _ in range(updates):
            batch = scaled[random.integers(len(scaled), size=_BATCH)]
            model.train_on_batch(batch, batch)
        return cls(scale, offset, *model.get_weights())

    def activations(self, states: np.ndarray) -> np.ndarray:
        """Returns how active each feature is, (states, features): 0 for all but the `ACTIVE` largest."""
        values = (states - self.offset) / self.scale @ self.encoder + self.bias
        least = np.partition(values, -ACTIVE, axis=1)[:, [-ACTIVE]]
        return np.where((values >= least) & (values > 0), values, np.float32(0))

    def explained(self, states: np.ndarray) -> float:
        """Returns the share of the states' squared distance from `offset` that the features explain."""
        left = self.offset + self.scale * self.activations(states) @ self.decoder - states
        return float(1 - (left**2).sum() / max(((states - self.offset) ** 2).sum(), 1e-12))

    def erasure(self, feature: int) -> Erasure:
        """Returns what takes a feature's part away from states in which it is active."""
        read, write = self.encoder[:, feature] / self.scale, self.decoder[feature] * self.scale
        # The activation read . (x - offset) + bias, as read . (x - mean)
        return self.offset - read * (self.bias[feature] / max(read @ read, np.float32(1e-12))), read, write
