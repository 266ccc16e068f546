"""Runs `neurozoo.training.train` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.clusters.slices import time_slice
from neurozoo.errors import plain_errors
from neurozoo.training import train

with plain_errors(snakemake.log[0]), time_slice():
    train(
        algo=snakemake.wildcards.algo,
        game=snakemake.wildcards.game,
        model=snakemake.wildcards.model,
        run=int(snakemake.wildcards.run),
        settings=snakemake.params.settings,
        ops=snakemake.input.ops,
        noise=snakemake.input.noise,
        run_dir=Path(snakemake.output.checkpoint).parent,
        threads=snakemake.threads,
        slots=snakemake.resources.batched_slots,
        terminal=snakemake.resources.terminal,
        distributed=snakemake.resources.distributed,
        keep_tags=snakemake.config["zoo"]["keep_tags"],
    )
