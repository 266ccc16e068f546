"""Runs `neurozoo.scoring.write_evaluation_table` over all imported runs."""

from neurozoo.errors import plain_errors
from neurozoo.scoring import write_evaluation_table

with plain_errors(snakemake.log[0]):
    write_evaluation_table(snakemake.input, snakemake.output.scores, **snakemake.params.statistics)
