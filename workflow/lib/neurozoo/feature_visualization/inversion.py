"""Feature inversion: inputs that excite a layer as a recorded observation does, but more strongly.

What such a caricature lacks, the layer ignores. Source: the notebook of the Atari Zoo, Such et al. 2018,
arXiv:1812.07069. It maximises the dot product with the layer's activations times their cosine.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from neurozoo.agents.frozen import FrozenModel, LayerRecord, open_frozen
from neurozoo.environments.observations import brightest
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization import objectives
from neurozoo.feature_visualization.layers import check_pictures, find_layer
from neurozoo.feature_visualization.pictures import (
    Row,
    draw_planes,
    enlarged,
    fitting,
    planes_of,
    side_by_side,
    write_sheet,
)
from neurozoo.feature_visualization.recordings import choose_steps, open_recording
from neurozoo.feature_visualization.synthetic import CELL, Ascent, Synthetic, synthesise


def invert(
    frozen: FrozenModel, layer: LayerRecord, observations: np.ndarray, *, ascent: Ascent | None = None
) -> tuple[Synthetic, np.ndarray]:
    """Finds inputs for which a layer's activations point the same way as for given observations.

    Args:
        frozen: The frozen model.
        layer: The layer.
        observations: float32, shape (batch, height, width, channels).
        ascent: Settings of the optimisation; None for the defaults.

    Returns:
        The inputs, and the cosine between the layer's activations for them and for the observations, shape (batch,). It
        is NaN where the layer is silent.

    Raises:
        NeurozooError: The agent does not see pictures, or the layer is silent for all observations.
    """
    targets = _activations(frozen, layer, observations)
    if not targets.any():
        raise NeurozooError(
            f"All units of the layer {layer.name!r} are silent for these observations, so there is nothing to invert. "
            "Choose an earlier layer."
        )
    goal = objectives.likeness(targets)
    made = synthesise(frozen, layer, goal, count=len(targets), ascent=ascent, stops="behind")
    reached = _activations(frozen, layer, made.inputs)
    lengths = np.linalg.norm(targets, axis=-1) * np.linalg.norm(reached, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return made, (targets * reached).sum(axis=-1) / lengths


def _activations(frozen: FrozenModel, layer: LayerRecord, observations: np.ndarray) -> np.ndarray:
    import keras

    model = frozen.activations_model([layer.name])
    return keras.tree.flatten(model(observations, training=False))[0].numpy().reshape(len(observations), -1)


def draw_inversion(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    layer: str,
    at: Sequence[int] | None = None,
    observations: int = 4,
    **settings: Any,
) -> np.ndarray:
    """Draws recorded observations, and below each its inversion by a layer.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout of it.
        output: The `.png` to write.
        layer: Name of any layer.
        at: Steps of the rollout; None for steps spread evenly over it.
        observations: Number of steps if `at` is None.
        **settings: Fields of `Ascent`; the parameterisation defaults to `fourier`.

    Returns:
        Cosines, see `invert`.

    Raises:
        NeurozooError: The layer, a step or a setting does not exist, or the rollout comes from another agent.
    """
    ascent = Ascent(**{"parameterisation": "fourier", **settings})
    frozen = check_pictures(open_frozen(frozen_folder))
    record = find_layer(frozen, layer)
    with open_recording(frozen, rollout) as recording:
        chosen = choose_steps(recording, at, observations)
        rows_of = dict(recording.rows(chosen))
    seen = np.stack([rows_of[step] for step in sorted(rows_of)])
    made, cosines = invert(frozen, record, seen, ascent=ascent)
    shape, high = frozen.shape, brightest(frozen.protocol)
    factor = fitting(max(shape.height, shape.width), CELL)
    rows = []
    for i, step in enumerate(sorted(rows_of)):
        for label, picture in (
            (f"step {step}\nrecorded", seen[i]),
            (f"inverted\ncosine {cosines[i]:.2f}", made.inputs[i]),
        ):
            planes = draw_planes(picture, shape, high=high)
            rows.append(Row(label, [side_by_side([enlarged(plane, factor)]) for plane in planes]))
    write_sheet(
        output,
        title=f"{frozen.title}: feature inversion of {layer}",
        note=(
            "Recorded observations, and below each an input optimised from noise. For both, the layer's activations "
            "point the same way; what differs between the two pictures, the layer ignores. Cosine: between the two "
            f"activations; 1 is the same direction. Black is 0, white {high:g}."
        ),
        headers=[*planes_of(shape)],
        rows=rows,
        blocks=2 if len(rows) > 2 else 1,
    )
    return cosines
