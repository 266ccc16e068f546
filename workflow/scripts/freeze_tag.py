"""Runs `neurozoo.inspection.freeze_run` for one tag of one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.inspection import freeze_run

with plain_errors(snakemake.log[0]):
    freeze_run(
        Path(snakemake.input.checkpoint).parent,
        ops=snakemake.input.ops,
        noise=snakemake.input.noise,
        tag=snakemake.params.tag,
        log=snakemake.log[0],
    )
