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
from neurozoo.feature_visualization.pictures import Row, draw_planes, framed, planes_of, write_sheet
from neurozoo.feature_visualization.recordings import choose_observations, open_recording
from neurozoo.feature_visualization.synthetic import CELL, Ascent, Synthetic, synthesise


def invert(
    frozen: FrozenModel, layer: LayerRecord, observations: np.ndarray, *, ascent: Ascent | None = None
) -> tuple[Synthetic, np.ndarray]:
    """Finds inputs for which a layer's activations point the same way as for observations, (batch, *shape of one).

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
    """Draws recorded observations, and below each its inversion by a layer. Returns the cosines, see `invert`.

    The steps are those in `at`, or as many as `observations` says, spread evenly. The `settings` are fields of
    `Ascent`; the parameterisation defaults to `fourier`.

    Raises:
        NeurozooError: The layer, a step or a setting does not exist, or the rollout comes from another agent.
    """
    ascent = Ascent(**{"parameterisation": "fourier", **settings})
    frozen = check_pictures(open_frozen(frozen_folder))
    record = find_layer(frozen, layer)
    with open_recording(frozen, rollout) as recording:
        steps, seen = choose_observations(recording, at, observations)
    made, cosines = invert(frozen, record, seen, ascent=ascent)
    shape, high = frozen.shape, brightest(frozen.protocol)
    rows = []
    for i, step in enumerate(steps):
        for label, picture in (
            (f"step {step}\nrecorded", seen[i]),
            (f"inverted\ncosine {cosines[i]:.2f}", made.inputs[i]),
        ):
            rows.append(Row(label, framed(draw_planes(picture, shape, high), CELL)))
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
