"""The temporal lean of a network: how strongly its first layer weighs each frame of an observation.

The lean of a frame is the mean squared weight on that frame divided by the mean squared weight on the newest frame.
Older frames with a lean below 1 count less than the newest one.

Source: filter analysis of the Atari Zoo, Such et al. 2018, arXiv:1812.07069.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from neurozoo.agents.frozen import open_frozen
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.layers import kernel_of
from neurozoo.feature_visualization.pictures import channel_names
from neurozoo.files.csv import write_csv_table
from neurozoo.records.comparability import read_facts
from neurozoo.records.csv_tables import read_csv_table

COLUMNS = (
    "algo", "game", "model", "run", "protocol", "layer", "frame", "frames_back", "mean_squared_weight", "lean",
)  # fmt: skip


def temporal_lean(frozen_folder: str | os.PathLike) -> pd.DataFrame:
    """Measures the first layer's weights on each frame of an observation.

    There is a row per frame, oldest first, with the columns `COLUMNS`; `lean` is `mean_squared_weight` divided by that
    of the newest frame. A network that sees one frame at a time gives no rows.

    Raises:
        NeurozooError: The folder does not hold a frozen model, or its weights on the newest frame are all zero.
    """
    frozen = open_frozen(frozen_folder)
    shape, first = frozen.shape, frozen.layers[0]
    if shape.stack == 1:
        return pd.DataFrame(columns=list(COLUMNS))
    # A dense layer sees the observation flattened row-major, so its inputs have the same order as a convolution's.
    kernel = kernel_of(frozen, first).astype(np.float64)
    squares = np.square(kernel.reshape(-1, shape.stack, shape.channels, first.shape[-1])).mean(axis=(0, 2, 3))
    if squares[-1] == 0:
        raise NeurozooError(f"{frozen.title} has only zero weights on the newest frame, so it has no temporal lean.")
    run = {"algo": frozen.algo, "game": frozen.game, "model": frozen.model, "run": frozen.run}
    names = channel_names(shape)[:: shape.channels]
    return pd.DataFrame(
        {
            **run,
            "protocol": frozen.protocol.name,
            "layer": first.name,
            "frame": [name.split(" ")[0] for name in names],
            "frames_back": range(shape.stack - 1, -1, -1),
            "mean_squared_weight": squares,
            "lean": squares / squares[-1],
        }
    )[list(COLUMNS)]


def write_lean(frozen_folder: str | os.PathLike, output: str | os.PathLike) -> pd.DataFrame:
    """Writes `temporal_lean` as CSV, and returns it. A network that sees one frame at a time gives only a header."""
    table = temporal_lean(frozen_folder)
    write_csv_table(output, table)
    return table


def read_leans(paths: Sequence[str | os.PathLike]) -> pd.DataFrame:
    """Reads the files of `write_lean` of several runs into one table.

    A file in `filters/` of a run's folder gets what makes the run comparable, see `records.comparability`.

    Raises:
        NeurozooError: A file is missing, or it is not such a table.
    """
    tables = []
    for path in paths:
        table = read_csv_table(
            path,
            numbers=("run", "frames_back", "mean_squared_weight", "lean"),
            texts=("algo", "game", "model", "protocol", "layer", "frame"),
            remedy="Make it again: python -m neurozoo filters lean.",
        )
        if tuple(table.columns) != COLUMNS:
            raise NeurozooError(
                f"{path} should have the columns {', '.join(COLUMNS)}. Make it again: python -m neurozoo filters lean."
            )
        config = Path(path).parent.parent / "config.yaml"
        tables.append(table.assign(**read_facts(config)) if config.exists() else table)
    return pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)
