"""Runs `neurozoo.records.simple_dqn_csv.write_statistics` for one {algo}/{game}/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.records.run_config import read_run_settings
from neurozoo.records.run_log import check_whole
from neurozoo.records.simple_dqn_csv import write_statistics

with plain_errors(snakemake.log[0]):
    check_whole(snakemake.input.log)
    settings = read_run_settings(snakemake.input.config)
    write_statistics(snakemake.input.log, snakemake.output.csv, seed=settings.get("seed"))
