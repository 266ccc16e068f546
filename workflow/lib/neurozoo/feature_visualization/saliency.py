"""Saliency: how much each pixel matters for what a network says, by five published methods under one interface.

A pixel is one place in all frames of an observation. `saliency_tests` measures whether a map deserves trust.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.feature_visualization.layers import Relu, with_relus

if TYPE_CHECKING:
    import keras

GRID = 5  # pixels between the centres of perturbations, and the standard deviation of their masks
BLUR = 3  # standard deviation of the blur that replaces a perturbed place, in pixels
POINTS = 64  # on the path of integrated gradients
CHUNK = 64  # observations per batch
Target = Literal["value"] | Sequence[int] | np.ndarray


class ExplainedNetwork:
    """A frozen Keras network that answers what explanations ask; it sees weights that are set later.

    Args:
        model: Its inputs are the observation and what the network knows of the past, see `FrozenModel.load_keras`; its
            outputs the preferences for actions and, if there is a second one, the state's value. Without it, the value
            is the largest preference, as in Q-learning.
    """

    def __init__(self, model: "keras.Model"):
        import keras

        self.model = keras.Model(list(model.inputs), list(model.outputs[:2]))
        self._compiled: dict[tuple[str, bool], Callable] = {}
        self._guided: keras.Model | None = None

    def outputs(self, observations: np.ndarray, history: Sequence[np.ndarray] = ()) -> tuple[np.ndarray, np.ndarray]:
        """Returns preferences, float32, shape (batch, actions), and values, shape (batch,)."""
        function = self._function("outputs", False, lambda: lambda inputs, chosen: self._heads(self.model, inputs))
        preferences, values = self._in_chunks(function, observations, history, np.zeros(len(observations), int))
        return preferences, values

    def explained(self, observations: np.ndarray, history: Sequence[np.ndarray], target: Target) -> np.ndarray:
        """Returns the outputs that are explained, shape (batch,): one preference each, or values."""
        preferences, values = self.outputs(observations, history)
        return values if isinstance(target, str) else preferences[np.arange(len(preferences)), target]

    def gradients(
        self, observations: np.ndarray, history: Sequence[np.ndarray], target: Target, *, relu: Relu = "plain"
    ) -> np.ndarray:
        """Returns the derivatives of the explained outputs by the observations, in their shape."""
        import tensorflow as tf

        if relu == "guided":
            self._guided = self._guided or with_relus(self.model, "guided")
            self._guided.set_weights(self.model.get_weights())
        model, of_value = self._guided if relu == "guided" else self.model, isinstance(target, str)

        def build():
            def gradients(inputs, chosen):
                with tf.GradientTape() as tape:
                    tape.watch(inputs[0])
                    output = _chosen(self._heads(model, inputs), chosen, of_value)
                return (tape.gradient(output, inputs[0]),)

            return gradients

        return self._in_chunks(self._function(relu, of_value, build), observations, history, target)[0]

    def map_gradients(
        self, observations: np.ndarray, history: Sequence[np.ndarray], target: Target
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the maps of the last convolution, behind its activation function, and the derivatives by them.

        Raises:
            NeurozooError: The network has no convolution.
        """
        import keras
        import tensorflow as tf

        found = [
            maps for layer in self.model.layers[1:] for maps in keras.tree.flatten(layer.output) if len(maps.shape) == 4
        ]
        if not found:
            raise NeurozooError("grad_cam needs the maps of a convolution, and this network has none. Leave it out.")
        model, of_value = keras.Model(self.model.inputs, [found[-1], *self.model.outputs]), isinstance(target, str)

        def build():
            def gradients(inputs, chosen):
                with tf.GradientTape() as tape:
                    maps, *said = model(inputs, training=False)
                    output = _chosen(_with_value(said), chosen, of_value)
                # Modular networks have maps from which their outputs do not derive.
                return maps, tape.gradient(output, maps, unconnected_gradients=tf.UnconnectedGradients.ZERO)

            return gradients

        maps, slopes = self._in_chunks(self._function("maps", of_value, build), observations, history, target)
        return maps, slopes

    def _heads(self, model, inputs):
        return _with_value(model(inputs, training=False))

    def _function(self, name: str, of_value: bool, build: Callable) -> Callable:
        import tensorflow as tf

        key = (name, of_value)
        if key not in self._compiled:
            self._compiled[key] = tf.function(build(), reduce_retracing=True)
        return self._compiled[key]

    def _in_chunks(self, function, observations, history, target) -> tuple[np.ndarray, ...]:
        import tensorflow as tf

        parts, chosen = [], np.zeros(len(observations), np.int32) if isinstance(target, str) else target
        for first in range(0, len(observations), CHUNK):
            part = slice(first, first + CHUNK)
            inputs = [tf.constant(each[part]) for each in (np.asarray(observations, np.float32), *history)]
            parts.append([each.numpy() for each in function(inputs, tf.constant(chosen[part], tf.int32))])
        return tuple(map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True)
