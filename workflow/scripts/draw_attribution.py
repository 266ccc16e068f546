"""Runs `neurozoo.feature_visualization.attribution.draw_attribution` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.attribution import draw_attribution

with plain_errors(snakemake.log[0]):
    draw_attribution(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.attribution,
        **snakemake.params.attribution,
    )
