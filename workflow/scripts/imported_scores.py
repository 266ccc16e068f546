"""Runs `neurozoo.agents.scoring.write_evaluation_table` over all imported runs."""

from neurozoo.agents.scoring import write_evaluation_table
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    write_evaluation_table(snakemake.input, snakemake.output.scores, **snakemake.params.statistics)
