"""The actions of an agent at states of its recording, with and without a direction of a layer."""

from collections.abc import Sequence

import numpy as np

from neurozoo.agents.frozen import FrozenModel
from neurozoo.interventions.activations import ErasedModel, Erasure


class ErasedActions:
    """Chooses actions at the same states, whole and without directions of a layer; not for networks with a memory.

    Args:
        frozen: The frozen model.
        layer: The name of the layer.
        inputs: What the network sees at each state, arrays of (states, ...).
        groups: The number of each state's group, from 0, (states,).
    """

    def __init__(self, frozen: FrozenModel, layer: str, inputs: Sequence[np.ndarray], groups: np.ndarray) -> None:
        import tensorflow as tf

        keras_name = next(each.keras_layer for each in frozen.layers if each.name == layer)
        self._erased = ErasedModel(frozen.step_model([frozen.layers[-1].name]), keras_name)
        self._run = tf.function(lambda states: self._erased.model(states, training=False), reduce_retracing=True)
        self._groups = [[each[groups == group] for each in inputs] for group in range(int(groups.max()) + 1)]
        self._whole = [self._choose(states) for states in self._groups]

    def changed(
        self, own: Erasure, controls: Sequence[Erasure], among: Sequence[np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the share of changed actions in each group, also with a control for each group.

        `among` says for each group which of its states count; groups without one are left out.
        """
        shares = []
        for number, (states, whole, control) in enumerate(zip(self._groups, self._whole, controls, strict=False)):
            chosen = np.full(len(whole), True) if among is None else among[number]
            if not chosen.any():
                continue
            for erasure in (own, control):
                self._erased.erase(erasure)
                shares.append((self._choose([each[chosen] for each in states]) != whole[chosen]).mean())
        return np.array(shares[::2]), np.array(shares[1::2])

    def _choose(self, states: Sequence[np.ndarray]) -> np.ndarray:
        import keras
        import tensorflow as tf

        return keras.tree.flatten(self._run(list(map(tf.constant, states))))[0].numpy().argmax(axis=-1)
