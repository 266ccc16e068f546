"""Interventions as weights: an agent with ablated channels is another agent, which every engine plays at full speed.

This is exact. Zeros and factors go into the weights by which the next layer reads a channel. A mean goes into the bias
of the channel itself, whose weights become 0.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.interventions.intervention import INPUT, Intervention, With, check_layer
from neurozoo.networks.chains import Layout
from neurozoo.networks.layers import PlacedLayer

_PLAIN = ("conv", "dense")
_INSTEAD = "Play the frozen Keras model with it instead: the rule rollout_with (docs/causal.md)."


def intervened_weights(
    layout: Layout,
    theta: np.ndarray,
    interventions: Iterable[Intervention],
    *,
    means: Mapping[str, np.ndarray] | None = None,
) -> np.ndarray:
    """Returns the weights of the agent with interventions; without any, a copy with the same bits.

    Args:
        layout: The network.
        theta: float32, shape (parameters,).
        interventions: What changes, one after the other.
        means: Of `mean`: the mean activation of each channel, float, shape (channels,), by layer.

    Raises:
        NeurozooError: A layer or channel does not exist, or no weights do this: for regions, `constant`, `resample`
            and `patch`, the means of inputs and of layers without a bias, recurrent layers, and virtual batch
            normalisation.
    """
    theta = np.array(theta, np.float32)
    for intervention in interventions:
        _apply(layout, theta, intervention, means or {})
    return theta


def check_weights_do(layout: Layout, intervention: Intervention) -> None:
    """Refuses what no weights do to a network.

    Raises:
        NeurozooError: As `intervened_weights`.
    """
    means = {placed.layer.name: np.zeros(placed.out_shape[2]) for placed in layout.layers}
    intervened_weights(layout, np.zeros(layout.parameter_count, np.float32), [intervention], means=means)


def ablated_layers(layout: Layout, *, with_: With = "zero", layers: Sequence[str] = ()) -> list[str]:
    """Returns the layers that are ablated: those wanted, or else all that weights can ablate, except for the outputs.

    Raises:
        NeurozooError: A wanted layer does not exist or cannot be ablated, or none can.
    """
    found, refusal = [], None
    for name in layers or (INPUT, *(placed.layer.name for placed in layout.layers[:-1])):
        try:
            check_weights_do(layout, Intervention(name, with_=with_))
        except NeurozooError as error:
            if layers:
                raise
            refusal = error
        else:
            found.append(name)
    if not found:
        assert refusal is not None
        raise refusal
    return found


def _apply(layout: Layout, theta: np.ndarray, intervention: Intervention, means: Mapping[str, np.ndarray]) -> None:
    name, kind = intervention.layer, intervention.with_
    names = [placed.layer.name for placed in layout.layers]
    check_layer(name, names)
    if layout.needs_reference:
        raise NeurozooError(
            f"The network {layout.network.name!r} scales activations by statistics, which would change with the "
            f"weights. {_INSTEAD}"
        )
    if intervention.region is not None or kind in ("constant", "resample", "patch"):
        what = kind if intervention.region is None else "a region"
        raise NeurozooError(f"No weights do this: {what} of {name!r}. {_INSTEAD}")
    place = -1 if name == INPUT else names.index(name)
    own = layout.layers[place] if place >= 0 else None
    channels = np.flatnonzero(intervention.mask((own.out_shape if own else layout.observation_shape)[-1:]))
    if kind == "mean":
        _pin(layout, theta, own, channels, means)
        return
    factor = np.float32(0 if kind == "zero" else intervention.factor)
    arrays = layout.split(theta)
    if place + 1 == len(names):  # the outputs, which no layer reads
        assert own is not None
        for part in own.layer.parts:
            arrays[f"{name}/{part}"][..., channels] *= factor
        return
    reader = _plain(layout.layers[place + 1], name)
    weights = arrays[f"{reader.layer.name}/w"].reshape(
        -1, own.out_shape[2] if own else layout.observation_shape[2], reader.out_shape[2]
    )
    weights[:, channels] *= factor


def _pin(
    layout: Layout, theta: np.ndarray, own: PlacedLayer | None, channels: np.ndarray, means: Mapping[str, np.ndarray]
) -> None:
    """Makes channels constant: their weights become 0, and their bias what gives the mean."""
    if own is None or not own.layer.has_bias:
        what = "The input" if own is None else f"The layer {own.layer.name!r}"
        raise NeurozooError(f"{what} has no bias that could hold a mean. Choose with: zero. {_INSTEAD}")
    layer, arrays = _plain(own, own.layer.name).layer, layout.split(theta)
    values = np.asarray(means[layer.name], np.float64)[channels]
    inverse = np.arctanh(np.clip(values, -1 + 1e-7, 1 - 1e-7)) if layer.activation == "tanh" else values
    arrays[f"{layer.name}/w"][..., channels] = 0
    arrays[f"{layer.name}/b"][channels] = inverse / layer.gain


def _plain(placed: PlacedLayer, changed: str) -> PlacedLayer:
    if placed.layer.kind not in _PLAIN:
        raise NeurozooError(
            f"No weights change {changed!r} alone, because {placed.layer.name!r} ({placed.layer.kind}) also passes on "
            f"what it gets. Choose another layer. {_INSTEAD}"
        )
    return placed
