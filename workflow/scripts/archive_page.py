"""Runs `neurozoo.comparison.archive_page.write_archive_page` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.comparison.archive_page import write_archive_page
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    write_archive_page(Path(snakemake.input.archive).parent, snakemake.output.page, ops=snakemake.input.get("ops"))
