"""The Q-network in the core: the same networks, optimizers and updates as `QNetwork`, several times as fast."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neurozoo.algorithms.dqn.q_network import HEADS, WHITE, QNetwork, initial_weights, trained_shapes
from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.algorithms.native_learner import (
    ACTING,
    ADADELTA,
    ADAM,
    FIRST_SLOT,
    ONLINE,
    RMSPROP,
    RMSPROP_CENTERED,
    TARGET,
    NativeLearner,
    checked,
    slots_of,
)
from neurozoo.networks.chains import Layout
from neurozoo.networks.native_plan import learner_plan

if TYPE_CHECKING:
    from neurozoo.algorithms.dqn.replay import Sample

# Kind and number of moving averages; and whether Keras lists all first ones before all second ones.
_OPTIMIZERS = {
    "rmsprop": (RMSPROP, 1, True),
    "rmsprop_centered": (RMSPROP_CENTERED, 2, True),
    "adam": (ADAM, 2, False),
    "adadelta": (ADADELTA, 2, False),
}


class NativeQNetwork:
    """Online and target network of a layout, and the optimizer, with the interface of `QNetwork`.

    First weights and the names and shapes of arrays are those of `QNetwork`; results differ from it by the rounding of
    sums only. Here they depend neither on the number of threads nor on the processor's vectors.

    `learns_natively` has to say yes to the layout. `core`, `threads` and `is_narrow` are those of `NativeLearner`.

    Raises:
        NeurozooError: The library does not fit, or a thread cannot be started.
    """

    def __init__(
        self,
        layout: Layout,
        settings: DqnSettings,
        *,
        random: np.random.Generator,
        core: Path,
        threads: int = 1,
        is_narrow: bool = False,
    ) -> None:
        self._layout = layout
        self._settings = s = settings
        self._shapes = trained_shapes(layout, is_dueling=s.dueling)
        self._kind, self._slots, self._by_slot = _OPTIMIZERS[s.optimizer]
        self._learner = NativeLearner(
            learner_plan(layout),
            scale=WHITE,
            optimizer=self._kind,
            decay=s.decay_rate,
            epsilon=s.optimizer_epsilon,
            has_target=s.target_update_period > 0,
            is_double=s.double,
            is_dueling=s.dueling,
            learning_rate=s.learning_rate,
            huber_delta=s.huber_delta,
            has_bfloat16=s.dtype != "float32",
            core=core,
            threads=threads,
            is_narrow=is_narrow,
        )
        for name, shape in self._shapes.items():
            self._learner.set(ONLINE, *self._address(name), initial_weights(shape, s.initialisation, random))
        self.update_target()
        self.update_acting()

    def values(self, stacks: np.ndarray) -> np.ndarray:
        """Returns the action values of states, see `QNetwork.values`."""
        return self._ask(ONLINE, stacks)

    def acting_values(self, stacks: np.ndarray) -> np.ndarray:
        """The same with the weights of the last `update_acting`; may be called while another thread runs `update`."""
        return self._ask(ACTING if self._settings.plays_on else ONLINE, stacks)

    def update(self, sample: "Sample") -> np.ndarray:
        """Learns from a minibatch once, and returns its errors, value minus target: float32, shape (batch,)."""
        s, (height, width, history) = self._settings, self._layout.observation_shape
        return self._learner.learn_transitions(
            screens=checked(sample.screens, (s.batch_size, history + s.n_steps, height, width), np.uint8),
            steps=s.n_steps,
            actions=sample.actions,
            returns=sample.returns,
            discounts=sample.discounts,
            weights=sample.weights,
        )

    def update_target(self) -> None:
        """Copies the online network to the target network."""
        self._learner.copy_online(TARGET)

    def update_acting(self) -> None:
        """Copies the online network to the network that chooses actions, if that is another one."""
        if self._settings.plays_on:
            self._learner.copy_online(ACTING)

    def theta(self) -> np.ndarray:
        """Returns the weights of the online network in the order of the layout: float32, shape (parameters,)."""
        arrays = [self._learner.get(ONLINE, *self._address(name), shape) for name, shape in self._layout.shapes.items()]
        return np.concatenate([array.ravel() for array in arrays])

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns everything that the next update depends on; the arrays have the names that `QNetwork` gives them."""
        arrays = {name: self._learner.get(*place, shape) for name, place, shape in self._places()}
        rate = 1.0 if self._settings.optimizer == "adadelta" else self._settings.learning_rate
        steps = np.asarray(self._learner.steps)
        return arrays | {"optimizer-0": steps, "optimizer-1": np.asarray(rate, np.float32)}

    def set_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned; see `QNetwork.set_arrays`."""
        self._learner.steps = int(arrays["optimizer-0"])
        for name, place, shape in self._places():
            self._learner.set(*place, checked(arrays[name], shape, np.float32))

    def _places(self) -> Iterator[tuple[str, tuple[int, int, str], tuple[int, ...]]]:
        """Yields each array of the state: its name there, its place in the core, and its shape."""
        copies = {"online": ONLINE, "target": TARGET} | ({"acting": ACTING} if self._settings.plays_on else {})
        for copy, array in copies.items():
            for number, (name, shape) in enumerate(self._shapes.items()):
                yield f"{copy}-{number}", (array, *self._address(name)), shape
        for number, slot, name in slots_of(self._shapes, count=self._slots, by_slot=self._by_slot):
            yield f"optimizer-{2 + number}", (FIRST_SLOT + slot, *self._address(name)), self._shapes[name]

    def _ask(self, network: int, stacks: np.ndarray) -> np.ndarray:
        height, width, history = self._layout.observation_shape
        stacks = checked(stacks, (len(stacks), history, height, width), np.uint8)
        return self._learner.ask(network, stacks, has_planes=True)

    def _address(self, name: str) -> tuple[int, str]:
        """Returns the number of the layer of an array, and its part. Heads come after the layers."""
        layer, part = name.split("/")
        layers = [*(placed.layer.name for placed in self._layout.layers), *HEADS]
        return layers.index(layer), part


AnyQNetwork = QNetwork | NativeQNetwork


def make_q_network(
    layout: Layout, settings: DqnSettings, *, random: np.random.Generator, core: Path | None, threads: int
) -> AnyQNetwork:
    """Makes the network that the core computes, or Keras if there is none."""
    if core is None:
        return QNetwork(layout, settings, random=random)
    return NativeQNetwork(layout, settings, random=random, core=core, threads=threads)
