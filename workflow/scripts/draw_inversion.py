"""Runs `neurozoo.feature_visualization.inversion.draw_inversion` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.inversion import draw_inversion

with plain_errors(snakemake.log[0]):
    draw_inversion(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.inversion,
        layer=snakemake.wildcards.layer,
        **snakemake.params.inversion,
    )
