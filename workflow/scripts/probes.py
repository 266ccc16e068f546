"""Runs `neurozoo.feature_visualization.probes.measure_probes` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.probes import measure_probes

with plain_errors(snakemake.log[0]):
    measure_probes(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.probes,
        log=snakemake.log[0],
        terminal=snakemake.resources.terminal,
        **snakemake.params.probes,
        **snakemake.params.statistics,
    )
