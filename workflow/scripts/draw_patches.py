"""Runs `neurozoo.feature_visualization.patches.draw_patches` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.patches import draw_patches

with plain_errors(snakemake.log[0]):
    draw_patches(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.patches,
        layer=snakemake.wildcards.layer,
        channels=snakemake.params.channels,
        **snakemake.params.patches,
    )
