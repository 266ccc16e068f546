"""Runs `neurozoo.figures.temporal_lean.plot_temporal_lean`."""

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.temporal_lean import read_leans
from neurozoo.figures.temporal_lean import plot_temporal_lean

with plain_errors(snakemake.log[0]):
    plot_temporal_lean(
        read_leans(snakemake.input.leans),
        snakemake.output.figures,
        columns=snakemake.params.columns,
        confidence=snakemake.params.confidence,
        seed=snakemake.params.seed,
    )
