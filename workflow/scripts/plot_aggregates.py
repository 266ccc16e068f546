"""Runs `neurozoo.aggregate_plots.plot_aggregates`."""

from neurozoo.aggregate_plots import plot_aggregates
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    plot_aggregates(snakemake.input.scores, snakemake.output.figures, confidence=snakemake.params.confidence)
