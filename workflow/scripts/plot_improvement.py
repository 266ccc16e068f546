"""Runs `neurozoo.figures.aggregates.plot_improvement`."""

from neurozoo.errors import plain_errors
from neurozoo.figures.aggregates import plot_improvement

with plain_errors(snakemake.log[0]):
    plot_improvement(snakemake.input.comparison, snakemake.output.figures, confidence=snakemake.params.confidence)