class Question:
    """Why a network says what it says at some moments."""

    network: ExplainedNetwork
    observations: np.ndarray  # float32, shape (batch, height, width, channels)
    target: Target  # an action for each moment, or `value`
    history: Sequence[np.ndarray] = ()  # the network's other inputs, shape (batch, ...) each

    @cached_property
    def occluded(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each moment: preferences and values with each place of the grid perturbed, row by row."""
        said = []
        for i, observation in enumerate(self.observations):
            perturbed = perturb(observation)
            history = [np.repeat(part[i : i + 1], len(perturbed), axis=0) for part in self.history]
            said.append(self.network.outputs(perturbed, history))
        return said


def perturb(observation: np.ndarray) -> np.ndarray:
    """Blurs one place after the other of an observation, shape (height, width, channels), on a grid.

    Returns:
        float32, shape (places, height, width, channels): I (1 - M) + A M, where A is the observation with a Gaussian
        blur of 3 pixels and M a Gaussian of 5 pixels, which is 1 at the place. All frames are blurred alike, as the
        agents of the source see one frame.

    Source: Greydanus et al. 2018, arXiv:1711.00138, equation 1.
    """
    from scipy.ndimage import gaussian_filter

    height, width, _ = observation.shape
    blurred = gaussian_filter(observation.astype(np.float32), (BLUR, BLUR, 0))
    y, x = (np.exp(-np.square(np.arange(side) - np.arange(0, side, GRID)[:, None]) / (2 * GRID**2))
            for side in (height, width))  # fmt: skip
    masks = (y[:, None, :, None] * x[None, :, None, :]).reshape(-1, height, width, 1).astype(np.float32)
    return observation * (1 - masks) + blurred * masks


def perturbation(question: Question) -> np.ndarray:
    """Half the squared change of all preferences, or of the value, when a place is blurred; never negative.

    Source: Greydanus et al. 2018, arXiv:1711.00138, equations 2 and 3, every fifth pixel, bilinear in between.
    """
    preferences, values = question.network.outputs(question.observations, question.history)
    scores = []
    for i, (perturbed, perturbed_values) in enumerate(question.occluded):
        of_value = isinstance(question.target, str)
        change = (perturbed_values - values[i])[:, None] if of_value else perturbed - preferences[i]
        scores.append(np.square(change, dtype=np.float64).sum(axis=1) / 2)
    return _spread(scores, question.observations.shape[1:3])


def sarfa(question: Question) -> np.ndarray:
    """How much blurring a place takes from the chosen action, if the other actions keep their order of preference.

    Raises:
        NeurozooError: The target is `value`: the method explains actions.

    Source: Puri et al. 2020, arXiv:1912.12191; places and blur as `perturbation`, as in its code.
    """
    if isinstance(question.target, str):
        raise NeurozooError("sarfa explains actions, but the target is value. Choose another method for values.")
    preferences, _ = question.network.outputs(question.observations, question.history)
    scores = [
        sarfa_scores(before, after, int(action))
        for before, (after, _), action in zip(preferences, question.occluded, question.target, strict=True)
    ]
    return _spread(scores, question.observations.shape[1:3])


def sarfa_scores(before: np.ndarray, after: np.ndarray, action: int) -> np.ndarray:
    """Returns 2 K dp / (K + dp), shape (places,), in [0, 1].

    dp is the fall of the action's softmax probability, K = 1 / (1 + KL(after || before)) of the softmax over the other
    actions. Where dp is not positive, the score is 0, as in the paper's code; that code has the two arguments of KL the
    other way round than the paper.

    Args:
        before: Q-values or logits, shape (actions,).
        after: The same with a place perturbed, shape (places, actions).
        action: The explained one.
    """
    from scipy.special import log_softmax, softmax

    before, after = np.asarray(before, np.float64)[None], np.asarray(after, np.float64)
    fall = np.maximum(softmax(before, axis=1)[:, action] - softmax(after, axis=1)[:, action], 0)
    rest, rest_after = (log_softmax(np.delete(each, action, axis=1), axis=1) for each in (before, after))
    divergence = (np.exp(rest_after) * (rest_after - rest)).sum(axis=1)
    kept = 1 / (1 + divergence)
    return 2 * kept * fall / (kept + fall)


def integrated_gradients(question: Question, *, points: int = POINTS) -> np.ndarray:
    """What each number added to the output on a straight path from a black observation; they sum to its gain.

    Gradients are taken at the middles of so many `points`. Returns float32, in the shape of the observations.

    Source: Sundararajan et al. 2017, arXiv:1703.01365.
    """
    shares = ((np.arange(points) + 0.5) / points).astype(np.float32)[:, None, None, None]
    contributions = []
    for i, observation in enumerate(question.observations):
        history = [np.repeat(part[i : i + 1], points, axis=0) for part in question.history]
        target = question.target if isinstance(question.target, str) else np.repeat(question.target[i], points)
        slopes = question.network.gradients(shares * observation, history, target)
        contributions.append((slopes.mean(axis=0, dtype=np.float64) * observation).astype(np.float32))
    return np.stack(contributions)


def guided_backpropagation(question: Question) -> np.ndarray:
    """The largest absolute derivative of a pixel's frames, if only positive signals pass back through active ReLUs.

    Source: Springenberg et al. 2015, arXiv:1412.6806; one number per pixel as in Simonyan et al. 2014, arXiv:1312.6034.
    """
    back = question.network.gradients(question.observations, question.history, question.target, relu="guided")
    return np.abs(back).max(axis=-1)


def grad_cam(question: Question) -> np.ndarray:
    """Where the maps of the last convolution speak for the output: the positive part of their weighted sum.

    A map's weight is the mean derivative of the output by it; the sum is enlarged to the observation, bilinearly.

    Source: Selvaraju et al. 2017, arXiv:1610.02391, equations 1 and 2.
    """
    maps, slopes = question.network.map_gradients(question.observations, question.history, question.target)
    weights = slopes.mean(axis=(1, 2), keepdims=True)
    places = np.maximum((weights * maps).sum(axis=-1), 0)
    height, width = question.observations.shape[1:3]
    rows, columns = (
        (np.arange(side) + 0.5) * small / side - 0.5
        for side, small in zip((height, width), places.shape[1:], strict=True)
    )
    return _bilinear(places, rows, columns)


METHODS: dict[str, Callable[[Question], np.ndarray]] = {
    "perturbation": perturbation,
    "sarfa": sarfa,
    "integrated_gradients": lambda question: integrated_gradients(question).sum(axis=-1),
    "guided_backpropagation": guided_backpropagation,
    "grad_cam": grad_cam,
}


def saliency(
    model: "keras.Model",
    observations: np.ndarray,
    *,
    method: str,
    target: Target,
    history: Sequence[np.ndarray] = (),
) -> np.ndarray:
    """Maps how much each pixel matters for an action or for the state's value.

    Args:
        model: A frozen network that sees pictures, see `ExplainedNetwork`.
        observations: float32, shape (batch, height, width, channels).
        method: One of `METHODS`.
        target: An action for each observation, or `value`.
        history: The other inputs of networks that also see earlier actions and rewards, or have a memory: shape
            (batch, ...) each, in the model's order. `saliency_moments` takes them from a recording.

    Returns:
        float32, shape (batch, height, width). Maps of integrated gradients have both signs; others are not negative.

    Raises:
        NeurozooError: The method is unknown or cannot explain this network or target, an action does not exist, or the
            network needs a history.
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    if len(model.inputs) != 1 + len(history):
        names = ", ".join(each.name for each in model.inputs[1:])
        raise NeurozooError(
            f"The network has {len(model.inputs) - 1} inputs beside the observation, but history has {len(history)}. "
            f"Give it {names or 'none'}."
        )
    actions = model.outputs[0].shape[-1]
    if isinstance(target, str):
        if target != "value":
            raise NeurozooError(f"target should be value or an action for each observation, but is {target!r}.")
    elif len(target) != len(observations) or not all(0 <= action < actions for action in target):
        raise NeurozooError(
            f"target should be an action from 0 to {actions - 1} for each of {len(observations)} observations, but is "
            f"{list(target)[:8]}."
        )
    question = Question(ExplainedNetwork(model), np.asarray(observations, np.float32), target, history)
    return METHODS[method](question).astype(np.float32)


def _with_value(said):
    """Returns preferences and value; without an output for the value, it is the largest preference."""
    import keras
    import tensorflow as tf

    said = keras.tree.flatten(said)
    value = tf.squeeze(said[1], 1) if len(said) > 1 else tf.reduce_max(said[0], axis=1)
    return said[0], value


def _chosen(heads, chosen, of_value: bool):
    import tensorflow as tf

    return heads[1] if of_value else tf.gather(heads[0], chosen, axis=1, batch_dims=1)


def _spread(scores: Sequence[np.ndarray], shape: Sequence[int]) -> np.ndarray:
    """Fills the pixels between the places of the grid, bilinearly: float32, shape (batch, height, width)."""
    small = [-(-side // GRID) for side in shape]
    places = np.stack(scores).reshape(-1, *small)
    return _bilinear(places, *(np.arange(side) / GRID for side in shape))


def _bilinear(places: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    from scipy.ndimage import map_coordinates

    at = np.meshgrid(rows, columns, indexing="ij")
    return np.stack([map_coordinates(each, at, order=1, mode="nearest") for each in places]).astype(np.float32)
