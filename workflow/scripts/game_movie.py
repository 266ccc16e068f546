"""Runs `neurozoo.movies.game_movie.film_game` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.movies.game_movie import film_game

with plain_errors(snakemake.log[0]):
    film_game(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.movie,
        log=snakemake.log[0],
        terminal=snakemake.resources.terminal,
        **snakemake.params.movie,
    )
