"""Runs `neurozoo.movies.landscape_movie.render_landscape_movie` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.movies.landscape_movie import render_landscape_movie

with plain_errors(snakemake.log[0]):
    render_landscape_movie(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.movie,
        log=snakemake.log[0],
        terminal=snakemake.resources.terminal,
        **snakemake.params.movie,
    )
