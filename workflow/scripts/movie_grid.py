"""Runs `neurozoo.movies.grid.film_grid` for one {game}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.movies.grid import film_grid

with plain_errors(snakemake.log[0]):
    film_grid(
        [Path(rollout).parent for rollout in snakemake.input.rollouts],
        snakemake.output.movie,
        log=snakemake.log[0],
        terminal=snakemake.resources.terminal,
        labels=snakemake.params.labels,
        **snakemake.params.movie,
    )
