"""Runs `neurozoo.feature_visualization.weights.draw_weights` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.weights import draw_weights

with plain_errors(snakemake.log[0]):
    draw_weights(
        Path(snakemake.input.record).parent,
        snakemake.output.weights,
        layer=snakemake.wildcards.layer,
    )
