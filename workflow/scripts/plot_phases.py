"""Runs `neurozoo.figures.phases.draw_panels` for one {algo}/{game}/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.figures.phases import draw_panels
from neurozoo.records.run_log import check_whole

with plain_errors(snakemake.log[0]):
    check_whole(snakemake.input.log)
    draw_panels(
        snakemake.input.log,
        [snakemake.output.figure],
        title="/".join(snakemake.wildcards),
        **snakemake.params.look,
    )
