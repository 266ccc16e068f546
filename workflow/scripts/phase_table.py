"""Runs `neurozoo.algorithms.dqn.statistics_csv.write_statistics` for one {algo}/{game}/{model}/{run}."""

from neurozoo.algorithms.dqn.statistics_csv import write_statistics
from neurozoo.errors import plain_errors
from neurozoo.logs import read_run_settings

with plain_errors(snakemake.log[0]):
    settings = read_run_settings(snakemake.input.config)
    write_statistics(snakemake.input.log, snakemake.output.csv, seed=settings.get("seed"))
