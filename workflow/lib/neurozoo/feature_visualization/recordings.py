"""Reads a rollout for a frozen model, and computes what its layers do at the steps."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.layers import model_to
from neurozoo.rollouts.replayed import ReplayedNetwork, before_each_step
from neurozoo.rollouts.rollout_files import RolloutFile, open_rollout, recognise


@contextmanager
def open_recording(frozen: FrozenModel, path: str | os.PathLike) -> Iterator[RolloutFile]:
    """Opens a rollout and checks that this agent played it.

    Raises:
        NeurozooError: The file is missing, damaged or empty, was recorded with parameter noise, or comes from another
            agent. Then this network has other representations for the recorded observations.
    """
    with open_rollout(path, frozen) as recording:
        if noise := recording.perturbation.parameter:
            raise NeurozooError(
                f"{path} was recorded with parameter noise {noise:g}, so its actions are not those of the agent "
                "itself. Record it again without noise: python -m neurozoo rollout, or set rollout: parameter_noise: 0."
            )
        recognise(recording, frozen)
        yield recording


@dataclass(frozen=True)
class Survey:
    """The values of every filter or unit at every step, before the activation function: arrays of (steps, channels).

    `largest` and `smallest` are those of the positions of a map, float32; `where_largest` and `where_smallest`
    are positions, row-major; 0 in a dense layer.
    """

    largest: np.ndarray
    smallest: np.ndarray
    where_largest: np.ndarray
    where_smallest: np.ndarray


def survey(frozen: FrozenModel, layer: LayerRecord, recording: RolloutFile) -> Survey:
    """Summarises a layer's values at all steps of a recording."""
    import tensorflow as tf

    model = model_to(frozen, layer)

    @tf.function(reduce_retracing=True)
    def summarise(observations):
        values = model(observations, training=False)
        values = tf.reshape(values, (tf.shape(values)[0], -1, layer.shape[-1]))
        return tf.reduce_max(values, 1), tf.reduce_min(values, 1), tf.argmax(values, 1), tf.argmin(values, 1)

    seen = [[part.numpy() for part in summarise(tf.constant(block))] for (block,) in recording.blocks("observations")]
    return Survey(*(np.concatenate(parts) for parts in zip(*seen, strict=True)))


def choose_observations(recording: RolloutFile, at: Sequence[int] | None, count: int) -> tuple[list[int], np.ndarray]:
    """Returns the steps `at`, or `count` steps spread evenly over the recording if `at` is None, and what was seen.

    Raises:
        NeurozooError: A step does not exist.
    """
    if at is None:
        steps = np.unique(np.arange(1, count + 1) * recording.steps // (count + 1)).tolist()
    elif wrong := [step for step in at if not 0 <= step < recording.steps]:
        raise NeurozooError(f"The rollout has steps 0 to {recording.steps - 1}, but got step {wrong[0]}.")
    else:
        steps = sorted(set(at))
    return steps, np.stack([row for _, row in recording.rows_at("observations", steps)])


def inputs_at(frozen: FrozenModel, recording: RolloutFile, places: np.ndarray) -> list[np.ndarray]:
    """Returns what a network without memory sees at some steps: the observation, for some also action and reward."""
    seen = [np.stack([row for _, row in recording.rows_at("observations", places)])]
    if frozen.has_history:
        steps = [*before_each_step(np.array(recording.actions), recording.scores_before, recording.starts)]
        actions, rewards, _ = zip(*(steps[place] for place in places), strict=True)
        seen += [np.array(actions, np.int32), np.array(rewards, np.float32)]
    return seen


def activations_at(
    frozen: FrozenModel,
    recording: RolloutFile,
    places: np.ndarray,
    layers: Sequence[str],
    *,
    shuffle: int | None = None,
) -> list[np.ndarray]:
    """Returns activations of layers at some steps of a recording, (places, ...); `shuffle`: see `ReplayedNetwork`."""
    network = ReplayedNetwork(frozen, layers, shuffle=shuffle)
    network.rewind(actions=np.array(recording.actions), scores=recording.scores_before, starts=recording.starts)
    found, first = [], 0
    for (block,) in recording.blocks("observations"):
        inside = places[(places >= first) & (places < first + len(block))] - first
        first += len(block)
        if frozen.has_history:
            found.append([each[inside] for each in network(block)])
        elif len(inside):
            found.append(network(block[inside]))
    return [np.concatenate(each) for each in zip(*found, strict=True)]
