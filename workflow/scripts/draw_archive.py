"""Runs `neurozoo.figures.archives.draw_heatmap` for one {algo}/{game}/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.figures.archives import draw_heatmap

with plain_errors(snakemake.log[0]):
    draw_heatmap(snakemake.input.archive, [snakemake.output.heatmap])
