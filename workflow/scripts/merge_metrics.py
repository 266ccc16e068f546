"""Runs `neurozoo.records.tables.merge_metrics`."""

from neurozoo.errors import plain_errors
from neurozoo.records.tables import merge_metrics

with plain_errors(snakemake.log[0]):
    merge_metrics(
        snakemake.input,
        csv=snakemake.output.csv,
        parquet=snakemake.output.parquet,
        labels=snakemake.params.labels,
    )
