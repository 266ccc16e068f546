"""Runs `neurozoo.feature_visualization.synthetic.draw_synthetic` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.synthetic import draw_synthetic

with plain_errors(snakemake.log[0]):
    draw_synthetic(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.synthetic,
        course=snakemake.output.course,
        layer=snakemake.wildcards.layer,
        channels=snakemake.params.channels,
        **snakemake.params.synthetic,
    )
