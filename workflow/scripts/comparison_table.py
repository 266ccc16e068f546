"""Runs `neurozoo.records.improvement.comparison_table`."""

from neurozoo.errors import plain_errors
from neurozoo.records.improvement import comparison_table
from neurozoo.records.tables import read_scores

with plain_errors(snakemake.log[0]):
    comparison_table(read_scores(snakemake.input.metrics), snakemake.output.csv, **snakemake.params.statistics)
