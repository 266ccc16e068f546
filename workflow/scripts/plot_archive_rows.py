"""Runs `neurozoo.figures.archive_comparison.draw_archive_rows`."""

from neurozoo.errors import plain_errors
from neurozoo.figures.archive_comparison import draw_archive_rows

with plain_errors(snakemake.log[0]):
    draw_archive_rows(snakemake.input.archives, snakemake.output.figures)
