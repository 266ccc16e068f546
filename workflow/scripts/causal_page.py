"""Runs `neurozoo.feature_visualization.causal_page.write_causal_page` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.causal_page import write_causal_page

with plain_errors(snakemake.log[0]):
    write_causal_page(
        snakemake.input.effects,
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.page,
    )
