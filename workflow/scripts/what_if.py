"""Runs `neurozoo.movies.what_if_movie.film_what_if` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.movies.what_if_movie import film_what_if

with plain_errors(snakemake.log[0]):
    film_what_if(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.movie,
        snakemake.params.change,
        title=snakemake.params.title,
        theme=snakemake.params.theme,
        log=snakemake.log[0],
        terminal=snakemake.resources.terminal,
    )
