"""Runs `neurozoo.records.run_log.parse_log` for one {algo}/{game}/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.records.comparability import read_facts
from neurozoo.records.run_config import read_identity
from neurozoo.records.run_log import check_whole, parse_log

with plain_errors(snakemake.log[0]):
    check_whole(snakemake.input.log)
    parse_log(
        snakemake.input.log,
        snakemake.output.csv,
        identity=read_identity(snakemake.input.config),
        facts=read_facts(snakemake.input.config),
        columns=snakemake.params.columns,
    )
