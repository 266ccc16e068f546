"""Runs `neurozoo.movies.generations.film_generations` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.movies.generations import film_generations

with plain_errors(snakemake.log[0]):
    film_generations(
        Path(snakemake.input.checkpoint).parent,
        snakemake.output.movie,
        core=snakemake.input.core,
        noise=snakemake.input.noise,
        log=snakemake.log[0],
        terminal=snakemake.resources.terminal,
        **snakemake.params.generations,
    )
