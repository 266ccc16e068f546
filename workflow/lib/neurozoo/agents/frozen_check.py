"""Checks that all forms of a frozen model act as the agent did in a recorded episode."""

import os
from collections.abc import Iterator

import numpy as np

from neurozoo.agents.frozen import GRAPH_FILE, KERAS_FILE, ONNX_FILE, SAVED_MODEL, open_frozen
from neurozoo.agents.graph import load_graph
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Trace

CHUNK = 64  # observations per batch

# Float sums in another order differ by about 1e-6 of the largest output after 3,136 terms. If the two best outputs are
# closer than this, either action is right.
TIE = 1e-5  # difference of the two best outputs, as a fraction of the largest absolute output
CLOSE = 1e-4  # largest error of a continuous output, as a fraction of the episode's largest absolute output


def check_same_actions(folder: str | os.PathLike, trace: Trace) -> dict[str, int]:
    """Checks that all forms of the frozen model in a folder act as in a recorded episode.

    Returns:
        `steps` that were compared, and `ties`: steps in which a form took the other of two equally good actions.
        Actions are equally good if their outputs differ by at most 1e-5 of the largest, because float sums in another
        order differ that much. Continuous outputs have no ties.

    Raises:
        NeurozooError: A form chose another action in a step that is not a tie, or its continuous outputs differ by more
            than 1e-4 of the largest. The message names the step.
    """
    import tensorflow as tf

    frozen = open_frozen(folder)
    keras_model, served = frozen.load_keras(), frozen.load_served()
    forms = {
        KERAS_FILE: lambda batch: keras_model(batch, training=False).numpy(),
        SAVED_MODEL: lambda batch: served(observation=tf.constant(batch))["logits"].numpy(),
        GRAPH_FILE: load_graph(frozen, frozen.folder / GRAPH_FILE),
    }
    if (frozen.folder / ONNX_FILE).exists():
        run = frozen.load_onnx()
        forms[ONNX_FILE] = lambda batch: run({"observation": batch})["logits"]
    steps = len(trace.actions)
    is_tie = _ties(trace.logits) if not frozen.is_continuous else np.zeros(steps, bool)
    tied = np.zeros(steps, bool)
    for name, outputs_of in forms.items():
        outputs = np.concatenate([outputs_of(batch) for batch in stacked(trace.planes, CHUNK, frozen.shape)])
        if frozen.is_continuous:
            differs = np.abs(outputs - trace.logits).max(axis=-1) > CLOSE * np.abs(trace.logits).max()
        else:
            differs = outputs.argmax(axis=-1) != trace.actions
        wrong = np.flatnonzero(differs & ~is_tie)
        if wrong.size:
            step = int(wrong[0])
            got, expected = (
                (outputs[step].tolist(), trace.logits[step].tolist())
                if frozen.is_continuous
                else (f"action {int(outputs[step].argmax())}", int(trace.actions[step]))
            )
            raise NeurozooError(
                f"{name} acts differently from the agent in {wrong.size} of {steps} steps, first in step {step}: "
                f"{got} instead of {expected}. The checkpoint and the evaluator do not match: rebuild the native core, "
                "then train or freeze again."
            )
        tied |= differs
    return {"steps": steps, "ties": int(tied.sum())}


def _ties(logits: np.ndarray) -> np.ndarray:
    """Finds the steps in which the two best outputs are too close to tell which is larger; bool, shape (steps,)."""
    if logits.shape[-1] < 2:
        return np.zeros(len(logits), bool)
    best_two = np.sort(logits, axis=-1)[:, -2:]
    return best_two[:, 1] - best_two[:, 0] <= TIE * np.abs(logits).max(axis=-1)


def stacked(planes: np.ndarray, chunk: int, shape: ObservationShape) -> Iterator[np.ndarray]:
    """Stacks the planes of an episode's steps, (steps, height, width, channels) or without the last axis.

    Yields:
        Observations, at most `chunk` at a time: shape (batch, height, width, channels * stack), oldest plane first.
    """
    planes, stack = planes if planes.ndim == 4 else planes[..., np.newaxis], shape.stack
    before = planes[:1] if shape.repeats_first else np.zeros((1, *planes.shape[1:]), np.float32)
    padded = np.concatenate([*[before] * (stack - 1), planes])
    for start in range(0, len(planes), chunk):
        stop = min(start + chunk, len(planes))
        yield np.concatenate([padded[start + age : stop + age] for age in range(stack)], axis=-1)
