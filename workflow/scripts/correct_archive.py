"""Runs `neurozoo.algorithms.quality_diversity.correction.correct_archive` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.algorithms.quality_diversity.correction import correct_archive
from neurozoo.errors import plain_errors
from neurozoo.native import CORE

with plain_errors(snakemake.log[0]):
    correct_archive(
        Path(snakemake.input.archive).parent,
        snakemake.output.corrected,
        core=snakemake.input.get("core", CORE),
        threads=snakemake.threads,
    )
