"""Runs `neurozoo.comparison.write_embedding_page` over the runs of one {game}."""

from pathlib import Path

from neurozoo.comparison import write_embedding_page
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    write_embedding_page(
        snakemake.input.embedding,
        [Path(rollout).parent for rollout in snakemake.input.rollouts],
        snakemake.output.page,
    )
