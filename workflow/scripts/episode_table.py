"""Runs `neurozoo.records.episodes.write_episodes` for one {algo}/{game}/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.records.episodes import write_episodes
from neurozoo.records.run_log import check_whole

with plain_errors(snakemake.log[0]):
    check_whole(snakemake.input.log)
    write_episodes(snakemake.input.log, snakemake.output.csv)
