"""Mosaics of a convolution's weights.

Source: `visualize_conv_w` of the Atari Zoo, Such et al. 2018, arXiv:1812.07069. Deviation: grey is zero, so black and
white have a meaning; the zoo scales from the smallest to the largest weight.
"""

import os

import numpy as np

from neurozoo.agents.frozen import open_frozen
from neurozoo.feature_visualization.layers import find_convolution, kernel_of
from neurozoo.feature_visualization.pictures import Row, blocks_within, channel_names, grey, side_by_side, write_sheet

CELLS = (8, 24)  # minimum and maximum size of a kernel, in pixels
WIDTH = 900  # width of a row, or of several blocks, in pixels
GROUP = 8  # input channels in a cell; the header numbers the first


def draw_weights(
    frozen_folder: str | os.PathLike, output: str | os.PathLike, *, layer: str, filters: int | None = None
) -> None:
    """Draws the kernels of a convolution: a row for each filter, a column for each of its input channels.

    Raises:
        NeurozooError: The folder does not hold a frozen model, or the layer is not one of its convolutions.
    """
    frozen = open_frozen(frozen_folder)
    record = find_convolution(frozen, layer)
    kernel = kernel_of(frozen, record)[..., :filters]
    height, width, inputs, shown = kernel.shape
    largest = float(np.abs(kernel).max())
    # A first layer may read only the first planes of the observation, as those of mazes do.
    names = channel_names(frozen.shape)[:inputs] if record is frozen.layers[0] else [str(i) for i in range(inputs)]
    group = 1 if inputs <= GROUP else GROUP
    factor = max(1, int(np.clip(WIDTH // inputs, *CELLS)) // max(height, width))
    rows = []
    for i in range(shown):
        cells = [grey(kernel[:, :, j, i], -largest, largest) for j in range(inputs)]
        rows.append(Row(str(i), [side_by_side(cells[j : j + group], factor) for j in range(0, inputs, group)]))
    read = "the observation" if record is frozen.layers[0] else "the layer before"
    shared = f", the same in all {record.cycles} cycles" if record.kind == "recurrent_conv" else ""
    write_sheet(
        output,
        title=f"{frozen.title}: weights of {layer}",
        note=(
            f"A row for each of {shown} filters of {height} x {width} weights, a column for each of {inputs} "
            f"channels of {read}{shared}. Black is -{largest:.3g}, white +{largest:.3g}, middle grey 0; "
            "one scale for all."
        ),
        rows=rows,
        headers=names[::group],
        blocks=blocks_within(WIDTH, rows, label=60, least=8),
    )
