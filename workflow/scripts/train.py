"""Runs `neurozoo.training.train` for one {algo}/{game}/{model}/{run}."""

from dataclasses import asdict
from pathlib import Path

from neurozoo.compute.gpus import claim_requested
from neurozoo.compute.time_limit import time_slice
from neurozoo.errors import plain_errors
from neurozoo.native import CORE
from neurozoo.plan.planned_runs import settings_of_run
from neurozoo.training import make_context, train

with plain_errors(snakemake.log[0]), time_slice():
    settings = settings_of_run(snakemake.config, **dict(snakemake.wildcards.items()))
    if not settings.gpus:  # with them, the session claims what it needs
        claim_requested(snakemake.resources.get("gpu"))
    train(
        make_context(
            algo=snakemake.wildcards.algo,
            game=snakemake.wildcards.game,
            model=snakemake.wildcards.model,
            run=int(snakemake.wildcards.run),
            settings=asdict(settings),
            run_dir=Path(snakemake.output.config).parent,
            core=snakemake.input.get("core", CORE),
            noise=snakemake.input.get("noise"),
            threads=snakemake.threads,
            slots=snakemake.resources.batched_slots,
            distributed=snakemake.resources.distributed,
            mpi=snakemake.resources.launcher,
            backup=snakemake.resources.backup,
        ),
        terminal=snakemake.resources.terminal,
        keep_tags=snakemake.config["zoo"]["keep_tags"],
        tensorboard=snakemake.config["training"]["tensorboard"],
    )
