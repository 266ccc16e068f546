"""Runs `neurozoo.aggregate_plots.plot_performance_profile`."""

from neurozoo.aggregate_plots import plot_performance_profile
from neurozoo.errors import plain_errors
from neurozoo.tables import read_metrics

with plain_errors(snakemake.log[0]):
    plot_performance_profile(
        read_metrics(snakemake.input.metrics),
        snakemake.output.figures,
        confidence=snakemake.params.confidence,
        seed=snakemake.params.seed,
    )
