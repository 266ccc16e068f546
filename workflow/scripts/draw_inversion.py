"""Runs `neurozoo.filters.inversion.draw_inversion` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.filters.inversion import draw_inversion

with plain_errors(snakemake.log[0]):
    draw_inversion(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.inversion,
        layer=snakemake.wildcards.layer,
        **snakemake.params.inversion,
    )
