"""Runs `neurozoo.comparison.embed_states` over the runs of one {game}."""

from pathlib import Path

from neurozoo.comparison import embed_states
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    embed_states(
        [Path(rollout).parent for rollout in snakemake.input.rollouts],
        snakemake.output.embedding,
        **snakemake.params.choices,
    )
