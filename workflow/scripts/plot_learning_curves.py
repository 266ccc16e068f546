"""Runs `neurozoo.plots.plot_learning_curves`."""

from neurozoo.errors import plain_errors
from neurozoo.plots import plot_learning_curves
from neurozoo.tables import read_metrics

with plain_errors(snakemake.log[0]):
    plot_learning_curves(
        read_metrics(snakemake.input.metrics),
        snakemake.output.figures,
        confidence=snakemake.params.confidence,
        seed=snakemake.params.seed,
        **snakemake.params.look,
    )
