"""Runs `neurozoo.noise.build_noise_table`."""

from neurozoo.noise import build_noise_table

build_noise_table(snakemake.output.table, size=snakemake.params.size)
