"""Runs `neurozoo.feature_visualization.causal.measure_effects` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.causal import measure_effects

with plain_errors(snakemake.log[0]):
    measure_effects(
        Path(snakemake.input.checkpoint).parent,
        snakemake.output.effects,
        core=snakemake.input.core,
        noise=snakemake.input.noise,
        with_=snakemake.params.with_,
        interventions=snakemake.params.interventions,
        threads=snakemake.threads,
        **snakemake.params.causal,
        **snakemake.params.statistics,
    )
