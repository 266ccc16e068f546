"""Networks that learn in the native core, which computes what Keras computes: what the learners share.

Results differ from those of Keras by the rounding of sums only. They depend neither on the number of threads nor on the
processor's vectors.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from neurozoo.native import load_core
from neurozoo.native.functions import Object

ONLINE, TARGET, ACTING, FIRST_SLOT = range(4)  # arrays of weights, and the optimizer's moving averages
PARTS = ("w", "b", "gain", "offset", "mean", "variance")  # of a layer, in the core's order
RMSPROP, RMSPROP_CENTERED, ADAM, ADADELTA, RMSPROP_MOMENTUM, RADAM = range(6)  # kinds of optimizers
NONE_GIVEN = np.zeros(0, np.float32)


# How a network learns, unless it says otherwise: OptimizerSettings and QLearnerSettings of native/core/learner/.
CHOICES: Mapping[str, object] = {
    "epsilon_inside": False,
    "decay": 0.0,
    "momentum": 0.0,
    "first_average": 0.0,
    "max_norm": 0.0,
    "has_target": False,
    "is_double": False,
    "is_dueling": False,
    "learning_rate": 0.0,
    "huber_delta": 0.0,
}


class NativeLearner:
    """A network in the core, copies of its weights, and an optimizer. One thread may learn while another asks a copy.

    Args:
        plan: See `learner_plan`.
        scale: What bytes are divided by to become observations.
        core: The native core.
        threads: Threads of an update.
        is_narrow: Whether vectors have 256 bits even where the processor has wider ones.
        has_bfloat16: Whether all layers but the last learn in bfloat16, with sums and weights in float32.
        choices: `optimizer`, `epsilon`, and what else differs from `CHOICES`.

    Raises:
        NeurozooError: The library does not fit, a thread cannot be started, or the processor has no bfloat16.
    """

    def __init__(
        self,
        plan: np.ndarray,
        *,
        scale: float,
        core: Path,
        threads: int,
        is_narrow: bool = False,
        has_bfloat16: bool = False,
        **choices: object,
    ) -> None:
        self._core = load_core(core)
        self._learner: Object = self._core.make_learner(
            layers=plan,
            white=scale,
            num_threads=threads,
            is_narrow=is_narrow,
            has_bfloat16=has_bfloat16,
            **{**CHOICES, **choices},
        )

    @property
    def steps(self) -> int:
        """Steps of the optimizer so far."""
        return int(self._core.get_optimizer_steps(learner=self._learner))

    @steps.setter
    def steps(self, steps: int) -> None:
        self._core.set_optimizer_steps(learner=self._learner, steps=steps)

    def get(self, array: int, layer: int, part: str, shape: tuple[int, ...]) -> np.ndarray:
        """Returns an array of a layer, such as `w`, of weights or of a moving average: float32, in Keras' order."""
        place = {"array": array, "layer": layer, "part": PARTS.index(part)}
        return self._core.get_weights(learner=self._learner, **place).reshape(shape)

    def set(self, array: int, layer: int, part: str, values: np.ndarray) -> None:
        """Sets an array of a layer."""
        place = {"array": array, "layer": layer, "part": PARTS.index(part)}
        self._core.set_weights(learner=self._learner, **place, values=values)

    def copy_online(self, array: int) -> None:
        """Sets a copy of the weights to those that learn."""
        self._core.copy_weights(learner=self._learner, array=array)

    def ask(
        self,
        array: int,
        states: np.ndarray,
        *,
        given: np.ndarray = NONE_GIVEN,
        has_planes: bool = False,
        is_rounded: bool = False,
    ) -> np.ndarray:
        """Returns the results of some weights: float32, shape (batch, results).

        Results are the outputs of the last layer; if a later convolution sees tiles, what it sees beside them follows.

        Args:
            array: Those that learn, or a copy.
            states: uint8, shape (batch, height, width, channels), or (batch, channels, height, width) with
                `has_planes`; the caller checks it.
            given: float32, shape (batch, inputs of the last layer that no layer computes).
            has_planes: The order of `states`.
            is_rounded: Whether to compute in what is learned in; in float32 otherwise.
        """
        return self._core.ask_learner(
            learner=self._learner,
            array=array,
            states=states,
            has_planes=has_planes,
            given=given,
            is_rounded=is_rounded,
        )

    def forward(self, states: np.ndarray, *, given: np.ndarray = NONE_GIVEN) -> np.ndarray:
        """The same with the weights that learn, and the statistics of this batch, for `step`."""
        return self._core.forward_learner(learner=self._learner, states=states, given=given)

    def step(self, deltas: np.ndarray, *, learning_rate: float) -> float:
        """Learns, once, from the gradient of a loss by the results of `forward`: float32, shape (batch, results).

        Returns the norm of the gradient before it was bounded; 0 if `max_norm` is 0.
        """
        return float(self._core.step_learner(learner=self._learner, deltas=deltas, learning_rate=learning_rate))

    def learn_transitions(self, **arrays: object) -> np.ndarray:
        """Makes an update of deep Q-learning; see `learn_transitions` of the core. Returns the errors."""
        return self._core.learn_transitions(learner=self._learner, **arrays)


def slots_of(names: Iterable[str], *, count: int, by_slot: bool) -> Iterator[tuple[int, int, str]]:
    """Yields the moving averages in the order in which Keras keeps them: number there, slot, name of the array.

    Each array that learns has `count` of them; with `by_slot`, all first ones come before all second ones.
    """
    names = list(names)
    for place, name in enumerate(names):
        for slot in range(count):
            yield (slot * len(names) + place if by_slot else place * count + slot), slot, name


def checked(array: np.ndarray, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Returns an array as the core reads it, or raises `ValueError` if it has another shape."""
    if array.shape != shape:
        raise ValueError(f"An array of shape {array.shape} came, but {shape} was expected")
    return np.ascontiguousarray(array, dtype)
