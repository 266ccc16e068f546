"""Runs `neurozoo.figures.lineage.plot_lineage` for one {algo}/{game}/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.figures.lineage import plot_lineage

with plain_errors(snakemake.log[0]):
    plot_lineage(snakemake.input.lineage, snakemake.output.figures, result=snakemake.input.result)
