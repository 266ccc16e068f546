"""The networks of a population on one device: a slot for each, filled anew as episodes end."""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from neurozoo.evaluation.array_backends import JaxBackend, TensorFlowBackend
from neurozoo.networks import Layout


class SlotNetworks:
    """Weights and last observations of as many agents as there are slots. Shapes never change: all is compiled once.

    Args:
        layout: The network.
        slots: Agents at once.
        backend: What computes.
    """

    def __init__(self, layout: Layout, *, slots: int, backend: JaxBackend | TensorFlowBackend) -> None:
        self.slots = slots
        self._backend = backend
        self._places = places = {
            f"{placed.layer.name}/{part}": (place, placed.weight_shape if part == "w" else (placed.out_shape[2],))
            for placed in layout.layers
            for part, place in placed.places.items()
        }
        self._weights = {name: backend.slots((slots, *shape)) for name, (_, shape) in places.items()}
        self._moments = {
            placed.layer.name: backend.slots((slots, 2, placed.out_shape[2]))
            for placed in layout.layers
            if placed.layer.normalisation
        }
        self._stack = backend.zeros((slots, *layout.observation_shape))
        self._run, self._measure = _programs(layout, backend)

    def load(self, slot: int, theta: np.ndarray, reference: object = None) -> None:
        """Gives a slot new weights.

        Args:
            slot: Which.
            theta: float32, (parameters,).
            reference: What virtual batch norm is computed from, (1, batch, height, width, channels), on the device.
        """
        new = {
            name: self._backend.array(theta[place].reshape(1, *shape)) for name, (place, shape) in self._places.items()
        }
        if self._moments:
            self._moments = self._backend.with_slot(self._moments, slot, self._measure(new, reference))
        self._weights = self._backend.with_slot(self._weights, slot, new)

    def step(self, planes: np.ndarray, has_begun: np.ndarray) -> object:
        """Shows every network its newest plane; may return before the outputs are there.

        Args:
            planes: float32, (slots, height, width, channels).
            has_begun: bool, (slots,): an episode's first plane.

        Returns:
            The outputs on the device, (slots, outputs), for `numpy.asarray`.
        """
        array = self._backend.array
        self._stack, outputs = self._run(self._stack, self._weights, self._moments, array(planes), array(has_begun))
        return outputs


@lru_cache(maxsize=8)
def _programs(layout: Layout, backend: JaxBackend | TensorFlowBackend) -> tuple[Callable, Callable]:
    """Makes what is compiled once for each number of slots, whoever uses it: `step` and the measuring of references."""
    # Keras is imported with it, so that whoever plays natively does without.
    from neurozoo.evaluation import slot_layers

    def run(stack: object, weights: Mapping, moments: Mapping, planes: object, has_begun: object) -> tuple:
        stack = slot_layers.push_planes(stack, planes, has_begun)
        return stack, slot_layers.run_network(layout, weights, stack[:, None], moments)[:, 0]

    def measure(weights: Mapping, reference: object) -> dict:
        return slot_layers.measure_network(layout, weights, reference)

    return backend.compiled(run, reuse=True), backend.compiled(measure)


def memory_needed(layout: Layout, slots: int) -> int:
    """Estimates the bytes that two halves of `slots` need: weights, observations, and the largest patches of one half.

    Args:
        layout: The network.
        slots: Agents at once, in two halves.
    """
    patches = [
        math.prod(placed.out_shape[:2]) * math.prod(placed.weight_shape[:-1])
        for placed in layout.layers
        if placed.layer.kind != "dense"
    ]
    values = layout.parameter_count + 2 * math.prod(layout.observation_shape) + max(patches, default=0)
    return 4 * slots * values
