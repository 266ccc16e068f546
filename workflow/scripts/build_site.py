"""Runs `neurozoo.gallery.pages.build_site`."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.gallery.pages import build_site

with plain_errors(snakemake.log[0]):
    results = Path(snakemake.output[0]).parents[1]
    build_site(results, url=snakemake.params.url, labels=snakemake.params.labels, **snakemake.params.statistics)
