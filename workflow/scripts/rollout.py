"""Runs `neurozoo.rollouts.rollout.record_rollout` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.rollouts.rollout import record_rollout

with plain_errors(snakemake.log[0]):
    record_rollout(
        Path(snakemake.input.record).parent,
        snakemake.output.rollout,
        table=snakemake.output.steps,
        log=snakemake.log[0],
        terminal=snakemake.resources.terminal,
        recorded=snakemake.input.get("recorded"),
        **snakemake.params.rollout,
    )
