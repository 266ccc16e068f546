"""Runs `neurozoo.native.build.fetch_ale`."""

from neurozoo.errors import plain_errors
from neurozoo.native.build import fetch_ale

with plain_errors(snakemake.log[0]):
    fetch_ale(snakemake.output.source, log=snakemake.log[0])
