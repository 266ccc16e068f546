"""Mosaics of a convolution's weights.

Source: `visualize_conv_w` of the Atari Zoo, Such et al. 2018, arXiv:1812.07069. Deviation: grey is zero, so that black
and white have a meaning; the zoo spreads the range from the smallest to the largest weight.
"""

import os

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.filters.layers import find_convolution, kernel_of
from neurozoo.filters.pictures import Row, channel_names, enlarged, fitting, grey, side_by_side, write_sheet
from neurozoo.inspection.frozen import open_frozen

CELLS = (8, 24)  # pixels of a kernel, at least and at most
WIDTH = 900  # pixels of a row, or of several blocks
GROUP = 8  # inputs of which the first is numbered


def draw_weights(
    frozen_folder: str | os.PathLike, output: str | os.PathLike, *, layer: str, filters: int | None = None
) -> None:
    """Draws the kernels of a convolution: a row for each filter, a column for each channel that it reads.

    Args:
        frozen_folder: The frozen model.
        output: The `.png` to write.
        layer: A convolution, recurrent or not.
        filters: Only the first so many filters; None for all.

    Raises:
        NeurozooError: The folder is no frozen model, or the layer is none of its convolutions, or `filters` is below 1.
    """
    if filters is not None and filters < 1:
        raise NeurozooError(f"At least 1 filter can be shown, but {filters} came. Leave it out to see all.")
    frozen = open_frozen(frozen_folder)
    record = find_convolution(frozen, layer)
    kernel = kernel_of(frozen, record)[..., :filters]
    height, width, inputs, shown = kernel.shape
    largest = float(np.abs(kernel).max())
    names = channel_names(frozen.shape) if record is frozen.layers[0] else [str(i) for i in range(inputs)]
    group = 1 if inputs <= GROUP else GROUP
    factor = fitting(max(height, width), int(np.clip(WIDTH // inputs, *CELLS)))
    rows = []
    for i in range(shown):
        cells = [enlarged(grey(kernel[:, :, j, i], -largest, largest), factor) for j in range(inputs)]
        rows.append(Row(str(i), [side_by_side(cells[j : j + group]) for j in range(0, inputs, group)]))
    read = "the observation" if record is frozen.layers[0] else "the layer before"
    shared = f", the same in all {record.cycles} cycles" if record.kind == "recurrent_conv" else ""
    block = sum(cell.shape[1] + 4 for cell in rows[0].cells) + 60
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
        blocks=max(1, min(WIDTH // block, shown // 8)),
    )
