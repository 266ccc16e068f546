"""Runs `neurozoo.movies.archive_movie.film_archive` for one {algo}/{game}/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.movies.archive_movie import film_archive

with plain_errors(snakemake.log[0]):
    film_archive(snakemake.input.archive, snakemake.input.levels, snakemake.output.movie)
