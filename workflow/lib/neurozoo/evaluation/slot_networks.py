"""The networks of the batched engine on one device: one per slot, replaced as episodes end."""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from neurozoo.evaluation.array_backends import JaxBackend, TensorFlowBackend
from neurozoo.networks.chains import Layout


class SlotNetworks:
    """Weights and last observations of one agent per slot. Shapes never change, so everything is compiled once."""

    def __init__(
        self, layout: Layout, *, slots: int, backend: JaxBackend | TensorFlowBackend, repeats_first: bool = False
    ) -> None:
        self.slots = slots
        self._backend = backend
        self._layout = layout
        self._weights = {name: backend.slots((slots, *shape)) for name, shape in layout.shapes.items()}
        self._moments = {
            placed.layer.name: backend.slots((slots, 2, placed.out_shape[2]))
            for placed in layout.layers
            if placed.layer.normalisation
        }
        self._stack = backend.zeros((slots, *layout.observation_shape))
        self._run, self._measure = _programs(layout, backend, repeats_first)

    def on_device(self, make: Callable[[], np.ndarray]) -> dict[str, Any]:
        """Makes weights, float32, (parameters,), and copies them to the device, for `load`. Any thread may call it."""
        return {name: self._backend.array(part[None]) for name, part in self._layout.split(make()).items()}

    def load(self, slot: int, new: Mapping[str, Any], reference: Any = None) -> None:
        """Gives a slot new weights, from `on_device`.

        The reference batch of virtual batch norm has shape (1, batch, height, width, channels) and is on the device.
        """
        if self._moments:
            self._moments = self._backend.with_slot(self._moments, slot, self._measure(new, reference))
        self._weights = self._backend.with_slot(self._weights, slot, new)

    def step(self, planes: np.ndarray, has_begun: np.ndarray) -> Any:
        """Starts a forward pass of all networks; may return before the outputs are ready.

        Args:
            planes: float32, (slots, height, width, channels).
            has_begun: bool, (slots,): whether the plane is the first of an episode.

        Returns:
            The outputs on the device, (slots, outputs), for `numpy.asarray`.
        """
        array = self._backend.array
        self._stack, outputs = self._run(self._stack, self._weights, self._moments, array(planes), array(has_begun))
        return outputs


@lru_cache(maxsize=8)
def _programs(
    layout: Layout, backend: JaxBackend | TensorFlowBackend, repeats_first: bool
) -> tuple[Callable, Callable]:
    """Compiles `step` and the measurement of reference batches, which all evaluators of a layout share."""
    # Imported here because it imports Keras, which the native engine does not need.
    from neurozoo.evaluation import slot_layers

    def run(stack: Any, weights: Mapping, moments: Mapping, planes: Any, has_begun: Any) -> tuple:
        stack = slot_layers.push_planes(stack, planes, has_begun, repeats_first=repeats_first)
        return stack, slot_layers.run_network(layout, weights, stack[:, None], moments)[:, 0]

    def measure(weights: Mapping, reference: Any) -> dict:
        return slot_layers.measure_network(layout, weights, reference)

    return backend.compiled(run, reuse=True), backend.compiled(measure)


def memory_needed(layout: Layout, slots: int, *, waiting: int = 0) -> int:
    """Estimates the memory in bytes of weights, observations, and the largest patches of one half of the slots.

    `waiting` is the number of agents whose weights are there before a slot is free.
    """
    patches = [
        math.prod(placed.out_shape[:2]) * math.prod(placed.weight_shape[:-1])
        for placed in layout.layers
        if placed.layer.kind != "dense"
    ]
    values = layout.parameter_count + 2 * math.prod(layout.observation_shape) + max(patches, default=0)
    return 4 * (slots * values + waiting * layout.parameter_count)
