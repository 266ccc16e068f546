"""Runs `neurozoo.logs.parse_log` for one {algo}/{game}/{model}/{run}."""

from neurozoo.logs import parse_log, read_identity

parse_log(
    snakemake.input.log,
    snakemake.output.csv,
    identity=read_identity(snakemake.input.config),
    columns=snakemake.params.columns,
)
