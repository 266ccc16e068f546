"""Runs `neurozoo.tables.score_table`."""

from neurozoo.tables import read_metrics, score_table

score_table(read_metrics(snakemake.input.metrics), snakemake.output.csv, **snakemake.params.statistics)
