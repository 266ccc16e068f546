"""Runs `neurozoo.movies.looping_clip.make_loop` for one {algo}/{game}/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.movies.looping_clip import make_loop

with plain_errors(snakemake.log[0]):
    make_loop(snakemake.input.movie, snakemake.input.rollout, snakemake.output.loop)
