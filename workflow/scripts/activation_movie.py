"""Runs `neurozoo.movies.activation_movie.render_activation_movie` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.movies.activation_movie import render_activation_movie

with plain_errors(snakemake.log[0]):
    render_activation_movie(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.movie,
        log=snakemake.log[0],
        terminal=snakemake.resources.terminal,
        **snakemake.params.movie,
    )
