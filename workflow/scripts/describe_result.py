"""Runs `neurozoo.records.run_result.describe_result` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.records.run_result import describe_result

with plain_errors(snakemake.log[0]):
    describe_result(Path(snakemake.output.result).parent)
