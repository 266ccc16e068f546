"""Runs `neurozoo.improvement.comparison_table`."""

from neurozoo.errors import plain_errors
from neurozoo.improvement import comparison_table
from neurozoo.tables import read_metrics

with plain_errors(snakemake.log[0]):
    comparison_table(read_metrics(snakemake.input.metrics), snakemake.output.csv, **snakemake.params.statistics)
