"""Runs `neurozoo.figures.archive_comparison.draw_objective_histograms`."""

from neurozoo.errors import plain_errors
from neurozoo.figures.archive_comparison import draw_objective_histograms

with plain_errors(snakemake.log[0]):
    draw_objective_histograms(snakemake.input.archives, snakemake.output.figures)
