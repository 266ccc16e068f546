"""Runs `neurozoo.agents.scoring.evaluate_run` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.agents.scoring import evaluate_run
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    evaluate_run(
        Path(snakemake.input.checkpoint).parent,
        snakemake.output.evaluation,
        core=snakemake.input.core,
        noise=snakemake.input.noise,
        threads=snakemake.threads,
        **snakemake.params.evaluation,
    )
