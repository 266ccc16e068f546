"""Runs `neurozoo.agents.freeze.freeze_run` for one {algo}/{game}/{model}/{run}, or a tagged moment of it."""

from pathlib import Path

from neurozoo.agents.freeze import freeze_run
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    freeze_run(
        Path(snakemake.input.checkpoint).parent,
        core=snakemake.input.get("core"),
        noise=snakemake.input.get("noise"),
        tag=snakemake.params.get("tag"),
        forms=snakemake.output.keys(),
        log=snakemake.log[0],
    )
