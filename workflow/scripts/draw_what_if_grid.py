"""Runs `neurozoo.figures.what_if_grid.draw_grid` for one {algo}/{game}/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.figures.what_if_grid import draw_grid

with plain_errors(snakemake.log[0]):
    draw_grid(snakemake.input.grid, [snakemake.output.picture])
