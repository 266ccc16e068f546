"""Runs `neurozoo.feature_visualization.saliency_picture.draw_saliency` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.saliency_picture import draw_saliency

with plain_errors(snakemake.log[0]):
    draw_saliency(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.saliency,
        snakemake.output.tests,
    )
