"""The network of a learner: weights that learn, weights that act, the optimizer, and one update.

It works with any `KERAS_BACKEND`; what depends on the backend is in `neurozoo.algorithms.compiled`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from neurozoo.agents.policies import NetworkOutputs, PolicyInputs, State
from neurozoo.algorithms.compiled import (
    copier,
    fused,
    in_shards,
    shared_training_step,
    stepper,
    training_step,
    training_steps,
)
from neurozoo.algorithms.impala.minibatches import Lesson
from neurozoo.algorithms.impala.objectives import FIGURES, OBJECTIVES
from neurozoo.algorithms.impala.optimizers import make_optimizer
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.compute.mpi import Group
from neurozoo.networks.keras_networks import MEMORY, KerasLayout

if TYPE_CHECKING:
    import keras

SEEN = ("observations", "previous_actions", "previous_rewards", "is_first")  # what the network sees of a batch


class ActingNetwork:
    """A copy of a network that computes in float32, with weights from elsewhere: float32, shape (parameters,).

    Bytes of observations are divided by `byte_scale`.
    """

    def __init__(self, layout: KerasLayout, theta: np.ndarray, *, byte_scale: float) -> None:
        self._layout = layout
        self.model = layout.keras_model(theta)
        self._step = stepper(_from_bytes(self.model, byte_scale))

    def act(self, inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        """Asks the network, for a `Policy`."""
        action, reward = inputs.previous_action.astype(np.int32), inputs.previous_reward.astype(np.float32)
        preferences, baseline, *state_after = self._step([inputs.observation, action, reward, *state])
        return NetworkOutputs(preferences, baseline=baseline[:, 0]), tuple(state_after)

    def set_theta(self, theta: np.ndarray) -> None:
        """Sets the weights: float32, shape (parameters,)."""
        self._layout.assign(self.model, theta)


class ActorCritic:
    """A network that learns while another copy of it acts.

    With `dtype: mixed_bfloat16`, most layers of the copy that learns compute in bfloat16. What acts and what is tested
    computes in float32, with the same weights, as the frozen network will. Learners, if there are several, add up their
    gradients. `hand_over` copies the weights that learn to those that act.
    """

    def __init__(
        self,
        layout: KerasLayout,
        settings: ImpalaSettings,
        *,
        random: np.random.Generator,
        byte_scale: float,
        learners: Group | None = None,
    ) -> None:
        theta = layout.draw(random, settings.initial_weights)
        self._layout = layout
        self._figures = FIGURES[settings.objective]
        self.online = layout.keras_model(theta, dtype=settings.dtype)
        self._acting = ActingNetwork(layout, theta, byte_scale=byte_scale)
        self._tested = ActingNetwork(layout, theta, byte_scale=byte_scale)
        self._trainer = _trainer(self.online, layout, settings, byte_scale)
        self._on_device = settings.engine == "batched"
        if self._on_device:
            optimizer = self._trainer.optimizer
            told = [self._trainer.figures, optimizer.norm]
            self._learn = training_steps(self._trainer, rate=optimizer.learning_rate, told=told)
        if learners is None:
            self._train = training_step(self._trainer)
        else:
            share = 1 / settings.learners if settings.gradients == "average" else 1.0
            self._train = shared_training_step(self._trainer, add_up=learners.add_up, share=share)
        self.hand_over = copier(self.online, self._acting.model)
        self._hand_over_to_test = copier(self.online, self._tested.model)
        self._is_test_up_to_date = False

    def act(self, inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        """Asks the acting weights, for a `Policy`; may be called while another thread runs `update`."""
        return self._acting.act(inputs, state)

    def ask(self, inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        """Asks the weights that learn, for a `Policy`; not while another thread runs `update`."""
        if not self._is_test_up_to_date:
            self._hand_over_to_test()
            self._is_test_up_to_date = True
        return self._tested.act(inputs, state)

    def learn(self, lesson: Lesson, *, learning_rates: Sequence[float]) -> Iterator[dict[str, float]]:
        """Makes all updates of a rollout, and yields what `update` returns of each."""
        if not self._on_device:
            for batch, rate in zip(lesson.batches(), learning_rates, strict=True):
                yield self.update(batch, learning_rate=rate)
            return
        self._is_test_up_to_date = False
        for *figures, norm in self._learn(lesson.columns, lesson.memory, lesson.parts, learning_rates):
            yield {**dict(zip(self._figures, figures, strict=True)), "grad_norm": norm}

    def update(self, batch: Mapping[str, np.ndarray], *, learning_rate: float) -> dict[str, float]:
        """Learns from some unrolls, as a `Lesson` yields them, once.

        Returns `FIGURES` of the objective, and `grad_norm`, the norm of the gradient before it was bounded.
        """
        self._is_test_up_to_date = False
        optimizer = self._trainer.optimizer
        optimizer.learning_rate = learning_rate
        self._train(dict(batch))
        figures = np.asarray(self._trainer.figures).tolist()
        return {**dict(zip(self._figures, figures, strict=True)), "grad_norm": float(np.asarray(optimizer.norm))}

    def theta(self) -> np.ndarray:
        """Returns the weights that learn, in the order of the layout: float32, shape (parameters,)."""
        return self._layout.theta_of(self.online)

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns everything that the next step and update depend on."""
        return {
            "online": self.theta(),
            "acting": self._layout.theta_of(self._acting.model),
            **{f"optimizer-{n}": np.asarray(v) for n, v in enumerate(self._trainer.optimizer.variables)},
        }

    def set_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned."""
        self._is_test_up_to_date = False
        self._layout.assign(self.online, arrays["online"])
        self._acting.set_theta(arrays["acting"])
        for number, variable in enumerate(self._trainer.optimizer.variables):
            variable.assign(arrays[f"optimizer-{number}"])


def _seen(model: "keras.Model", observations, byte_scale: float):
    """Scales bytes to the inputs of a network, in its own type."""
    import keras

    return keras.ops.cast(observations, model.inputs[0].dtype) / byte_scale


def _from_bytes(model: "keras.Model", byte_scale: float) -> "keras.Model":
    """Returns the model with observations as bytes."""
    import keras

    observation, *others = model.inputs
    inputs = keras.Input(observation.shape[1:], dtype="uint8")
    rest = [keras.Input(each.shape[1:], dtype=each.dtype) for each in others]
    return keras.Model([inputs, *rest], model([_seen(model, inputs, byte_scale), *rest]))


def _trainer(online: "keras.Model", layout: KerasLayout, settings: ImpalaSettings, byte_scale: float) -> "keras.Model":
    import keras

    ops = keras.ops

    class Trainer(keras.Model):
        """Its loss is that of the online network; it keeps the figures of the last update."""

        def __init__(self) -> None:
            super().__init__()
            self.online = online
            count = len(FIGURES[settings.objective])
            self.figures = self.add_weight(shape=(count,), initializer="zeros", trainable=False, name="figures")

        def call(self, batch):
            """Returns logits (or action values) and baseline of all steps that the batch has observations of."""
            axes = {name: 0 if name in MEMORY else 1 for name in (*SEEN, *MEMORY) if name in batch}
            seen = {name: batch[name] for name in axes}
            return in_shards(self._answer, seen, shards=settings.shards, axes=axes, axis=1)

        def _answer(self, batch):
            observations, *others, is_first = (batch[name] for name in SEEN)
            inputs = [_seen(self.online, observations, byte_scale), *others]
            return layout.unroll(self.online, inputs, is_first, [batch[name] for name in MEMORY if name in batch])

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            figures = OBJECTIVES[settings.objective](settings, x, *y_pred)
            self.figures.assign(ops.stack([figures[name] for name in FIGURES[settings.objective]]))
            return figures["loss_total"]

    trainer = Trainer()
    trainer.compile(optimizer=fused(make_optimizer(settings)), jit_compile=False)
    trainer.optimizer.build(online.trainable_variables)
    return trainer
