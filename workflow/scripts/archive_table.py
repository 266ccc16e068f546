"""Runs `neurozoo.records.archives.archive_table`."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.records.archives import archive_table

with plain_errors(snakemake.log[0]):
    folders = [Path(path).parent for path in snakemake.input.results]
    archive_table(folders, snakemake.output.csv, **snakemake.params.statistics)
