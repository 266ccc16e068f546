"""Runs `neurozoo.rollouts.what_if_grid.measure_grid` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.rollouts.what_if_grid import measure_grid

with plain_errors(snakemake.log[0]):
    measure_grid(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.grid,
        log=snakemake.log[0],
        terminal=snakemake.resources.terminal,
    )
