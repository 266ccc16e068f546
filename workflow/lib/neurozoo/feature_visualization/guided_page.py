"""One HTML page that shows what excites the filters of all convolutions; it works offline in any browser.

Source: the page that `nvis` of simple_dqn (tambetm) made from its snapshots. Deviations: that page loaded a plotting
library from a public server, and showed neither the receptive field nor the step.
"""

import base64
import io
import os
from dataclasses import dataclass

import jinja2
import numpy as np
from PIL import Image

from neurozoo.agents.frozen import FrozenModel, LayerRecord, open_frozen
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.guided import Excitation, colours_explained, draw_in_colours, find_excitations
from neurozoo.feature_visualization.layers import CONVOLUTIONS, check_pictures, choose_channels
from neurozoo.feature_visualization.receptive_fields import ReceptiveField, receptive_field
from neurozoo.feature_visualization.recordings import open_recording
from neurozoo.files import write_text
from neurozoo.files.templates import environment


@dataclass(frozen=True)
class LayerFound:
    """A convolution on the page, the receptive field of its units, and an excitation for each filter shown."""

    layer: LayerRecord
    field: ReceptiveField
    found: list[Excitation]


def write_guided_page(
    frozen_folder: str | os.PathLike, rollout: str | os.PathLike, output: str | os.PathLike, *, filters: int = 4
) -> list[LayerFound]:
    """Shows what excited the first filters of every convolution most in a recording, and what in it did so.

    The first steps of an episode do not count, because their observations still contain black frames (as in the
    original). Where all pixels change at once, filters respond more strongly than to anything in the game.

    The `.html` has all its pictures inside. At most so many `filters` are shown per layer; 4 as in the original.

    Raises:
        NeurozooError: The network has no convolution, the agent does not see pictures, or the rollout comes from
            another agent.
    """
    frozen = check_pictures(open_frozen(frozen_folder))
    layers = [layer for layer in frozen.layers if layer.kind in CONVOLUTIONS]
    if not layers:
        has_maps = [layer.name for layer in frozen.layers if len(layer.shape) == 3]
        what = f"a section ({', '.join(has_maps)})" if has_maps else "a dense layer"
        raise NeurozooError(
            f"The network {frozen.model!r} of {frozen.title} has no layer that is one convolution, which this page "
            f"shows. Draw {what} instead: python -m neurozoo filters guided RUN_DIR --layer NAME."
        )
    with open_recording(frozen, rollout) as recording:
        among = np.ones(recording.steps, bool)
        for start in recording.starts:
            among[start : start + frozen.shape.stack - 1] = False
        shown = [
            LayerFound(
                layer,
                receptive_field(frozen, layer),
                find_excitations(frozen, layer, recording, choose_channels(filters, layer), among=among),
            )
            for layer in layers
        ]
        steps = int(among.sum()) or recording.steps
    page = (
        pages_of(frozen)
        .get_template("guided.html")
        .render(
            frozen=frozen,
            shown=shown,
            steps=steps,
            colours=colours_explained(frozen.shape),
            box_of=box_of,
        )
    )
    write_text(output, page)
    return shown


def pages_of(frozen: FrozenModel) -> jinja2.Environment:
    """Returns the templates of pages that have all their pictures inside."""
    pages = environment()
    pages.filters["picture"] = lambda values: _data_url(draw_in_colours(values, frozen.shape))
    return pages


def box_of(field: ReceptiveField, one: Excitation, shape: ObservationShape) -> dict[str, int] | None:
    """Returns the part of the observation that the unit sees, as a rectangle; None if it sees everything."""
    whole = shape.observation[:2]
    spans = [
        (max(start, 0), min(start + length, side))
        for start, length, side in zip(field.corner(*one.position), field.size, whole, strict=True)
    ]
    (top, bottom), (left, right) = spans
    if (bottom - top, right - left) == tuple(whole):
        return None
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def _data_url(picture: np.ndarray) -> str:
    """Encodes a picture, uint8, shape (height, width, 3), as a data URL."""
    data = io.BytesIO()
    Image.fromarray(picture).save(data, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()
