"""Runs `neurozoo.figures.aggregates.plot_performance_profile`."""

from neurozoo.errors import plain_errors
from neurozoo.figures.aggregates import plot_performance_profile
from neurozoo.records.tables import read_scores

with plain_errors(snakemake.log[0]):
    plot_performance_profile(
        read_scores(snakemake.input.metrics),
        snakemake.output.figures,
        confidence=snakemake.params.confidence,
        seed=snakemake.params.seed,
    )
