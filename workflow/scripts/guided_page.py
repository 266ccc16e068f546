"""Runs `neurozoo.feature_visualization.guided_page.write_guided_page` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.guided_page import write_guided_page

with plain_errors(snakemake.log[0]):
    write_guided_page(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.page,
        **snakemake.params.guided_page,
    )
