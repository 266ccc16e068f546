"""Runs `neurozoo.inspection.render_activation_movie` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.inspection import render_activation_movie

render_activation_movie(
    Path(snakemake.input.record).parent,
    snakemake.input.rollout,
    snakemake.output.movie,
    log=snakemake.log[0],
    **snakemake.params.movie,
)
