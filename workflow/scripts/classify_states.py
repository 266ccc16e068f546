"""Runs `neurozoo.comparison.classify_states` over the runs of one {game}."""

from pathlib import Path

from neurozoo.comparison import classify_states
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    classify_states(
        [Path(rollout).parent for rollout in snakemake.input.rollouts],
        facts=snakemake.output.facts,
        csv=snakemake.output.csv,
        figures=[snakemake.output.figure],
        **snakemake.params.choices,
        **snakemake.params.bootstrap,
    )
