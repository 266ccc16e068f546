"""Runs `neurozoo.figures.aggregates.plot_aggregates`."""

from neurozoo.errors import plain_errors
from neurozoo.figures.aggregates import plot_aggregates

with plain_errors(snakemake.log[0]):
    plot_aggregates(snakemake.input.scores, snakemake.output.figures, confidence=snakemake.params.confidence)
