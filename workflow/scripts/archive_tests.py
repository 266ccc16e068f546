"""Runs `neurozoo.algorithms.quality_diversity.archive_tests.archive_tests`."""

from pathlib import Path

from neurozoo.algorithms.quality_diversity.archive_tests import archive_tests
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    archive_tests([Path(path).parent for path in snakemake.input.results], snakemake.output.csv)
