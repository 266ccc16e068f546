"""One page with what excites the filters of all convolutions, to be opened in any browser without a network.

Source: the page that `nvis` of simple_dqn (tambetm) made of its snapshots. Deviations: it needed a plotting library
from a public server, and marked neither what the unit sees nor which step it was.
"""

import base64
import io
import os
from dataclasses import dataclass

import numpy as np
from PIL import Image

from neurozoo.errors import NeurozooError
from neurozoo.files import write_text
from neurozoo.filters.guided import Excitation, colours_explained, draw_in_colours, find_excitations
from neurozoo.filters.layers import CONVOLUTIONS, check_pictures
from neurozoo.filters.patches import first_channels
from neurozoo.filters.receptive_fields import ReceptiveField, receptive_field
from neurozoo.filters.recordings import open_recording
from neurozoo.inspection.frozen import FrozenModel, LayerRecord, open_frozen
from neurozoo.site.templating import environment


@dataclass(frozen=True)
class LayerFound:
    """A convolution on the page.

    Attributes:
        layer: The layer.
        field: What one of its units sees.
        found: Of each filter shown, in order.
    """

    layer: LayerRecord
    field: ReceptiveField
    found: list[Excitation]


def write_guided_page(
    frozen_folder: str | os.PathLike, rollout: str | os.PathLike, output: str | os.PathLike, *, filters: int = 4
) -> list[LayerFound]:
    """Shows for the first filters of every convolution what excited them most in a recording, and what in it did so.

    The first steps of an episode, with black frames before them, do not count, as in the original: where all pixels
    change at once, filters are excited more than by any game.

    Args:
        frozen_folder: The frozen model.
        rollout: A rollout of it.
        output: The `.html` to write, with all its pictures inside.
        filters: How many of a layer, if it has so many; 4 as in the original.

    Returns:
        What is shown, layer by layer.

    Raises:
        NeurozooError: The network has no convolution, the agent sees no pictures, `filters` is below 1, or the rollout
            is another agent's.
    """
    frozen = check_pictures(open_frozen(frozen_folder))
    layers = [layer for layer in frozen.layers if layer.kind in CONVOLUTIONS]
    if not layers:
        raise NeurozooError(
            f"The network {frozen.model!r} of {frozen.title} has no convolution, and so no filters to show. Of its "
            "dense layers there are pictures: python -m neurozoo filters guided --layer."
        )
    with open_recording(frozen, rollout) as recording:
        among = recording.settled(frozen.shape.stack)
        shown = [
            LayerFound(
                layer,
                receptive_field(frozen, layer),
                find_excitations(frozen, layer, recording, first_channels(filters, layer), among=among),
            )
            for layer in layers
        ]
        steps = int(among.sum()) or recording.steps
    write_text(output, _page(frozen, shown, steps))
    return shown


def _page(frozen: FrozenModel, shown: list[LayerFound], steps: int) -> str:
    pages = environment()
    pages.filters["picture"] = lambda values: _data_address(draw_in_colours(values, frozen.shape))
    return pages.get_template("guided.html").render(
        frozen=frozen,
        shown=shown,
        steps=steps,
        colours=colours_explained(frozen.shape),
        box_of=lambda layer, one: _box(layer, one, frozen.shape.observation[:2]),
    )


def _box(layer: LayerFound, one: Excitation, whole: tuple[int, int]) -> dict[str, int] | None:
    """Returns what the exciting unit sees as a rectangle within the observation; None if that is all of it."""
    spans = [
        (max(start, 0), min(start + length, side))
        for start, length, side in zip(layer.field.corner(*one.position), layer.field.size, whole, strict=True)
    ]
    (top, bottom), (left, right) = spans
    if (bottom - top, right - left) == tuple(whole):
        return None
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def _data_address(picture: np.ndarray) -> str:
    """Returns a picture, uint8, shape (height, width, 3), as an address that holds it."""
    data = io.BytesIO()
    Image.fromarray(picture).save(data, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()
