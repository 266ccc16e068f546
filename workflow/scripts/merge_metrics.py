"""Runs `neurozoo.tables.merge_metrics`."""

from neurozoo.tables import merge_metrics

merge_metrics(snakemake.input, csv=snakemake.output.csv, parquet=snakemake.output.parquet)
