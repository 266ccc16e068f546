"""Runs `neurozoo.feature_visualization.temporal_lean.write_lean` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.temporal_lean import write_lean

with plain_errors(snakemake.log[0]):
    write_lean(
        Path(snakemake.input.record).parent,
        snakemake.output.lean,
    )
