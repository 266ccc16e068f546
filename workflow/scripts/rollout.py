"""Runs `neurozoo.inspection.record_rollout` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.inspection import record_rollout

record_rollout(
    Path(snakemake.input.record).parent,
    snakemake.output.rollout,
    log=snakemake.log[0],
    **snakemake.params.rollout,
)
