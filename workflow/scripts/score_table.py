"""Runs `neurozoo.records.tables.score_table`."""

from neurozoo.errors import plain_errors
from neurozoo.records.tables import read_scores, score_table

with plain_errors(snakemake.log[0]):
    score_table(read_scores(snakemake.input.metrics), snakemake.output.csv, **snakemake.params.statistics)
