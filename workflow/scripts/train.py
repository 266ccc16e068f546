"""Runs `neurozoo.training.train` for one {algo}/{game}/{model}/{run}."""

import sys
from pathlib import Path

from neurozoo.training import train

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
    shows_progress_bar=bool(snakemake.resources.progress_bar) and sys.stderr.isatty(),
)
