"""Runs `neurozoo.inspection.freeze_run` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.inspection import freeze_run

freeze_run(
    Path(snakemake.input.checkpoint).parent,
    ops=snakemake.input.ops,
    noise=snakemake.input.noise,
    log=snakemake.log[0],
)
