"""Feature inversion: inputs that a layer takes for a recorded observation, only more so.

What is missing from such a caricature, the layer does not heed. Source: the notebook of the Atari Zoo, Such et al.
2018, arXiv:1812.07069: the input that maximises the dot product with the layer's activations times their cosine.
"""

import os
from collections.abc import Sequence

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.filters import objectives
from neurozoo.filters.layers import check_pictures, find_layer
from neurozoo.filters.pictures import Row, draw_planes, enlarged, fitting, planes_of, side_by_side, write_sheet
from neurozoo.filters.recordings import choose_steps, open_recording
from neurozoo.filters.synthetic import CELL, Ascent, Synthetic, synthesise
from neurozoo.games import brightest
from neurozoo.inspection.frozen import FrozenModel, LayerRecord, open_frozen


def invert(
    frozen: FrozenModel, layer: LayerRecord, observations: np.ndarray, *, ascent: Ascent | None = None
) -> tuple[Synthetic, np.ndarray]:
    """Finds inputs that a layer answers as it answers observations.

    Args:
        frozen: The frozen model.
        layer: The layer.
        observations: float32, shape (batch, height, width, channels).
        ascent: How; None for the defaults.

    Returns:
        The inputs, and the cosine between the layer's activations for them and for the observations, shape (batch,),
        which is NaN where the layer is silent.

    Raises:
        NeurozooError: The agent sees no pictures, or the layer is silent for all observations.
    """
    targets = _activations(frozen, layer, observations)
    if not targets.any():
        raise NeurozooError(
            f"All units of the layer {layer.name!r} are silent for these observations, so that there is nothing to "
            "invert. Choose an earlier layer."
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
    **settings: object,
) -> np.ndarray:
    """Draws recorded observations above what a layer makes of them.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout of it.
        output: The `.png` to write.
        layer: Any layer.
        at: Which steps of the rollout; None for some from all over it.
        observations: How many, if `at` is None.
        **settings: Fields of `Ascent`; the parameterisation is `fourier` if none is given.

    Returns:
        Cosines as of `invert`.

    Raises:
        NeurozooError: No such layer, step or setting, or the rollout is another agent's.
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
            "Recorded observations, and below each an input made from noise for which the layer's activations point "
            "the same way, as strongly as possible: what differs, the layer does not heed. Cosine: between the two "
            f"activations, 1 is the same. Black is 0, white {high:g}."
        ),
        headers=[*planes_of(shape)],
        rows=rows,
        blocks=2 if len(rows) > 2 else 1,
    )
    return cosines
