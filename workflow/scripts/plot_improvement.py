"""Runs `neurozoo.aggregate_plots.plot_improvement`."""

from neurozoo.aggregate_plots import plot_improvement
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    plot_improvement(snakemake.input.comparison, snakemake.output.figures, confidence=snakemake.params.confidence)
