"""Runs `neurozoo.comparison.archive_page.write_archive_page` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.comparison.archive_page import write_archive_page
from neurozoo.errors import plain_errors
from neurozoo.native import CORE

with plain_errors(snakemake.log[0]):
    run_dir = Path(snakemake.input.archive).parent
    write_archive_page(run_dir, snakemake.output.page, core=snakemake.input.get("core", CORE))
