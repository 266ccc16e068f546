"""Runs `neurozoo.figures.probes.draw_probes` for one {algo}/{game}/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.figures.probes import draw_probes

with plain_errors(snakemake.log[0]):
    draw_probes(snakemake.input.probes, [snakemake.output.picture], agent=snakemake.params.agent)
