"""Runs `neurozoo.feature_visualization.guided.draw_guided` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.guided import draw_guided

with plain_errors(snakemake.log[0]):
    draw_guided(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.guided,
        layer=snakemake.wildcards.layer,
        channels=snakemake.params.channels,
    )
