"""Activations of a frozen network along a recorded rollout, with the history and the memory that it had there."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from neurozoo.agents.frozen import FrozenModel
from neurozoo.rollouts.perturbations import SHUFFLED, perturb_kernels, shuffle_weights


class ReplayedNetwork:
    """Computes activations of layers, given by their names, from the observations of a rollout.

    A network with a history needs the steps in their order, from the first one on; a network with a memory computes
    them one by one. Others may be asked about any steps. If `keeps_memory`, the memory after each step follows the
    activations. The kernels get the noise with which the rollout was played, see `perturb_kernels`. `shuffle` is
    the seed by which the weights are shuffled, if they are.
    """

    def __init__(
        self,
        frozen: FrozenModel,
        layers: Sequence[str],
        *,
        noise: float = 0.0,
        seed: int = 0,
        keeps_memory: bool = False,
        shuffle: int | None = None,
    ):
        import tensorflow as tf

        model = frozen.step_model(list(layers))
        if noise:
            perturb_kernels(model, noise, seed=seed)
        if shuffle is not None:
            shuffle_weights(model, np.random.default_rng([shuffle, 0, SHUFFLED]))
        self._frozen = frozen
        self._count = len(layers)
        self._kept = self._count + (len(frozen.state_shapes) if keeps_memory else 0)
        self._run = tf.function(lambda inputs: model(inputs, training=False), reduce_retracing=True)

    def rewind(self, *, actions: np.ndarray, scores: np.ndarray, starts: Collection[int]) -> None:
        """Goes to the first step of a rollout; only networks with a history need this.

        It needs the index of the action of each step, the points of the episode before each step, and the first steps
        of the episodes.
        """
        if self._frozen.has_history:
            self._before = before_each_step(actions, scores, starts)
            self._state = [np.zeros((1, *shape), np.float32) for shape in self._frozen.state_shapes]

    def __call__(self, observations: np.ndarray) -> list[np.ndarray]:
        """Returns the activations of the next steps, whose observations have shape (steps, ...)."""
        if not self._frozen.has_history:
            return self._ask([observations])
        before = [next(self._before) for _ in range(len(observations))]
        actions = np.array([action for action, _, _ in before], np.int32)
        rewards = np.array([reward for _, reward, _ in before], np.float32)
        if not self._state:
            return self._ask([observations, actions, rewards])
        steps = []
        for step, (_, _, is_first) in enumerate(before):
            if is_first:
                self._state = [np.zeros_like(part) for part in self._state]
            now = slice(step, step + 1)
            said = self._ask([observations[now], actions[now], rewards[now], *self._state])
            steps.append(said[: self._kept])
            self._state = said[self._count :]
        return [np.concatenate(layer) for layer in zip(*steps, strict=True)]

    def _ask(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        import keras
        import tensorflow as tf

        return [each.numpy() for each in keras.tree.flatten(self._run(list(map(tf.constant, inputs))))]


def before_each_step(
    actions: np.ndarray, scores: np.ndarray, starts: Collection[int]
) -> Iterator[tuple[int, float, bool]]:
    """Yields the action and the reward before each step, and whether an episode begins."""
    for step in range(len(scores)):
        if step in starts:
            yield 0, 0.0, True
        else:
            yield int(actions[step - 1]), float(scores[step] - scores[step - 1]), False
