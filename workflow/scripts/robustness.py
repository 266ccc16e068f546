"""Runs `neurozoo.rollouts.river_robustness.measure_robustness` for one {algo}/river_crossing/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.rollouts.river_robustness import measure_robustness

with plain_errors(snakemake.log[0]):
    measure_robustness(Path(snakemake.input.record).parent, snakemake.output.report, table=snakemake.output.table)
