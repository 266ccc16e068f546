"""Runs `neurozoo.genomes.noise_table.build_noise_table`."""

from neurozoo.errors import plain_errors
from neurozoo.genomes.noise_table import build_noise_table

with plain_errors(snakemake.log[0]):
    build_noise_table(snakemake.output.table, size=snakemake.params.size)
