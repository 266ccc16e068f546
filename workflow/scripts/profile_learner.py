"""Runs `neurozoo.benchmark.learning_parts.profile_learning` with the settings of one {algo}/{game}/{model}/{run}."""

from neurozoo.benchmark.learning_parts import profile_learning
from neurozoo.errors import plain_errors
from neurozoo.files import write_json
from neurozoo.native import CORE
from neurozoo.plan.planned_runs import run_settings

with plain_errors(snakemake.log[0]):
    report = profile_learning(
        algo=snakemake.wildcards.algo,
        game=snakemake.wildcards.game,
        model=snakemake.wildcards.model,
        overrides=run_settings(snakemake.config, **dict(snakemake.wildcards.items())),
        threads=snakemake.threads,
        flames=snakemake.output.flames,
        core=CORE,
    )
    write_json(snakemake.output.report, report)
