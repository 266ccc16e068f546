"""Runs `neurozoo.records.lineage.write_lineage` for one {algo}/{game}/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.records.lineage import write_lineage
from neurozoo.records.run_log import check_whole

with plain_errors(snakemake.log[0]):
    check_whole(snakemake.input.log)
    write_lineage(snakemake.input.log, snakemake.output.parquet)
