"""Runs `neurozoo.native.build.fetch_ale`."""

from neurozoo.native.build import fetch_ale

fetch_ale(snakemake.output.source, log=snakemake.log[0])
