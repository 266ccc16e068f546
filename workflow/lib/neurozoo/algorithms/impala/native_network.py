"""The network of a learner in the core: the same updates as those of `ActorCritic`, several times as fast."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from neurozoo.agents.policies import NetworkOutputs, PolicyInputs, State
from neurozoo.algorithms.compiled import loss_gradient
from neurozoo.algorithms.impala.minibatches import Lesson
from neurozoo.algorithms.impala.network import SEEN
from neurozoo.algorithms.impala.objectives import FIGURES, OBJECTIVES
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.algorithms.native_learner import (
    ACTING,
    ADAM,
    FIRST_SLOT,
    NONE_GIVEN,
    ONLINE,
    RADAM,
    RMSPROP_MOMENTUM,
    NativeLearner,
    checked,
    slots_of,
)
from neurozoo.networks.keras_networks import BASELINE, POLICY, Q_VALUES, KerasLayout
from neurozoo.networks.native_plan import HEADS, learner_plan

_KINDS = {"rmsprop": RMSPROP_MOMENTUM, "adam": ADAM, "radam": RADAM}
_MEASURED = -1.0  # the gradient's norm, but not bounded


class NativeActorCritic:
    """A network that learns while another copy of it acts, with the interface of `ActorCritic`.

    The core computes outputs and gradients, in `threads` threads; TensorFlow computes the loss of these outputs and its
    gradient by them. `learns_natively` has to say yes. The arrays of a state are those of `ActorCritic`.

    Raises:
        NeurozooError: The library does not fit, a thread cannot be started, or Keras does not use TensorFlow.
    """

    def __init__(
        self,
        layout: KerasLayout,
        settings: ImpalaSettings,
        *,
        random: np.random.Generator,
        byte_scale: float,
        core: Path,
        threads: int = 1,
    ) -> None:
        self._layout = layout
        self._settings = s = settings
        self._has_policy = layout.network.head != Q_VALUES
        self._learner = NativeLearner(
            learner_plan(layout),
            scale=byte_scale,
            optimizer=_KINDS[s.optimizer],
            epsilon_inside=s.epsilon_inside,
            decay=s.decay_rate,
            momentum=s.momentum,
            first_average=s.initial_accumulator,
            epsilon=s.optimizer_epsilon,
            max_norm=_MEASURED if s.max_gradient_norm is None else s.max_gradient_norm,
            has_bfloat16=s.dtype != "float32",
            core=core,
            threads=threads,
        )
        self._slots = 1 + (s.optimizer != "rmsprop" or s.momentum > 0)
        self._rate, self._norm = float(s.learning_rate), 0.0
        self._loss = loss_gradient(self._figures_of)
        self._set(ONLINE, layout.split(layout.draw(random, s.initial_weights)))
        self.hand_over()

    def hand_over(self) -> None:
        """Copies the weights that learn to those that act."""
        self._learner.copy_online(ACTING)

    def act(self, inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        """Asks the acting weights, for a `Policy`; may be called while another thread runs `update`."""
        return self._ask(ACTING, inputs), state

    def ask(self, inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        """Asks the weights that learn, for a `Policy`; not while another thread runs `update`."""
        return self._ask(ONLINE, inputs), state

    def learn(self, lesson: Lesson, *, learning_rates: Sequence[float]) -> Iterator[dict[str, float]]:
        """Makes all updates of a rollout, and yields what `update` returns of each."""
        for batch, rate in zip(lesson.batches(), learning_rates, strict=True):
            yield self.update(batch, learning_rate=rate)

    def update(self, batch: Mapping[str, np.ndarray], *, learning_rate: float) -> dict[str, float]:
        """Learns from some unrolls once; see `ActorCritic.update`."""
        observations, actions, rewards, _ = (batch[name] for name in SEEN)
        time, count = observations.shape[:2]
        states = checked(observations, (time, count, *self._layout.observation_shape), np.uint8)
        given = self._given(actions.ravel(), rewards.ravel())
        outputs = self._learner.forward(states.reshape(time * count, *states.shape[2:]), given=given)
        happened = {name: each for name, each in batch.items() if name not in SEEN}
        figures, deltas = self._loss(happened, outputs.reshape(time, count, -1))
        self._rate = learning_rate
        self._norm = self._learner.step(deltas, learning_rate=learning_rate)
        names = FIGURES[self._settings.objective]
        return {**dict(zip(names, figures.tolist(), strict=True)), "grad_norm": self._norm}

    def theta(self) -> np.ndarray:
        """Returns the weights that learn, in the order of the layout: float32, shape (parameters,)."""
        return self._theta(ONLINE)

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns everything that the next step and update depend on."""
        slots = [self._get(FIRST_SLOT + slot) for slot in range(self._slots)]
        averages = {f"optimizer-{2 + number}": slots[slot][name] for number, slot, name in self._places()}
        return {
            "online": self._theta(ONLINE),
            "acting": self._theta(ACTING),
            "optimizer-0": np.asarray(self._learner.steps),
            "optimizer-1": np.asarray(self._rate, np.float32),
            **averages,
            f"optimizer-{2 + len(averages)}": np.asarray(self._norm, np.float32),
        }

    def set_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned."""
        self._set(ONLINE, self._layout.split(arrays["online"]))
        self._set(ACTING, self._layout.split(arrays["acting"]))
        self._learner.steps = int(arrays["optimizer-0"])
        slots: list[dict[str, np.ndarray]] = [{} for _ in range(self._slots)]
        for number, slot, name in self._places():
            slots[slot][name] = checked(arrays[f"optimizer-{2 + number}"], self._layout.shapes[name], np.float32)
        for slot, averages in enumerate(slots):
            self._set(FIRST_SLOT + slot, averages)

    def _places(self) -> Iterator[tuple[int, int, str]]:
        return slots_of(self._layout.shapes, count=self._slots, by_slot=self._settings.optimizer != "adam")

    def _figures_of(self, batch, outputs) -> tuple:
        import keras

        answers = [outputs, keras.ops.max(outputs, axis=-1)]
        if self._has_policy:
            answers = [outputs[..., :-1], outputs[..., -1]]
        figures = OBJECTIVES[self._settings.objective](self._settings, batch, *answers)
        return tuple(figures[name] for name in FIGURES[self._settings.objective])  # the loss comes first

    def _ask(self, array: int, inputs: PolicyInputs) -> NetworkOutputs:
        count, shape = len(inputs.observation), self._layout.observation_shape
        states = checked(inputs.observation, (count, *shape), np.uint8)
        given = self._given(inputs.previous_action, inputs.previous_reward)
        outputs = self._learner.ask(array, states, given=given)
        if self._has_policy:
            return NetworkOutputs(outputs[:, :-1], baseline=outputs[:, -1])
        return NetworkOutputs(outputs, baseline=outputs.max(axis=-1))

    def _given(self, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        """Returns the rewards and actions before as the heads see them: float32, shape (batch, 1 + actions)."""
        if not self._has_policy:
            return NONE_GIVEN
        given = np.zeros((len(actions), 1 + self._layout.num_actions), np.float32)
        given[:, 0] = np.clip(rewards, -1.0, 1.0)
        given[np.arange(len(actions)), 1 + actions] = 1.0
        return given

    def _theta(self, array: int) -> np.ndarray:
        return np.concatenate([each.ravel() for each in self._get(array).values()])

    def _get(self, array: int) -> dict[str, np.ndarray]:
        """Returns weights or moving averages by name, in the order of the layout."""
        arrays = {}
        for name, shape in self._layout.shapes.items():
            number, part, columns = self._address(name)
            whole = (*shape[:-1], self._layout.num_actions + 1) if columns else shape
            found = self._learner.get(array, number, part, whole)
            arrays[name] = found[..., columns] if columns else found
        return arrays

    def _set(self, array: int, values: Mapping[str, np.ndarray]) -> None:
        for name, value in values.items():
            number, part, columns = self._address(name)
            if columns and name.startswith(f"{BASELINE}/"):
                continue  # comes with the policy
            if columns:
                value = np.concatenate([value, values[f"{BASELINE}/{part}"]], axis=-1)
            self._learner.set(array, number, part, value)

    def _address(self, name: str) -> tuple[int, str, slice | None]:
        """Returns the number of the layer of an array, its part, and its columns if it shares them with another."""
        layer, part = name.split("/")
        *layers, _ = (placed.layer.name for placed in self._layout.layers)
        actions = self._layout.num_actions
        columns = {POLICY: slice(None, actions), BASELINE: slice(actions, None)}.get(layer)
        is_head = layer in (POLICY, BASELINE, Q_VALUES)
        return [*layers, HEADS].index(HEADS if is_head else layer.removesuffix("_norm")), part, columns
